//! What help shows besides the grammar: the flags of the function runner, examples, and the environment variables of a command.

mod examples;
mod runner;
mod variables;

use clap::Command;

use crate::compat::Compat;
pub(crate) use runner::with_runner_flags;
use variables::{VARIABLES, Variable};

/// Adds examples to groups of commands, which have none of their own, and the variables to all commands.
pub(crate) fn with_sections(command: Command, compat: Compat) -> Command {
    add(command, &mut Vec::new(), compat)
}

/// The recursion is bounded: there are three levels. `path` has the names of the commands above, without the program.
fn add(command: Command, path: &mut Vec<String>, compat: Compat) -> Command {
    let top = path.first().cloned().unwrap_or_default();
    let examples = examples::of_group(compat, &path.join(" "));
    let command = command.mut_subcommands(|below| {
        path.push(below.get_name().to_owned());
        let below = add(below, path, compat);
        path.pop();
        below
    });
    after(command, examples, &top)
}

fn after(command: Command, examples: Option<&str>, top: &str) -> Command {
    let variables: Vec<&Variable> = VARIABLES.iter().filter(|one| one.is_of(top)).collect();
    let width = variables.iter().map(|one| one.name.len()).max();
    let width = width.unwrap_or_default();
    let own = command.get_after_help().map(ToString::to_string);
    let examples = own.or_else(|| Some(format!("Examples:\n{}", examples?)));
    let mut text = match examples {
        Some(examples) => format!("{examples}\n\nEnvironment:"),
        None => "Environment:".to_owned(),
    };
    for Variable { name, meaning, .. } in variables {
        text.push_str(&format!("\n  {name:width$}  {meaning}"));
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests;
