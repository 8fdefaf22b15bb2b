//! `kiln function install`

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_functions::registry::Registry;

use super::function_version;
use crate::ui::Ui;

/// Create links that run kiln as a built-in function
///
/// For tools that take the path of a program and no arguments.
#[derive(Args, Debug)]
pub(super) struct InstallArgs {
    /// Directory for the links; it is created if it does not exist
    dir: PathBuf,
    /// Functions to install. Default: all, in their newest version
    #[arg(value_name = "NAME[:VERSION]")]
    functions: Vec<String>,
}

pub(super) fn cmd_install(ui: &Ui, args: &InstallArgs) -> Result<()> {
    let kiln = std::env::current_exe().context("cannot find the path of the kiln executable")?;
    let names = match args.functions.as_slice() {
        [] => Registry::builtin()
            .functions()
            .map(|info| info.name.to_owned())
            .collect(),
        named => named.to_vec(),
    };
    for name in &names {
        function_version(name)?;
    }
    fs::create_dir_all(&args.dir)
        .with_context(|| format!("cannot create the directory {}", args.dir.display()))?;
    let links: Vec<PathBuf> = names.iter().map(|name| args.dir.join(name)).collect();
    // All are checked before the first is created, so that an error changes nothing.
    if let Some(taken) = links.iter().find(|link| !is_free(link, &kiln)) {
        bail!(
            "{} already exists and is not a link to kiln; remove it or choose another directory",
            taken.display()
        );
    }
    for link in &links {
        if fs::symlink_metadata(link).is_err() {
            symlink(&kiln, link).with_context(|| format!("cannot create {}", link.display()))?;
        }
    }
    ui.print_message(&format!(
        "{} function(s) installed in {}",
        links.len(),
        args.dir.display()
    ));
    Ok(())
}

/// Whether the link can be created, or exists already.
fn is_free(link: &Path, kiln: &Path) -> bool {
    match fs::symlink_metadata(link) {
        Err(_) => true,
        Ok(_) => fs::read_link(link).is_ok_and(|target| target == kiln),
    }
}
