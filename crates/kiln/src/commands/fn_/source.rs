//! `kiln fn source`

use anyhow::Result;
use clap::Args;
use kiln_krm::package::{ListOptions, Subpackages};
use kiln_krm::write::write_documents;
use kiln_krm::{Wrapper, write_list};
use kiln_yaml::Document;

use crate::compat::Compat;
use crate::error::bail_usage;
use crate::package::{self, Location};
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln fn source app\n  kiln fn source app -o unwrap")]
// More than one DIR is refused in kpt's words, which needs them parsed.
#[command(override_usage = "kiln fn source [OPTIONS] [DIR]")]
pub(crate) struct SourceArgs {
    /// Package, or one file of it. Default: the current directory
    #[arg(value_name = "DIR")]
    dirs: Vec<String>,
    /// Output format: `stdout` for a ResourceList, `unwrap` for plain documents
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "stdout",
        allow_hyphen_values = true
    )]
    output: String,
    /// File with one resource to pass as functionConfig
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    fn_config: Option<String>,
    /// Refused: meta resources are always included
    #[arg(long, hide = true)]
    include_meta_resources: bool,
}

pub(crate) fn cmd_source(ui: &Ui, args: &SourceArgs) -> Result<()> {
    if args.dirs.len() > 1 {
        bail_usage!("accepts at most 1 arg(s), received {}", args.dirs.len());
    }
    if args.include_meta_resources {
        bail_usage!(
            "--include-meta-resources is no longer necessary \
             because meta resources are now included by default"
        );
    }
    if !matches!(args.output.as_str(), "stdout" | "unwrap") {
        bail_usage!(
            "invalid input for --output flag {:?}, must be \"stdout\" or \"unwrap\"",
            args.output
        );
    }
    let function_config = read_function_config(ui, args.fn_config.as_deref())?;
    let dialect = ui.compat().dialect();
    let location = Location::resolve(ui, args.dirs.first().map_or(".", String::as_str))?;
    let subpackages = match ui.compat() {
        Compat::Kpt => Subpackages::IncludeByPrefix,
        Compat::Kiln | Compat::KptV039 => Subpackages::Include,
    };
    let options = ListOptions::new(dialect, subpackages);
    let resources = package::read(ui, &location, &options)?;
    let text = match args.output.as_str() {
        "unwrap" => write_documents(resources, dialect)?,
        _ => write_list(
            &Wrapper::resource_list(dialect),
            &resources,
            function_config.as_ref(),
            None,
        ),
    };
    ui.write_data(text.as_bytes())
}

/// The only resource of the file or directory, with the annotations that reading adds.
pub(super) fn read_function_config(ui: &Ui, path: Option<&str>) -> Result<Option<Document>> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let location = Location::of_function_config(ui, path)?;
    let options = ListOptions {
        names: vec!["*.yaml".to_owned(), "*.yml".to_owned()],
        subpackages: Subpackages::Ordinary,
    };
    let mut resources = package::read(ui, &location, &options)?;
    match (resources.pop(), resources.len()) {
        (Some(resource), 0) => Ok(Some(resource.into_document())),
        (last, before) => bail_usage!(
            "expected exactly 1 functionConfig, found {}",
            before + usize::from(last.is_some())
        ),
    }
}
