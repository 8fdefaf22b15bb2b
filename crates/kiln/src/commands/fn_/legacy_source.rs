//! `kiln fn source` of kpt v0.39

use anyhow::Result;
use clap::Args;
use kiln_krm::package::{ListOptions, Subpackages};
use kiln_krm::{LEGACY_RESOURCE_LIST_API_VERSION, RESOURCE_LIST_KIND, Wrapper, write_list};
use kiln_yaml::{Encoder, SequenceStyle};

use super::source::read_function_config;
use crate::package::legacy_version::check_kptfiles;
use crate::package::{self, Location};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln --compat=kpt-v0.39 fn source app")]
pub(crate) struct LegacySourceArgs {
    /// Directories or files. Default: standard input
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Kind of the list to print; if empty, print plain documents
    #[arg(long, value_name = "KIND", default_value = RESOURCE_LIST_KIND, allow_hyphen_values = true)]
    wrap_kind: String,
    /// apiVersion of the list to print
    #[arg(long, value_name = "VERSION", default_value = LEGACY_RESOURCE_LIST_API_VERSION, allow_hyphen_values = true)]
    wrap_version: String,
    /// File with one resource to pass as functionConfig
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    function_config: Option<String>,
}

pub(crate) fn cmd_legacy_source(ui: &Ui, args: &LegacySourceArgs) -> Result<()> {
    // The original checks only the first directory.
    if let Some(dir) = args.dirs.first() {
        check_kptfiles(ui, dir)?;
    }
    let function_config = read_function_config(ui, args.function_config.as_deref())?;
    let dialect = ui.compat().dialect();
    let mut resources = Vec::new();
    for dir in &args.dirs {
        let location = Location::unresolved(dir)?;
        let options = ListOptions::new(dialect, Subpackages::Ordinary);
        resources.extend(package::read(ui, &location, &options)?);
    }
    if args.dirs.is_empty() {
        let input = ui.read_data()?;
        resources = package::input(ui, input, dialect)?.items;
    }
    let text = match args.wrap_kind.as_str() {
        "" => {
            let mut encoder = Encoder::new();
            for resource in resources {
                encoder.document(&resource.into_document(), SequenceStyle::Compact);
            }
            encoder.finish()
        }
        kind => {
            let wrapper = Wrapper {
                api_version: args.wrap_version.clone(),
                kind: kind.to_owned(),
            };
            write_list(&wrapper, &resources, function_config.as_ref(), None)
        }
    };
    ui.write_data(text.as_bytes())
}
