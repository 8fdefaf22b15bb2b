//! Every page of the help has examples and fits a terminal, and every variable that the code reads is in the help of the
//! commands that read it.

use std::path::{Path, PathBuf};

use function_runner::{Flavour, RunnerFlags};

use super::*;
use crate::cli;
use crate::compat::Compat;

/// Both pages of a command and of those below it: short and long.
fn pages(command: &Command, path: &str) -> Vec<(String, String)> {
    if command.is_hide_set() || command.get_name() == "help" {
        return Vec::new();
    }
    let mut narrow = command.clone().term_width(80);
    let short = narrow.render_help().to_string();
    let long = narrow.render_long_help().to_string();
    let mut pages = vec![
        (format!("{path} -h"), short),
        (format!("{path} --help"), long),
    ];
    for below in command.get_subcommands() {
        pages.extend(self::pages(below, &format!("{path} {}", below.get_name())));
    }
    pages
}

#[test]
fn every_page_has_examples_and_variables_and_fits_a_terminal() {
    for compat in [Compat::Kiln, Compat::Kpt, Compat::KptV039] {
        let pages = pages(&cli::documented_grammar(compat), "kiln");
        assert!(pages.len() > 10);
        for (path, help) in pages {
            for section in ["Examples", "Environment"] {
                let heading = format!("\n{section}:\n");
                assert_eq!(help.matches(&heading).count(), 1, "{path}: {section}");
            }
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{path}");
        }
    }
}

/// The function runner parses the flags, so the grammar could forget one.
#[test]
fn the_help_of_serve_has_the_flags_that_it_parses() {
    let help = cli::help_of_serve(Compat::Kiln);
    for flag in RunnerFlags::new(Flavour::Serve).names() {
        assert!(help.contains(&format!("--{flag}")), "{flag}");
    }
    for hidden in ["--pod-ttl", "--kubeconfig", "--color <WHEN>", "[FLAGS]"] {
        assert!(!help.contains(hidden), "{hidden}");
    }
}

/// Variables that are not for users of a command: kiln sets them for itself, or reads them if it is called as a container
/// engine, which `docs/images.md` describes.
const OUTSIDE_OF_HELP: &[&str] = &[
    "KILN_COMPLETE",
    "KILN_PASSED_ON",
    "KILN_REAL_DOCKER",
    "KILN_REAL_PODMAN",
    "KILN_REAL_NERDCTL",
    "KILN_DOCKER_VERSION",
    "KILN_ALLOW_NETWORK",
    "KILN_ALLOW_MOUNTS",
];

/// The modules that several commands share, and commands that use them.
const SHARED: &[(&str, &[&str])] = &[
    ("functions/container_functions.rs", &["fn"]),
    ("functions/flags.rs", &["fn", "rpkg"]),
    ("functions/image_runtime.rs", &["fn"]),
    ("functions/policy.rs", &["fn", "rpkg", "policy"]),
    (
        "functions/registry_tags.rs",
        &["fn", "pkg", "rpkg", "image", "wasm"],
    ),
    ("functions/runner_flags.rs", &["fn", "rpkg"]),
    ("functions/wasm.rs", &["fn"]),
    ("image_store.rs", &["fn", "image"]),
    ("pass_through.rs", &["live", "alpha"]),
    ("report/repository.rs", &["fn"]),
    ("rpkg/git_environment.rs", &["rpkg"]),
    ("rpkg/repositories_file.rs", &["rpkg", "repo"]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All source files with their paths below `src`.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut pending = vec![source()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let text = std::fs::read_to_string(&path).expect("a file");
                let path = path.strip_prefix(source()).expect("below src");
                files.push((path.display().to_string(), text));
            }
        }
    }
    files
}

/// The names of the constants in `environment.rs`, which are those of the variables.
fn constants() -> Vec<String> {
    let text = std::fs::read_to_string(source().join("environment.rs")).expect("a file");
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub(crate) const "));
    let names = lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned()));
    names.collect()
}

fn documented(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|one| one.name == name)
}

#[test]
fn every_variable_is_in_the_help_of_a_command() {
    let constants = constants();
    assert!(constants.len() > VARIABLES.len());
    for name in &constants {
        let is_outside = OUTSIDE_OF_HELP.contains(&name.as_str());
        assert_ne!(documented(name).is_some(), is_outside, "{name}");
    }
    for variable in VARIABLES {
        assert!(
            constants.iter().any(|name| name == variable.name),
            "{} is not in environment.rs",
            variable.name
        );
    }
}

#[test]
fn variables_are_in_the_help_of_the_commands_that_read_them() {
    let sources = sources();
    for (shared, _) in SHARED {
        assert!(sources.iter().any(|(path, _)| path == shared), "{shared}");
    }
    for (path, text) in sources {
        let own = path.strip_prefix("commands/").and_then(|path| {
            let name = path.split(['/', '.']).next()?;
            Some(vec![name.trim_end_matches('_').to_owned()])
        });
        let shared = SHARED.iter().find(|(shared, _)| *shared == path);
        let shared = shared.map(|(_, commands)| commands.iter().map(|name| (*name).to_owned()));
        let Some(commands) = own.or_else(|| Some(shared?.collect())) else {
            continue;
        };
        for name in constants() {
            let Some(variable) = documented(&name) else {
                continue;
            };
            if !reads(&text, &name) {
                continue;
            }
            for command in &commands {
                assert!(
                    variable.is_of(command),
                    "{path} uses {name}, which the help of `kiln {command}` does not list"
                );
            }
        }
    }
}

/// Whether a source file imports a variable from `environment`.
fn reads(text: &str, name: &str) -> bool {
    let imports = text
        .split("use crate::environment::")
        .skip(1)
        .filter_map(|rest| rest.split(';').next());
    imports
        .flat_map(|import| import.split(|c: char| !c.is_ascii_uppercase() && c != '_'))
        .any(|word| word == name)
}

/// A variable that is read by its bare name would escape the table.
#[test]
fn variables_are_read_by_their_constants() {
    for (path, text) in sources() {
        if path.ends_with("tests.rs") || path == "reference.rs" || path == "catalog.rs" {
            continue;
        }
        for call in ["env::var(\"", "env::var_os(\""] {
            assert!(!text.contains(call), "{path} contains {call}");
        }
    }
}
