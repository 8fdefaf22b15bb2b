//! `kiln function json`

use std::io::{self, Write};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kiln_krm::write::json::to_json;

use crate::error::CommandError;
use crate::rpkg::output::to_yaml;
use crate::ui::Ui;

/// Run a program that reads and writes a ResourceList as JSON
///
/// A language without a YAML library in its standard library has one for JSON. This command is the function: it reads the
/// ResourceList as YAML, passes it to the program as JSON, and prints the list that the program returns as YAML.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln fn eval app --exec 'kiln function json python3 my-function/function.py' -- replicas=3")]
pub(super) struct JsonArgs {
    /// Program and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
}

pub(super) fn cmd_json(ui: &Ui, args: &JsonArgs) -> Result<ExitCode> {
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("no program is given");
    };
    let input = kiln_yaml::parse_first(&ui.read_data()?)?;
    let input = input.ok_or_else(|| anyhow!("standard input is empty, not a ResourceList"))?;
    let input = to_json(&input)?.into_bytes();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let stdin = child.stdin.take();
    // In a thread, because the program may print before it has read everything.
    let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let output = child
        .wait_with_output()
        .with_context(|| format!("cannot read the output of {program}"))?;
    match writer.join() {
        // A program need not read its input.
        Ok(Some(Err(error))) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(error).with_context(|| format!("cannot write the input of {program}"));
        }
        _ => {}
    }
    let list: serde_json::Value = match serde_json::from_slice(&output.stdout) {
        Ok(list) => list,
        // A program that fails need not print a list.
        Err(_) if !output.status.success() => return Ok(exit_code(output.status)),
        Err(error) => {
            let error = anyhow!("{program} did not print a ResourceList as JSON: {error}");
            let hint = "the program must print the whole list to standard output, and everything else to standard error";
            return Err(CommandError::with_hint(error, hint).into());
        }
    };
    ui.write_data(to_yaml(&list).as_bytes())?;
    Ok(exit_code(output.status))
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
