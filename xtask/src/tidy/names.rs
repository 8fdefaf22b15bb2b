//! One name, one concept: outside tests, at most two types of the workspace have the same name, and none a retired one.
//!
//! Structs, enums, traits, unions and type aliases count, also inside macros. Associated types do not count.

use std::collections::BTreeMap;

use super::Violation;
use super::code::{code_only, without_test_modules};
use super::files::is_test_code;
use super::tree::Tree;

const LIMIT: usize = 2;

/// Names with a fixed meaning that each program, crate or function needs for itself.
const EXCEPTED: &[&str] = &[
    // clap: the arguments of a sub-command, and the sub-commands of a program.
    "Args",
    "Command",
    // The configuration of a program or of a catalog function, and what is wrong with it.
    "Config",
    "ConfigError",
    // The command line of a program with Go's flags.
    "Flags",
    // The usual names of a crate's error and options.
    "Error",
    "Options",
];

/// Names that have to be learned. The glossary of `ARCHITECTURE.md` has the words that took their place.
const RETIRED: &[&str] = &[
    "ChosenForwarder",
    "ForwardError",
    "ForwardedCall",
    "Forwarder",
    "Hands",
    "House",
    "KptfileText",
    "Listed",
    "Place",
    "PodRuntime",
    "Question",
    "Sight",
    "StartPods",
    "Warmth",
    "World",
];

/// Checks the names of all types.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    let types = types(tree);
    for name in RETIRED {
        for path in types.get(name).into_iter().flatten() {
            let message = format!("the type name {name} is retired; see the glossary");
            violations.push(Violation::file(path, message));
        }
    }
    for (name, paths) in frequent(types) {
        let message = format!(
            "{} types have the name {name}, at most {LIMIT} may; rename one in: {}",
            paths.len(),
            paths.join(", ")
        );
        violations.push(Violation::file(paths[0], message));
    }
}

/// Names that too many types have.
fn frequent<'a>(mut types: TypeFiles<'a>) -> TypeFiles<'a> {
    types.retain(|name, paths| paths.len() > LIMIT && !EXCEPTED.contains(name));
    types
}

/// The files of each type, by its name.
type TypeFiles<'a> = BTreeMap<&'a str, Vec<&'a str>>;

fn types(tree: &Tree) -> TypeFiles<'_> {
    let mut types = TypeFiles::new();
    for (path, text) in &tree.files {
        if !path.ends_with(".rs") || is_test_code(path) {
            continue;
        }
        let code = without_test_modules(&code_only(text));
        for (line, text) in code.lines().zip(text.lines()) {
            // Code and text have the same characters up to the name; the text outlives this loop.
            if let Some((start, end)) = type_name(line)
                && let Some(name) = text.get(start..end)
            {
                types.entry(name).or_default().push(path);
            }
        }
    }
    types
}

/// Where a line of code has the name of the type that it defines.
fn type_name(line: &str) -> Option<(usize, usize)> {
    let definition = line.trim_start();
    let is_nested = definition.len() < line.len();
    let definition = match definition.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => definition,
    };
    let (keyword, rest) = definition.split_once(' ')?;
    let defines = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        // A nested one is an associated type.
        "type" => !is_nested,
        _ => false,
    };
    let length = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    let start = line.len() - rest.len();
    (defines && rest.starts_with(char::is_uppercase)).then_some((start, start + length))
}
