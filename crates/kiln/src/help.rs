//! The section of the help that lists the environment variables of a command.

use clap::Command;

use crate::environment::{
    DOCKER_CONFIG, GIT_AUTHOR_EMAIL, GIT_AUTHOR_NAME, KILN_COMPAT, KILN_GIT_TIMEOUT, KILN_POLICY,
    KILN_REPOSITORIES, KPT_IMAGE_PREFIX, KRM_DISABLE_ATTRIBUTION, KRM_FN_RUNTIME, NO_COLOR,
    XDG_CACHE_HOME, XDG_CONFIG_HOME,
};

/// A variable and what it does.
type Variable = (&'static str, &'static str);

const GENERAL: &[Variable] = &[
    (KILN_COMPAT, "Compatibility mode without --compat"),
    (
        NO_COLOR,
        "Not empty: no colours, unless --color asks for them",
    ),
];

const FUNCTIONS: &[Variable] = &[
    (
        KPT_IMAGE_PREFIX,
        "Prefix of short image names without --image-prefix",
    ),
    (
        KRM_FN_RUNTIME,
        "Container engine: docker, podman or nerdctl",
    ),
    (KILN_POLICY, "Policy of functions without --policy"),
    (DOCKER_CONFIG, "Directory of the credentials for registries"),
    (
        KRM_DISABLE_ATTRIBUTION,
        "Not empty: no attribution annotations",
    ),
];

const REPOSITORIES: &[Variable] = &[
    (KILN_REPOSITORIES, "File of registered repositories"),
    (
        KILN_GIT_TIMEOUT,
        "Time limit of git commands that use a remote",
    ),
    (GIT_AUTHOR_NAME, "Author of commits, as for git"),
    (GIT_AUTHOR_EMAIL, "Email address of the author"),
    (XDG_CONFIG_HOME, "Directory for the file of repositories"),
    (XDG_CACHE_HOME, "Directory for local copies of repositories"),
];

/// Adds the section to all commands.
pub(crate) fn with_environment(command: Command) -> Command {
    let command = command.mut_subcommands(|top| match top.get_name() {
        "fn" | "argocd" | "helm" | "policy" => add(top, &[FUNCTIONS]),
        "rpkg" => add(top, &[REPOSITORIES, FUNCTIONS]),
        "repo" | "cache" => add(top, &[REPOSITORIES]),
        _ => add(top, &[]),
    });
    after(command, &[])
}

/// The recursion is bounded: there are three levels.
fn add(command: Command, groups: &[&[Variable]]) -> Command {
    let command = command.mut_subcommands(|below| add(below, groups));
    after(command, groups)
}

fn after(command: Command, groups: &[&[Variable]]) -> Command {
    let groups = groups.iter().chain([&GENERAL]);
    let variables: Vec<&Variable> = groups.copied().flatten().collect();
    let width = variables.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = match command.get_after_help() {
        Some(before) => format!("{before}\n\nEnvironment:"),
        None => "Environment:".to_owned(),
    };
    for (name, meaning) in variables {
        text.push_str(&format!("\n  {name:width$}  {meaning}"));
    }
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::compat::Compat;

    /// Every command that does something has examples, and every command lists its variables.
    #[track_caller]
    fn check(command: &Command, path: &str) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        let help = command.clone().render_long_help().to_string();
        assert!(
            help.contains("\nEnvironment:\n"),
            "{path} lists no variables"
        );
        let is_leaf = !command.has_subcommands();
        assert!(
            !is_leaf || help.contains("\nExamples:\n") || path == "kiln serve",
            "{path} has no examples"
        );
        for below in command.get_subcommands() {
            check(below, &format!("{path} {}", below.get_name()));
        }
    }

    #[test]
    fn every_command_has_examples_and_variables() {
        for compat in [Compat::Kiln, Compat::KptV039] {
            check(&cli::documented_grammar(compat), "kiln");
        }
    }
}
