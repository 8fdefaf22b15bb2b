//! `kiln function install`

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_container::Engine;
use kiln_functions::registry::Registry;

use super::function_version;
use crate::complete;
use crate::ui::Ui;

/// Functions with the name of a program that every system has. In a directory on the PATH, a link would take its place, so
/// these are installed only by name.
const OTHER_PROGRAMS: &[&str] = &["sleep"];

/// Create links that run kiln as a built-in function, or as a container engine
///
/// Links of functions are for tools that take the path of a program and no arguments. Links of engines are for tools that
/// run functions only by the name of an engine: put their directory first on the PATH.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln function install ~/functions\n\
    \x20 kiln function install ~/functions set-labels:v0.2.0\n\
    \x20 kiln function install --docker ~/engine")]
pub(super) struct InstallArgs {
    /// Directory for the links; it is created if it does not exist
    dir: PathBuf,
    /// Functions to install. Default: all, in their newest version, except sleep, which is also a program of the system
    #[arg(value_name = "NAME[:VERSION]", add = ArgValueCompleter::new(complete::functions))]
    functions: Vec<String>,
    /// Create a link named docker, and no functions
    #[arg(long, conflicts_with = "functions")]
    docker: bool,
    /// Create a link named podman, and no functions
    #[arg(long, conflicts_with = "functions")]
    podman: bool,
    /// Create a link named nerdctl, and no functions
    #[arg(long, conflicts_with = "functions")]
    nerdctl: bool,
}

impl InstallArgs {
    /// The engines whose names the links get.
    fn engines(&self) -> Vec<Engine> {
        let is_given = |engine: &Engine| match engine {
            Engine::Docker => self.docker,
            Engine::Podman => self.podman,
            Engine::Nerdctl => self.nerdctl,
        };
        Engine::ALL.into_iter().filter(is_given).collect()
    }

    fn function_names(&self) -> Result<Vec<String>> {
        let names: Vec<String> = match self.functions.as_slice() {
            [] => Registry::builtin()
                .functions()
                .map(|info| info.name.to_owned())
                .filter(|name| !OTHER_PROGRAMS.contains(&name.as_str()))
                .collect(),
            named => named.to_vec(),
        };
        for name in &names {
            function_version(name)?;
        }
        Ok(names)
    }
}

pub(super) fn cmd_install(ui: &Ui, args: &InstallArgs) -> Result<()> {
    let engines = args.engines();
    let names = match engines.as_slice() {
        [] => args.function_names()?,
        engines => engines.iter().map(|it| it.program().to_owned()).collect(),
    };
    let count = names.len();
    create_links(&args.dir, &names)?;
    let dir = args.dir.display();
    ui.print_message(&match engines.is_empty() {
        true => format!("{count} function(s) installed in {dir}"),
        false => format!(
            "{} installed in {dir}; put it first on the PATH of the tool that runs functions",
            names.join(", ")
        ),
    });
    Ok(())
}

/// Creates links to kiln, all or none.
fn create_links(dir: &Path, names: &[String]) -> Result<()> {
    let kiln = std::env::current_exe().context("cannot find the path of the kiln executable")?;
    fs::create_dir_all(dir)
        .with_context(|| format!("cannot create the directory {}", dir.display()))?;
    let links: Vec<PathBuf> = names.iter().map(|name| dir.join(name)).collect();
    // All are checked before the first is created, so that an error changes nothing.
    if let Some(taken) = links.iter().find(|link| !is_free(link, &kiln)) {
        bail!(
            "{} already exists and is not a link to kiln; remove it or choose another directory",
            taken.display()
        );
    }
    for link in &links {
        let failed = || format!("cannot create {}", link.display());
        match fs::read_link(link) {
            Ok(target) if target == kiln => continue,
            Ok(_) => fs::remove_file(link).with_context(failed)?,
            Err(_) => {}
        }
        symlink(&kiln, link).with_context(failed)?;
    }
    Ok(())
}

/// Whether the link can be created, or is one to kiln, which may be elsewhere since an upgrade.
fn is_free(link: &Path, kiln: &Path) -> bool {
    match fs::symlink_metadata(link) {
        Err(_) => true,
        Ok(_) => fs::read_link(link).is_ok_and(|target| target.file_name() == kiln.file_name()),
    }
}
