//! Only `GitProgram` runs git: it keeps variables, hooks and filters of other repositories away, and refuses old releases.
//!
//! Tests, build scripts and the tools of this repository may run it as a person does.

use super::Violation;
use super::code::{code_and_literals, code_only, without_test_modules};
use super::files::is_test_code;
use super::tree::Tree;

/// The module that runs git.
const OWNER: &str = "crates/kiln-task/src/git/program/";

/// Crates that are not part of any released program.
const TOOLS: &[&str] = &["crates/bench/", "crates/conformance/", "xtask/"];

/// The constructor that may be given the name of the program.
const PROGRAM: &str = "GitProgram";

pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        let is_exempt = path.starts_with(OWNER)
            || TOOLS.iter().any(|tool| path.starts_with(tool))
            || is_test_code(path)
            || !path.contains("/src/")
            || !path.ends_with(".rs");
        if !is_exempt {
            for line in uses(text) {
                let message = "only kiln-task's GitProgram runs git; use it or WorkTree";
                violations.push(Violation::line(path, line, message));
            }
        }
    }
}

/// The lines that make a command of git.
fn uses(text: &str) -> Vec<usize> {
    let outside_of_tests = without_test_modules(&code_only(text));
    let outside_of_tests: Vec<&str> = outside_of_tests.lines().collect();
    let code = code_and_literals(text);
    let calls = code.match_indices("::new(").filter(|(at, call)| {
        let (before, argument) = (&code[..*at], &code[at + call.len()..]);
        !before.ends_with(PROGRAM) && names_git(argument)
    });
    let lines = calls.map(|(at, _)| code[..at].matches('\n').count());
    let lines = lines.filter(|line| {
        let code = outside_of_tests.get(*line);
        code.is_some_and(|code| code.contains("::new("))
    });
    lines.map(|line| line + 1).collect()
}

/// Whether the text of an argument begins with git's name or path.
fn names_git(argument: &str) -> bool {
    let literal = argument.trim_start().strip_prefix('"');
    let program = literal.and_then(|literal| Some(literal.split_once('"')?.0));
    program.is_some_and(|program| program.rsplit('/').next() == Some("git"))
}
