//! `kiln rpkg log`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use kiln_task::git::LogEntry;
use serde_json::{Value, json};

use crate::complete;
use crate::rpkg::flags::RepositoryFlags;
use crate::rpkg::output::{ObjectFormat, OutputArgs, to_yaml};
use crate::rpkg::table::table;
use crate::ui::Ui;

/// Print the commits of a revision
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln rpkg log blueprints.app.v1")]
pub(super) struct LogArgs {
    /// Revision whose commits to print
    #[arg(value_name = "PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    name: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    repository: RepositoryFlags,
}

pub(super) fn cmd_log(ui: &Ui, args: &LogArgs) -> Result<()> {
    let session = args.repository.open(ui)?;
    let located = session.find(&args.name)?;
    let entries = located.repository.log(&located.revision)?;
    let objects = || -> Vec<Value> { entries.iter().map(object).collect() };
    let text = match args.output.format() {
        Some(ObjectFormat::Json) => format!("{:#}\n", json!(objects())),
        Some(ObjectFormat::Yaml) => to_yaml(&json!(objects())),
        Some(ObjectFormat::Name) => entries
            .iter()
            .map(|one| format!("{}\n", one.commit))
            .collect(),
        Some(other) => return args.output.print(ui, other, objects(), true),
        None => {
            let mut rows = Vec::new();
            if args.output.has_headers() {
                rows.push(["COMMIT", "TIME", "AUTHOR", "SUBJECT"].map(str::to_owned));
            }
            rows.extend(entries.iter().map(|entry| {
                [
                    entry.commit.as_str().chars().take(12).collect(),
                    time(entry),
                    entry.author.email.clone(),
                    entry.subject.clone(),
                ]
            }));
            table(&rows)
        }
    };
    ui.write_data(text.as_bytes())
}

fn time(entry: &LogEntry) -> String {
    let time = Timestamp::from_second(entry.time);
    time.map(|time| time.to_string()).unwrap_or_default()
}

fn object(entry: &LogEntry) -> Value {
    json!({
        "commit": entry.commit.as_str(),
        "time": time(entry),
        "author": {"name": entry.author.name, "email": entry.author.email},
        "subject": entry.subject,
    })
}
