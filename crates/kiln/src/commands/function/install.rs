//! `kiln function install`

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_functions::registry::Registry;

use super::function_version;
use crate::ui::Ui;

/// Make links by which kiln is called as the functions that are built in
///
/// For tools that take the path of a program and no arguments.
#[derive(Args, Debug)]
pub(super) struct InstallArgs {
    /// Where the links go; made if it is not there
    dir: PathBuf,
    /// Which functions, each with a version if not the newest is wanted; all if none is named
    #[arg(value_name = "NAME[:VERSION]")]
    functions: Vec<String>,
}

pub(super) fn cmd_install(ui: &Ui, args: &InstallArgs) -> Result<()> {
    let kiln = std::env::current_exe().context("cannot find kiln's own file")?;
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
        .with_context(|| format!("cannot make the directory {}", args.dir.display()))?;
    let links: Vec<PathBuf> = names.iter().map(|name| args.dir.join(name)).collect();
    // All are looked at before the first is made: either all are there afterwards or nothing has changed.
    if let Some(taken) = links.iter().find(|link| !is_free(link, &kiln)) {
        bail!(
            "{} is there already and is not ours; remove it or choose another directory",
            taken.display()
        );
    }
    for link in &links {
        if fs::symlink_metadata(link).is_err() {
            symlink(&kiln, link).with_context(|| format!("cannot make {}", link.display()))?;
        }
    }
    ui.say(&format!(
        "{} function(s) installed in {}",
        links.len(),
        args.dir.display()
    ));
    Ok(())
}

/// Whether a link can be made, or is there already.
fn is_free(link: &Path, kiln: &Path) -> bool {
    match fs::symlink_metadata(link) {
        Err(_) => true,
        Ok(_) => fs::read_link(link).is_ok_and(|target| target == kiln),
    }
}
