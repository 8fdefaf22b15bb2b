//! `kiln repo get`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::{Value, json};

use crate::complete;
use crate::flag_values::go_bool;
use crate::rpkg::output::OutputArgs;
use crate::rpkg::repositories_file::{RegisteredRepository, RepositoriesFile};
use crate::rpkg::table::table;
use crate::ui::Ui;

/// List registered repositories
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln repo get\n  kiln repo get blueprints -o yaml")]
pub(super) struct GetArgs {
    /// List only these repositories
    #[arg(value_name = "REPOSITORY_NAME", add = ArgValueCompleter::new(complete::repositories))]
    names: Vec<String>,
    /// List only repositories of this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Add a column with the namespaces of repositories
    #[arg(short = 'A', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all_namespaces: Option<bool>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn cmd_get(ui: &Ui, args: &GetArgs) -> Result<()> {
    let file = RepositoriesFile::read()?;
    if let Some(unknown) = args.names.iter().find(|name| file.find(name).is_none()) {
        return Err(file.unknown(unknown));
    }
    let is_selected = |entry: &&RegisteredRepository| {
        (args.names.is_empty() || args.names.contains(&entry.name))
            && args
                .namespace
                .as_ref()
                .is_none_or(|name| entry.namespace == *name)
    };
    let entries: Vec<&RegisteredRepository> =
        file.repositories.iter().filter(is_selected).collect();
    if let Some(format) = args.output.format() {
        let objects = entries.iter().map(|entry| object(ui, entry)).collect();
        return args
            .output
            .print(ui, format, objects, args.names.len() != 1);
    }
    if entries.is_empty() {
        ui.print_message("No resources found.");
        return Ok(());
    }
    let has_namespaces = args.all_namespaces.unwrap_or(false);
    let mut rows: Vec<Vec<String>> = Vec::new();
    if args.output.has_headers() {
        rows.push(HEADER.map(str::to_owned).to_vec());
    }
    rows.extend(entries.iter().map(|entry| {
        vec![
            entry.namespace.clone(),
            entry.name.clone(),
            "git".to_owned(),
            entry.deployment.to_string(),
            entry.repo.clone(),
            entry.branch.clone(),
            format!("/{}", entry.directory),
        ]
    }));
    if !has_namespaces {
        for row in &mut rows {
            row.remove(0);
        }
    }
    ui.write_data(table(&rows).as_bytes())
}

const HEADER: [&str; 7] = [
    "NAMESPACE",
    "NAME",
    "TYPE",
    "DEPLOYMENT",
    "ADDRESS",
    "BRANCH",
    "DIRECTORY",
];

/// The repository as an object of Porch's API, ready if it can be read.
fn object(ui: &Ui, entry: &RegisteredRepository) -> Value {
    let mut spec = json!({
        "content": "Package",
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
    let ready = match entry.snapshot(ui) {
        Ok(_) => json!({
            "type": "Ready",
            "status": "True",
            "reason": "Ready",
            "message": "Repository Ready",
        }),
        Err(error) => json!({
            "type": "Ready",
            "status": "False",
            "reason": "Error",
            "message": format!("{error:#}"),
        }),
    };
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": {"name": entry.name, "namespace": entry.namespace},
        "spec": spec,
        "status": {"conditions": [ready]},
    })
}
