//! The section of the help that lists the environment variables of a command.

mod variables;

use clap::Command;

use variables::{VARIABLES, Variable};

/// Adds the section to all commands.
pub(crate) fn with_environment(command: Command) -> Command {
    let command = command.mut_subcommands(|top| {
        let name = top.get_name().to_owned();
        add(top, &name)
    });
    after(command, "")
}

/// The recursion is bounded: there are three levels.
fn add(command: Command, top: &str) -> Command {
    let command = command.mut_subcommands(|below| add(below, top));
    after(command, top)
}

fn after(command: Command, top: &str) -> Command {
    let variables: Vec<&Variable> = VARIABLES.iter().filter(|one| one.is_of(top)).collect();
    let width = variables.iter().map(|one| one.name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = match command.get_after_help() {
        Some(before) => format!("{before}\n\nEnvironment:"),
        None => "Environment:".to_owned(),
    };
    for Variable { name, meaning, .. } in variables {
        text.push_str(&format!("\n  {name:width$}  {meaning}"));
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests;
