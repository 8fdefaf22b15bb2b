//! `kiln argocd parameters`

use anyhow::{Context, Result};
use clap::Args;
use kiln_package::DiskFiles;
use serde_json::{Value, json};

use crate::manifests::setters;
use crate::package::{absolute, checked_kptfiles, package_directory};
use crate::ui::Ui;

/// Print the setters of a package as parameters
///
/// Argo CD shows them in its user interface, and passes the values that a user sets there to `kiln argocd generate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln argocd parameters")]
pub(super) struct ParametersArgs {
    /// Package. Default: the current directory
    #[arg(default_value = "", hide_default_value = true)]
    dir: String,
}

pub(super) fn cmd_parameters(ui: &Ui, args: &ParametersArgs) -> Result<()> {
    let named = package_directory(ui, &args.dir)?;
    let root = absolute(&named)?;
    let files = DiskFiles::open(&root, ui.compat().outside_links())
        .with_context(|| format!("cannot open {}", root.display()))?;
    // An invalid Kptfile has setters that would be missing in silence.
    checked_kptfiles(&files, &named)?;
    let parameters = setters(&files)?.into_iter().map(|setter| {
        json!({
            "name": setter.name,
            "title": setter.name,
            "collectionType": "string",
            "string": setter.value,
        })
    });
    let parameters: Vec<Value> = parameters.collect();
    ui.write_data(format!("{}\n", Value::from(parameters)).as_bytes())
}
