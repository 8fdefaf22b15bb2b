//! `kiln rpkg log`

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use kiln_task::git::LogEntry;
use serde_json::{Value, json};

use super::output::{Format, to_yaml};
use super::place::PlaceArgs;
use super::table::table;
use crate::ui::Ui;

/// Show the commits behind a revision
#[derive(Args, Debug)]
pub(super) struct LogArgs {
    /// The revision
    #[arg(value_name = "PACKAGE")]
    name: String,
    /// Print objects instead of a table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn cmd_log(ui: &Ui, args: &LogArgs) -> Result<()> {
    let session = args.place.open()?;
    let (repository, revision) = session.find(&args.name)?;
    let entries = repository.log(&revision)?;
    let text = match args.output {
        Some(Format::Json) => {
            let commits: Vec<Value> = entries.iter().map(object).collect();
            format!("{:#}\n", json!(commits))
        }
        Some(Format::Yaml) => {
            let commits: Vec<Value> = entries.iter().map(object).collect();
            to_yaml(&json!(commits))
        }
        Some(Format::Name) => entries
            .iter()
            .map(|one| format!("{}\n", one.commit))
            .collect(),
        None => {
            let header = ["COMMIT", "TIME", "AUTHOR", "SUBJECT"].map(str::to_owned);
            let mut rows = vec![header];
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
