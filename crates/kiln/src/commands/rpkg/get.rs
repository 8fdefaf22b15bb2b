//! `kiln rpkg get`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::git::{LastChanges, Revision, RevisionNumber};

use crate::complete;
use crate::error::bail_usage;
use crate::flag_values::go_bool;
use crate::rpkg::api_object::package_revision;
use crate::rpkg::flags::RepositoryFlags;
use crate::rpkg::output::OutputArgs;
use crate::rpkg::table::table;
use crate::ui::Ui;

/// List package revisions
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln rpkg get\n\
    \x20 kiln rpkg get --name app -o yaml\n\
    \x20 kiln rpkg get blueprints.app.v1 --show-kptfile")]
pub(super) struct GetArgs {
    /// List only these revisions
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    /// List only revisions of this package
    #[arg(long, value_name = "PACKAGE")]
    name: Option<String>,
    /// List only revisions with this number: -2 for all, -1 for packages on the branch, 0 for unpublished revisions
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "-2",
        allow_negative_numbers = true
    )]
    revision: i64,
    /// List only revisions with this workspace name
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Print the Kptfile of one revision
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    show_kptfile: Option<bool>,
    /// Add a column with the namespaces of repositories
    #[arg(short = 'A', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all_namespaces: Option<bool>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    repository: RepositoryFlags,
}

pub(super) fn cmd_get(ui: &Ui, args: &GetArgs) -> Result<()> {
    let session = args.repository.open(ui)?;
    if args.show_kptfile.unwrap_or(false) {
        let name = args.only_name()?;
        let located = session.find(name)?;
        return ui.write_data(located.revision.kptfile_text());
    }
    let snapshots = session.snapshots(ui)?;
    for (_, snapshot) in &snapshots {
        for warning in &snapshot.warnings {
            ui.warn(warning);
        }
    }
    for name in &args.names {
        let exists = snapshots
            .iter()
            .any(|(_, snapshot)| snapshot.find(name).is_some());
        if !exists {
            session.find(name)?;
        }
    }
    if let Some(format) = args.output.format() {
        let mut objects = Vec::new();
        for (repository, snapshot) in &snapshots {
            let selected = snapshot
                .revisions
                .iter()
                .filter(|one| args.is_selected(one));
            let selected: Vec<&Revision> = selected.collect();
            let tasks = repository.tasks(selected.iter().copied())?;
            let is_placeholder = |one: &&&Revision| one.number == RevisionNumber::Placeholder;
            let changes = match selected.iter().find(is_placeholder) {
                Some(on_branch) => repository.changes(&on_branch.commit)?,
                None => LastChanges::new(),
            };
            let selected = selected.iter();
            objects.extend(selected.map(|one| package_revision(repository, one, &tasks, &changes)));
        }
        return args
            .output
            .print(ui, format, objects, args.names.len() != 1);
    }
    let mut rows = Vec::new();
    if args.output.has_headers() {
        let names = [
            "NAMESPACE",
            "NAME",
            "PACKAGE",
            "WORKSPACENAME",
            "REVISION",
            "LATEST",
            "LIFECYCLE",
            "REPOSITORY",
        ];
        rows.push(names.map(str::to_owned));
    }
    let header = rows.len();
    for (repository, snapshot) in &snapshots {
        let selected = snapshot
            .revisions
            .iter()
            .filter(|one| args.is_selected(one));
        rows.extend(selected.map(|revision| {
            [
                repository.config.namespace.clone(),
                revision.name.to_string(),
                revision.name.package.path.clone(),
                revision.name.workspace.clone(),
                revision.number.as_i64().to_string(),
                revision.is_latest.to_string(),
                revision.lifecycle.to_string(),
                repository.config.name.clone(),
            ]
        }));
    }
    if rows.len() == header {
        session.print_nothing_found(ui);
        return Ok(());
    }
    let text = match args.all_namespaces.unwrap_or(false) {
        true => table(&rows),
        false => {
            let rows: Vec<[String; 7]> = rows
                .into_iter()
                .map(|[_, a, b, c, d, e, f, g]| [a, b, c, d, e, f, g])
                .collect();
            table(&rows)
        }
    };
    ui.write_data(text.as_bytes())
}

impl GetArgs {
    fn is_selected(&self, revision: &Revision) -> bool {
        let name = revision.name.to_string();
        (self.names.is_empty() || self.names.contains(&name))
            && self
                .name
                .as_ref()
                .is_none_or(|package| revision.name.package.path == *package)
            && self
                .workspace
                .as_ref()
                .is_none_or(|workspace| revision.name.workspace == *workspace)
            && (self.revision == -2 || revision.number.as_i64() == self.revision)
    }

    fn only_name(&self) -> Result<&str> {
        let [name] = &self.names[..] else {
            bail_usage!("--show-kptfile requires exactly one package revision name as an argument");
        };
        if self.name.is_some() || self.workspace.is_some() || self.revision != -2 {
            bail_usage!(
                "--show-kptfile cannot be combined with --name, --revision, or --workspace"
            );
        }
        if self.all_namespaces.unwrap_or(false) {
            bail_usage!("--show-kptfile cannot be combined with --all-namespaces");
        }
        Ok(name)
    }
}
