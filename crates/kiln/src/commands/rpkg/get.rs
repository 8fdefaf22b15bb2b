//! `kiln rpkg get`

use anyhow::{Result, bail};
use clap::Args;
use kiln_task::git::{Changes, Number, Revision};

use super::object::object;
use super::output::OutputArgs;
use super::place::PlaceArgs;
use super::table::table;
use crate::cli::go_bool;
use crate::ui::Ui;

/// List package revisions
#[derive(Args, Debug)]
pub(super) struct GetArgs {
    /// Only these revisions
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only revisions of this package
    #[arg(long, value_name = "PACKAGE")]
    name: Option<String>,
    /// Only revisions of this number; -2 for any, -1 for what is on a branch, 0 for what is not published
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "-2",
        allow_negative_numbers = true
    )]
    revision: i64,
    /// Only revisions of this workspace
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Print the Kptfile of one revision
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    show_kptfile: Option<bool>,
    /// Show the namespaces of repositories
    #[arg(short = 'A', long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    all_namespaces: Option<bool>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn cmd_get(ui: &Ui, args: &GetArgs) -> Result<()> {
    let session = args.place.open()?;
    if args.show_kptfile.unwrap_or(false) {
        let name = args.only_name()?;
        let (_, revision) = session.find(name)?;
        return ui.write_data(revision.kptfile_text());
    }
    let snapshots = session.snapshots(ui)?;
    for (_, snapshot) in &snapshots {
        for warning in &snapshot.warnings {
            ui.warn(warning);
        }
    }
    for name in &args.names {
        let is_there = snapshots
            .iter()
            .any(|(_, snapshot)| snapshot.find(name).is_some());
        if !is_there {
            session.find(name)?;
        }
    }
    if let Some(format) = args.output.format() {
        let mut objects = Vec::new();
        for (repository, snapshot) in &snapshots {
            let wanted = snapshot.revisions.iter().filter(|one| args.is_wanted(one));
            let wanted: Vec<&Revision> = wanted.collect();
            let tasks = repository.tasks(wanted.iter().copied())?;
            let is_placeholder = |one: &&&Revision| one.number == Number::Placeholder;
            let changes = match wanted.iter().find(is_placeholder) {
                Some(on_branch) => repository.changes(&on_branch.commit)?,
                None => Changes::new(),
            };
            let wanted = wanted.iter();
            objects.extend(wanted.map(|one| object(repository, one, &tasks, &changes)));
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
        let wanted = snapshot.revisions.iter().filter(|one| args.is_wanted(one));
        rows.extend(wanted.map(|revision| {
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
        session.say_nothing_found(ui);
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
    fn is_wanted(&self, revision: &Revision) -> bool {
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
            bail!("--show-kptfile requires exactly one package revision name as an argument");
        };
        if self.name.is_some() || self.workspace.is_some() || self.revision != -2 {
            bail!("--show-kptfile cannot be combined with --name, --revision, or --workspace");
        }
        if self.all_namespaces.unwrap_or(false) {
            bail!("--show-kptfile cannot be combined with --all-namespaces");
        }
        Ok(name)
    }
}
