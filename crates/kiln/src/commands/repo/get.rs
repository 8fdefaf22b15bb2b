//! `kiln repo get`

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::registry::{Entry, Registry};
use crate::commands::rpkg::output::{Format, print};
use crate::commands::rpkg::table::table;
use crate::ui::Ui;

/// List the repositories that have names
#[derive(Args, Debug)]
pub(super) struct GetArgs {
    /// Only these
    #[arg(value_name = "REPOSITORY_NAME")]
    names: Vec<String>,
    /// Only those of this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Print objects instead of a table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    /// Leave out the line with the names of columns
    #[arg(long)]
    no_headers: bool,
}

pub(super) fn cmd_get(ui: &Ui, args: &GetArgs) -> Result<()> {
    let registry = Registry::read()?;
    if let Some(unknown) = args.names.iter().find(|name| registry.find(name).is_none()) {
        bail!("cannot find repository {unknown:?}");
    }
    let is_wanted = |entry: &&Entry| {
        (args.names.is_empty() || args.names.contains(&entry.name))
            && args
                .namespace
                .as_ref()
                .is_none_or(|name| entry.namespace == *name)
    };
    let entries: Vec<&Entry> = registry.repositories.iter().filter(is_wanted).collect();
    if let Some(format) = args.output {
        let objects = entries.iter().map(|entry| object(entry)).collect();
        return print(ui, format, objects, args.names.len() != 1);
    }
    if entries.is_empty() {
        ui.say("No resources found.");
        return Ok(());
    }
    let mut rows = Vec::new();
    if !args.no_headers {
        let header = [
            "NAME",
            "TYPE",
            "DEPLOYMENT",
            "ADDRESS",
            "BRANCH",
            "DIRECTORY",
        ];
        rows.push(header.map(str::to_owned));
    }
    rows.extend(entries.iter().map(|entry| {
        [
            entry.name.clone(),
            "git".to_owned(),
            entry.deployment.to_string(),
            entry.repo.clone(),
            entry.branch.clone(),
            format!("/{}", entry.directory),
        ]
    }));
    ui.write_data(table(&rows).as_bytes())
}

/// The repository as Porch's API shows it.
fn object(entry: &Entry) -> Value {
    let mut spec = json!({
        "type": "git",
        "git": {
            "repo": entry.repo,
            "branch": entry.branch,
            "directory": format!("/{}", entry.directory),
        },
    });
    if entry.deployment {
        spec["deployment"] = json!(true);
    }
    if !entry.description.is_empty() {
        spec["description"] = json!(entry.description);
    }
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": {"name": entry.name, "namespace": entry.namespace},
        "spec": spec,
    })
}
