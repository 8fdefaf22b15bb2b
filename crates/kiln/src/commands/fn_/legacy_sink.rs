//! `kiln fn sink` of kpt v0.39

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kiln_go::errno_text;
use kiln_krm::write::write_documents;
use kiln_package::{ApplyOptions, NewFiles};

use crate::package;
use crate::package::legacy_version::check_kptfiles;
use crate::package::write::{plan_list, write};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln --compat=kpt-v0.39 fn source app | kiln --compat=kpt-v0.39 fn sink new-app")]
// More than one DIR is refused in kpt's words, which needs them parsed.
#[command(override_usage = "kiln fn sink [OPTIONS] [DIR]")]
pub(crate) struct LegacySinkArgs {
    /// Directory to write to; it must exist. Default: standard output
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
}

pub(crate) fn cmd_legacy_sink(ui: &Ui, args: &LegacySinkArgs) -> Result<()> {
    match args.dirs.as_slice() {
        [] => {
            let dialect = ui.compat().dialect();
            let input = ui.read_data()?;
            let list = package::input(ui, input, dialect)?;
            ui.write_data(write_documents(list.items, dialect)?.as_bytes())
        }
        [dir] => {
            check_kptfiles(ui, dir)?;
            let changes = plan_list(ui, dir, ui.read_data()?)?;
            let path = Path::new(dir);
            let metadata = path
                .metadata()
                .map_err(|error| anyhow!("stat {dir}: {}", errno_text(&error)))?;
            // A file means its directory.
            let root = match path.parent() {
                Some(parent) if !metadata.is_dir() => match parent.as_os_str().is_empty() {
                    true => Path::new("."),
                    false => parent,
                },
                _ => path,
            };
            let options = ApplyOptions {
                new_files: NewFiles::Private,
                ..ApplyOptions::default()
            };
            write(ui, root, None, &changes, options)
        }
        dirs => bail!("accepts at most 1 arg(s), received {}", dirs.len()),
    }
}
