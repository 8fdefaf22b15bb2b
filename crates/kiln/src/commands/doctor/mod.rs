//! `kiln doctor`: what works on this machine, what does not, and what would fix it.

mod levels;
mod machine;
mod registries;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::functions::runner_flags::RunnerFlags;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln doctor")]
pub(crate) struct DoctorArgs {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: DoctorFormat,
    #[command(flatten)]
    runner: RunnerFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DoctorFormat {
    /// A line for each check
    Text,
    /// One JSON object
    Json,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    /// What was checked: `images`, `engines`, …
    group: &'static str,
    name: String,
    status: CheckStatus,
    /// What was found, or what failed and why.
    detail: String,
    /// One line that would fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Ok,
    /// It does not work, and something else does its work.
    Missing,
    /// It does not work, and nothing else does its work.
    Problem,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    checks: Vec<DoctorCheck>,
    /// What runs images that are not built in; absent if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    images_run_by: Option<String>,
}

pub(crate) fn cmd_doctor(ui: &Ui, args: &DoctorArgs) -> Result<()> {
    let mut checks = levels::checks();
    checks.extend(machine::engines());
    checks.extend(machine::runner(&args.runner)?);
    let runs_images =
        |check: &&DoctorCheck| check.group != SANDBOX && check.status == CheckStatus::Ok;
    let images_run_by = checks.iter().find(runs_images);
    let images_run_by = images_run_by.map(|check| check.name.clone());
    if images_run_by.is_none() {
        for check in &mut checks {
            check.status = CheckStatus::Problem;
        }
    }
    checks.extend(levels::sandbox());
    checks.extend(machine::files());
    checks.push(machine::git());
    checks.push(machine::wasm_compiler());
    checks.extend(registries::checks());
    let report = Report {
        checks,
        images_run_by,
    };
    match args.output {
        DoctorFormat::Json => {
            let mut text = serde_json::to_string_pretty(&report)?;
            text.push('\n');
            ui.write_data(text.as_bytes())?;
        }
        DoctorFormat::Text => ui.write_data(text(&report).as_bytes())?,
    }
    let is_problem = |check: &&DoctorCheck| check.status == CheckStatus::Problem;
    match report.checks.iter().filter(is_problem).count() {
        0 => Ok(()),
        count => bail!("{count} problems were found"),
    }
}

/// The group of the sandbox of executables.
const SANDBOX: &str = "sandbox";

fn text(report: &Report) -> String {
    let mut text = String::new();
    let mut group = "";
    for check in &report.checks {
        if check.group != group {
            group = check.group;
            text.push_str(&format!("{group}:\n"));
        }
        let status = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Missing => "missing",
            CheckStatus::Problem => "problem",
        };
        text.push_str(&format!("  {status:<8} {}: {}\n", check.name, check.detail));
        if let Some(fix) = &check.fix {
            text.push_str(&format!("           fix: {fix}\n"));
        }
    }
    match &report.images_run_by {
        Some(name) => text.push_str(&format!("Images run by: {name}\n")),
        None => text.push_str("Images run by: nothing\n"),
    }
    text
}
