//! The two tools; each renders a package.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use super::functions::OriginalFunction;
use super::package::Package;
use crate::cases::process;

/// The directory with the container engine that runs the original functions for kpt.
const ENGINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fakes/originals");

pub(super) struct Peers {
    kpt: PathBuf,
    originals: PathBuf,
    kiln: PathBuf,
    functions: Vec<OriginalFunction>,
}

/// The tool and its mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tool {
    Kpt,
    KilnAsKpt,
    Kiln,
}

/// Files by path, after a number of renders.
pub(super) type Files = BTreeMap<String, String>;

pub(super) struct Rendered {
    pub(super) is_success: bool,
    /// The output.
    pub(super) talk: String,
    /// The files; the Kptfile without its status.
    pub(super) files: Files,
}

impl Peers {
    pub(super) fn new(kpt: &Path, originals: &Path, kiln: &Path) -> Result<Peers> {
        let whole = |path: &Path| {
            fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
        };
        let originals = whole(originals)?;
        let mut functions = Vec::new();
        for entry in fs::read_dir(&originals)? {
            let name = entry?.file_name();
            functions.extend(name.to_str().and_then(OriginalFunction::of_program));
        }
        functions.sort();
        if functions.is_empty() {
            bail!(
                "{} has no program NAME@TAG of a known function",
                originals.display()
            );
        }
        Ok(Peers {
            kpt: whole(kpt)?,
            originals,
            kiln: whole(kiln)?,
            functions,
        })
    }

    /// The functions with an original.
    pub(super) fn functions(&self) -> &[OriginalFunction] {
        &self.functions
    }

    /// Renders a package several times; returns the outcome of each.
    pub(super) fn render(
        &self,
        package: &Package,
        tool: Tool,
        times: usize,
    ) -> Result<Vec<Rendered>> {
        let top = TempDir::new()?;
        let directory = top.path().join("pkg");
        package.write(&directory)?;
        let mut all = Vec::new();
        for _ in 0..times {
            let mut command = match tool {
                Tool::Kpt => Command::new(&self.kpt),
                Tool::KilnAsKpt | Tool::Kiln => Command::new(&self.kiln),
            };
            match tool {
                Tool::Kpt => command.args(["fn", "render"]),
                Tool::KilnAsKpt => command.args(["--compat=kpt", "fn", "render"]),
                Tool::Kiln => command.args(["fn", "render"]),
            };
            command
                .arg(&directory)
                .env_clear()
                .env("HOME", top.path())
                .env("ORIGINALS", &self.originals)
                .env("PATH", format!("{ENGINE}:/usr/bin:/bin"));
            let outcome = process::run(&mut command, top.path())?;
            all.push(Rendered {
                is_success: outcome.code == Some(0),
                talk: outcome.stderr + &outcome.stdout,
                files: files(&directory)?,
            });
        }
        Ok(all)
    }
}

fn files(directory: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path.strip_prefix(directory)?.display().to_string();
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            files.insert(name, text);
        }
    }
    if let Some(kptfile) = files.get_mut("Kptfile")
        && let Some(status) = kptfile.find("\nstatus:")
    {
        kptfile.truncate(status + 1);
    }
    Ok(files)
}
