//! `kiln pkg tree`

use anyhow::{Result, bail};
use clap::Args;
use kiln_package::{Access, DiskFiles};
use kiln_task::pkg::{PkgRules, package_tree};

use super::{only_argument, rules};
use crate::error::package::file_error;
use crate::package::{self, Location, absolute, resolve_as_named};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln pkg tree app")]
#[command(override_usage = "kiln pkg tree [OPTIONS] [DIR]")]
pub(super) struct TreeArgs {
    /// Directory. Default: the current directory
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
}

pub(super) fn cmd_tree(ui: &Ui, args: &TreeArgs) -> Result<()> {
    let named = only_argument(&args.dirs, ".")?;
    let resolved = resolve_as_named(ui, named)?;
    let location = Location::at(absolute(&resolved)?, named)?;
    if let Some(file) = location.file() {
        // kpt prints the file twice, as a package and as a file outside of it.
        let text = format!("Package {0:?}\n└── ../{0}\n", file);
        return match rules(ui) {
            PkgRules::Kpt => ui.write_data(text.as_bytes()),
            PkgRules::Kiln => bail!("{named} is a file; `kiln pkg tree` prints directories"),
        };
    }
    let _lock = package::lock(ui, location.root(), Access::Read)?;
    let files = DiskFiles::open(location.root(), ui.compat().outside_links())?;
    // A link has the name of the link.
    let shown = absolute(named)?;
    let name = shown.file_name().map_or_else(
        || shown.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    let tree = package_tree(&files, &name, rules(ui));
    let tree = tree.map_err(|error| file_error(ui.compat(), &location, &error))?;
    ui.write_data(tree.as_bytes())
}
