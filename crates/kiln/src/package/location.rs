//! The location of a package: its path, and the name that the user gave.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use kiln_go::errno_text;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::paths;

use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass};
use crate::ui::Ui;

/// A directory, or one file in it.
#[derive(Debug)]
pub(crate) struct Location {
    root: PathBuf,
    file: Option<String>,
    /// The name on the command line.
    named: String,
}

impl Location {
    /// The location of a package, with links resolved.
    pub(crate) fn resolve(ui: &Ui, named: &str) -> Result<Location> {
        let absolute = absolute(named)?;
        let resolved = resolve_links(&absolute).map_err(|message| anyhow!("{message}"))?;
        let is_link = absolute
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            ui.warn(&format!(
                "resolved symlink {:?} to {:?}, \
                 please note that the symlinks within the package are ignored",
                absolute, resolved
            ));
        }
        Location::at(resolved, named)
    }

    /// The location of a functionConfig.
    pub(crate) fn of_function_config(ui: &Ui, named: &str) -> Result<Location> {
        match ui.compat() {
            Compat::Kiln | Compat::Kpt => {
                let resolved = resolve_links(&absolute(named)?)
                    .map_err(|message| anyhow!("evalsymlink failure on '{named}' : {message}"))?;
                Location::at(resolved, named)
            }
            Compat::KptV039 => Location::unresolved(named),
        }
    }

    /// The location of a path without resolving links: a link to a directory counts as a file.
    pub(crate) fn unresolved(named: &str) -> Result<Location> {
        let path = absolute(named)?;
        path.symlink_metadata()
            .map_err(|error| anyhow!("lstat {}: {}", path.display(), errno_text(&error)))?;
        Location::at(path, named)
    }

    pub(crate) fn at(path: PathBuf, named: &str) -> Result<Location> {
        let is_directory = path
            .symlink_metadata()
            .with_context(|| format!("cannot access {}", path.display()))?
            .is_dir();
        let named = named.to_owned();
        if is_directory {
            return Ok(Location {
                root: path,
                file: None,
                named,
            });
        }
        let parts = path.parent().zip(path.file_name());
        let (root, file) = parts.ok_or_else(|| anyhow!("{} is not a file", path.display()))?;
        let file = file
            .to_str()
            .ok_or_else(|| anyhow!("the name of {} is not UTF-8", path.display()))?;
        Ok(Location {
            root: root.to_owned(),
            file: Some(file.to_owned()),
            named,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the file; `None` if the location is a whole directory.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The absolute path of a file in the directory.
    pub(crate) fn absolute(&self, path: &str) -> String {
        match path {
            "" => self.root.display().to_string(),
            path => self.root.join(path).display().to_string(),
        }
    }

    /// The path of a file in the directory for messages.
    pub(crate) fn show(&self, path: &str) -> String {
        match (&self.file, self.named.as_str()) {
            (Some(_), named) => named.to_owned(),
            (None, "" | ".") => path.to_owned(),
            (None, named) => paths::join(&[named, path]),
        }
    }
}

/// Resolves links. A relative path stays relative; the empty path is the current directory.
pub(crate) fn resolve_as_named(ui: &Ui, named: &str) -> Result<String> {
    let path = match named {
        "" => absolute("")?,
        named => PathBuf::from(named),
    };
    let resolved = resolve_links(&path).map_err(|message| anyhow!("{message}"))?;
    let resolved = resolved
        .to_str()
        .ok_or_else(|| anyhow!("the name of {} is not UTF-8", resolved.display()))?;
    let resolved = paths::clean(resolved);
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        ui.warn(&format!(
            "resolved symlink {named:?} to {resolved:?}, \
             please note that the symlinks within the package are ignored"
        ));
    }
    Ok(resolved)
}

/// The directory of the package that the user named, with links resolved. In kiln's own mode, a Kptfile stands for its
/// package.
pub(crate) fn package_directory(ui: &Ui, named: &str) -> Result<String> {
    if ui.compat() != Compat::Kiln {
        return resolve_as_named(ui, named);
    }
    let path = match named {
        "" => Path::new("."),
        named => Path::new(named),
    };
    if !path.is_file() {
        return resolve_as_named(ui, path.to_str().unwrap_or(named));
    }
    if path.file_name().is_none_or(|name| name != FILE_NAME) {
        let error = CommandError {
            class: ErrorClass::Input,
            ..CommandError::new(format!("error: {named} is a file, not a package"))
        };
        let hint = "name the directory that contains the Kptfile";
        return Err(CommandError::with_hint(error, hint).into());
    }
    match path.parent().and_then(Path::to_str).unwrap_or_default() {
        "" => resolve_as_named(ui, "."),
        directory => resolve_as_named(ui, directory),
    }
}

/// The absolute path, cleaned without access to the file system as Go does it.
pub(crate) fn absolute(named: &str) -> Result<PathBuf> {
    if named.starts_with('/') {
        return Ok(paths::clean(named).into());
    }
    let here = std::env::current_dir().context("cannot find the current directory")?;
    let here = here
        .to_str()
        .ok_or_else(|| anyhow!("the name of the current directory is not UTF-8"))?;
    Ok(paths::join(&[here, named]).into())
}

/// How many links are followed for one path.
const MAX_LINKS: usize = 255;

/// Resolves links. The error is Go's message, which names the missing part.
fn resolve_links(path: &Path) -> Result<PathBuf, String> {
    let mut resolved = match path.is_absolute() {
        true => PathBuf::from("/"),
        false => PathBuf::new(),
    };
    let mut pending: Vec<_> = reversed(path);
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == ".." {
            if resolved.as_os_str().is_empty() || resolved.ends_with("..") {
                resolved.push("..");
            } else {
                resolved.pop();
            }
            continue;
        }
        let next = resolved.join(&name);
        let metadata = next
            .symlink_metadata()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotADirectory => errno_text(&error),
                _ => format!("lstat {}: {}", next.display(), errno_text(&error)),
            })?;
        if !metadata.is_symlink() {
            resolved = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err("EvalSymlinks: too many links".to_owned());
        }
        let target = std::fs::read_link(&next)
            .map_err(|error| format!("readlink {}: {}", next.display(), errno_text(&error)))?;
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        pending.extend(reversed(&target));
    }
    Ok(resolved)
}

fn reversed(path: &Path) -> Vec<std::ffi::OsString> {
    use std::path::Component;
    path.components()
        .rev()
        .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir))
        .map(|component| component.as_os_str().to_owned())
        .collect()
}
