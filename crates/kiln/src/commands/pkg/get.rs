//! `kiln pkg get`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kiln_go::quote;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::paths;
use kiln_package::{ApplyOptions, Durability};
use kiln_task::image::SCHEME;
use kiln_task::pkg::{
    AddressError, ContextError, FetchError, GetError, GetRequest, GetSource, PkgSources, get,
    set_deployment_context,
};
use kiln_task::{Contents, Strategy};

use super::directory::{PackageDirectory, changes};
use super::sources::{GitTalk, attribution, with_sources};
use super::{errors, rules};
use crate::compat::Compat;
use crate::complete;
use crate::error::{CommandError, bail_usage};
use crate::package::resolve_as_named;
use crate::package::write::{write, write_new_directory};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg get https://example.com/catalog.git/app@v1 app")]
#[command(
    override_usage = "kiln pkg get [OPTIONS] <REPO_URI[.git]/PKG_PATH[@VERSION]> [DIR]\n       \
                      kiln pkg get [OPTIONS] <oci://IMAGE> [DIR]"
)]
pub(super) struct PkgGetArgs {
    /// Address of the package: a directory in a git repository, or oci:// and an image (required)
    #[arg(value_name = "REPO_URI[.git]/PKG_PATH[@VERSION]")]
    address: Option<String>,
    /// Directory to create. Default: a directory with the name of the package
    #[arg(value_name = "DIR")]
    destination: Option<String>,
    /// kpt ignores more arguments.
    #[arg(hide = true)]
    more: Vec<String>,
    /// Strategy of later updates: resource-merge, fast-forward, force-delete-replace or copy-merge
    #[arg(long, value_name = "STRATEGY", default_value = "resource-merge", add = ArgValueCandidates::new(complete::strategies))]
    strategy: String,
    /// Write the name of the package into its package context, for a package that is deployed
    #[arg(long)]
    for_deployment: bool,
    /// Print git's output
    #[arg(long)]
    verbose: bool,
}

pub(super) fn cmd_get(ui: &Ui, args: &PkgGetArgs) -> Result<()> {
    let Some(address) = &args.address else {
        bail_usage!("requires at least 1 arg(s), only received 0");
    };
    if let (Some(extra), Compat::Kiln) = (args.more.first(), ui.compat()) {
        bail_usage!(
            "unexpected argument {extra:?}: `kiln pkg get` takes an address and a directory"
        );
    }
    let destination = args.destination.as_deref();
    let talk = GitTalk::new(ui, args.verbose);
    with_sources(ui, talk, |sources| {
        let destination = match destination {
            Some(named) if paths::clean(named) != "." && Path::new(named).exists() => {
                Some(resolve_as_named(ui, named)?)
            }
            named => named.map(str::to_owned),
        };
        let source = source(ui, sources, address)?;
        let destination = find_destination(ui, destination.as_deref(), &source)?;
        let strategy = args.strategy.parse();
        let strategy: Strategy = strategy.map_err(|_| unknown_strategy(ui, &args.strategy))?;
        let request = GetRequest {
            source,
            name: destination.directory.name.clone(),
            shown: destination.directory.shown.clone(),
            strategy,
            attribution: attribution(),
        };
        destination.check(ui)?;
        let mut contents = match get(sources, &request) {
            Ok(contents) => contents,
            Err(error) => {
                destination.discard(ui);
                return Err(get_error(ui, &error));
            }
        };
        if args.for_deployment && ui.compat() == Compat::Kiln {
            customize(ui, &mut contents, &request.name, &destination.directory)?;
            return destination.write(ui, &contents);
        }
        destination.write(ui, &contents)?;
        if !args.for_deployment {
            return Ok(());
        }
        // kpt leaves the package if this fails.
        let before = contents.clone();
        customize(ui, &mut contents, &request.name, &destination.directory)?;
        destination.directory.write(ui, &before, &contents)
    })
}

fn unknown_strategy(ui: &Ui, strategy: &str) -> CommandError {
    let known =
        "the strategies are resource-merge, fast-forward, force-delete-replace and copy-merge";
    CommandError {
        hint: (ui.compat() == Compat::Kiln).then(|| known.to_owned()),
        ..CommandError::usage(format!("unknown update strategy {}", quote(strategy)))
    }
}

/// Where the package comes from.
fn source(ui: &Ui, sources: &mut PkgSources<'_>, address: &str) -> Result<GetSource> {
    if let (Some(image), Compat::Kiln) = (address.strip_prefix(SCHEME), ui.compat()) {
        return Ok(GetSource::Image(image.to_owned()));
    }
    let git = sources
        .resolve_address(address)
        .map_err(|error| match error {
            AddressError::Branches(error) => errors::fetch(ui, &error),
            error => ambiguous(ui, &error),
        })?;
    Ok(GetSource::Git(git))
}

fn ambiguous(ui: &Ui, error: &AddressError<FetchError>) -> Error {
    let error = errors::typed(ui, error);
    match ui.compat() {
        Compat::Kiln => {
            let hint = "write the address as REPO.git/DIRECTORY@VERSION, for example https://example.com/packages.git/web@v1, or as oci://IMAGE";
            CommandError::with_hint(error, hint).into()
        }
        Compat::Kpt | Compat::KptV039 => error,
    }
}

fn get_error(ui: &Ui, error: &GetError) -> Error {
    match error {
        GetError::Fetch(error) => errors::fetch(ui, error),
        GetError::Kptfile(error) => errors::kptfile(ui, error),
        error => errors::typed(ui, error),
    }
}

/// Writes the package context, and prints what kpt prints around its function.
fn customize(
    ui: &Ui,
    contents: &mut Contents,
    name: &str,
    directory: &PackageDirectory,
) -> Result<()> {
    let function = "\"builtins/gen-pkg-context:latest\"";
    ui.print_message("\nCustomizing package for deployment.");
    ui.print_message(&format!(
        "[RUNNING] {function} on package at path {}",
        quote(&directory.shown)
    ));
    let set = set_deployment_context(contents, name, rules(ui));
    let outcome = if set.is_ok() { "PASS" } else { "FAIL" };
    ui.print_message(&format!("[{outcome}] {function} in 0s"));
    set.map_err(|error| match error {
        ContextError::NotKrm(error) => errors::typed(ui, error),
        error => errors::typed(ui, error),
    })?;
    ui.print_message("\nCustomized package for deployment.");
    Ok(())
}

/// Where the package is written to.
struct Destination {
    directory: PackageDirectory,
    /// Whether it exists.
    exists: bool,
}

/// Finds the destination by kpt's rules.
fn find_destination(ui: &Ui, named: Option<&str>, source: &GetSource) -> Result<Destination> {
    let cleaned = paths::clean(named.unwrap_or("."));
    let path = Path::new(&cleaned);
    if !path.exists() {
        if let Ok(target) = fs::read_link(path) {
            let text = format!("lstat {}: no such file or directory", target.display());
            return Err(errors::typed(ui, text));
        }
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => PathBuf::from("/"),
        };
        if !parent.exists() {
            let parent = quote(&parent.display().to_string());
            return Err(errors::typed(
                ui,
                format!("parent directory {parent} does not exist"),
            ));
        }
        if !parent.is_dir() {
            let parent = quote(&parent.display().to_string());
            return Err(errors::typed(ui, format!("{parent} is not a directory")));
        }
        return Ok(Destination {
            directory: PackageDirectory::at(&cleaned)?,
            exists: false,
        });
    }
    if !path.is_dir() {
        return Err(errors::typed(ui, "LOCAL_PKG_DEST must be a directory"));
    }
    if named.is_some() && cleaned == "." {
        return Ok(Destination {
            directory: PackageDirectory::at(".")?,
            exists: true,
        });
    }
    let inner = paths::join(&[&cleaned, &base_name(source)]);
    if Path::new(&inner).symlink_metadata().is_ok() {
        let text = format!("destination directory {} already exists", quote(&inner));
        return Err(exists(ui, &text));
    }
    Ok(Destination {
        directory: PackageDirectory::at(&inner)?,
        exists: false,
    })
}

fn exists(ui: &Ui, text: &str) -> Error {
    let error = errors::typed(ui, text);
    match ui.compat() {
        Compat::Kiln => {
            let hint = "name another directory, or update the package that is there with `kiln pkg update`";
            CommandError::with_hint(error, hint).into()
        }
        Compat::Kpt | Compat::KptV039 => error,
    }
}

/// The last part of the address.
fn base_name(source: &GetSource) -> String {
    match source {
        GetSource::Git(git) => {
            let repo = git.repo.trim_end_matches('/');
            let repo = repo.strip_suffix(".git").unwrap_or(repo);
            let whole = paths::join(&[repo, &git.directory]);
            paths::base(&whole).to_owned()
        }
        GetSource::Image(image) => {
            let name = image.split('@').next().unwrap_or_default();
            let last = name.rsplit('/').next().unwrap_or_default();
            last.split(':').next().unwrap_or_default().to_owned()
        }
    }
}

impl Destination {
    /// Refuses an existing directory with files.
    fn check(&self, ui: &Ui) -> Result<()> {
        if !self.exists {
            return Ok(());
        }
        let mut entries = fs::read_dir(&self.directory.path)
            .with_context(|| format!("cannot read {}", self.directory.shown))?;
        match entries.next() {
            None => Ok(()),
            Some(_) => Err(exists(ui, "destination directory already exists")),
        }
    }

    /// kpt removes the directory after a failure, also one that existed.
    fn discard(&self, ui: &Ui) {
        if self.exists && ui.compat() == Compat::Kpt {
            let _ = fs::remove_dir(&self.directory.path);
        }
    }

    fn write(&self, ui: &Ui, contents: &Contents) -> Result<()> {
        let nothing = Contents::new();
        let changes = changes(&nothing, contents);
        match self.exists {
            true => write(
                ui,
                &self.directory.path,
                None,
                &changes,
                ApplyOptions::default(),
            )?,
            false => write_new_directory(ui, &self.directory.shown, &changes, Durability::Fast)?,
        }
        self.directory.set_modes(&nothing, contents)?;
        if ui.compat() == Compat::Kpt {
            if !self.exists {
                set_mode(&self.directory.path, 0o700)?;
            }
            set_mode(&self.directory.path.join(FILE_NAME), 0o600)?;
        }
        Ok(())
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let permissions = fs::Permissions::from_mode(mode);
    let set = fs::set_permissions(path, permissions);
    set.with_context(|| format!("cannot change the mode of {}", path.display()))
}
