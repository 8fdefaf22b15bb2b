//! Rules for every source file: length, a first line with its purpose, no loose ends.

use super::Violation;
use super::code::code_only;
use super::tree::Tree;

const MAX_LINES: usize = 800;

/// Unfinished code, and tests that hide their result.
const LOOSE_ENDS: &[&str] = &["todo!", "unimplemented!", "#[ignore", "#[should_panic"];

/// Checks all Rust files.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        if path.ends_with(".rs") {
            check_file(path, text, violations);
            check_declared(path, tree, violations);
            check_module_style(path, tree, violations);
        }
    }
}

fn check_file(path: &str, text: &str, violations: &mut Vec<Violation>) {
    let lines = text.lines().count();
    if lines > MAX_LINES && !is_table_or_generated(path, text) {
        let message = format!("{lines} lines; split it before it has {MAX_LINES}");
        violations.push(Violation::file(path, message));
    }
    if !text.starts_with("//!") {
        let message = "a module begins with //! that says what it is for";
        violations.push(Violation::line(path, 1, message));
    }
    for (line, name) in occurrences(&code_only(text), LOOSE_ENDS) {
        violations.push(Violation::line(path, line, format!("no {name}")));
    }
}

/// A module with modules of its own is `name/mod.rs`, never `name.rs` beside `name/`.
fn check_module_style(path: &str, tree: &Tree, violations: &mut Vec<Violation>) {
    let directory = path.strip_suffix(".rs").unwrap_or(path);
    if tree.sources(directory).next().is_some() {
        let message = format!("move it to {directory}/mod.rs, where its modules are");
        violations.push(Violation::file(path, message));
    }
}

/// A test file that no module declares never runs.
fn check_declared(path: &str, tree: &Tree, violations: &mut Vec<Violation>) {
    let in_tests = path.contains("/tests/it/") && !path.ends_with("/tests/it/main.rs");
    if !in_tests && !path.ends_with("/tests.rs") {
        return;
    }
    let Some((directory, name)) = module_place(path) else {
        return;
    };
    let owners = [
        format!("{directory}/mod.rs"),
        format!("{directory}/lib.rs"),
        format!("{directory}/main.rs"),
    ];
    let declared = owners.iter().any(|owner| {
        tree.files
            .get(owner)
            .is_some_and(|text| declares(&code_only(text), name))
    });
    if !declared {
        let message = format!("never run: no `mod {name};` in the module it belongs to");
        violations.push(Violation::file(path, message));
    }
}

/// The directory of the module that declares a file, and the file's module name.
fn module_place(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.rsplit_once('/')
}

fn declares(code: &str, name: &str) -> bool {
    let words: Vec<&str> = code
        .split(|c: char| c.is_whitespace() || "{}".contains(c))
        .collect();
    let declaration = format!("{name};");
    words
        .windows(2)
        .any(|pair| pair[0] == "mod" && pair[1] == declaration)
}

/// The lines of marks in code. A mark that begins with a letter counts only where a word begins.
pub(super) fn occurrences(code: &str, marks: &[&'static str]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for mark in marks {
            let hit = line.match_indices(mark).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !mark.starts_with(char::is_alphabetic)
                    || before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            });
            if hit {
                found.push((index + 1, *mark));
            }
        }
    }
    found
}

/// Whether a file is compiled for tests only.
pub(super) fn is_test_code(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn is_table_or_generated(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.contains("table") || is_generated(path, text)
}

/// Whether a program wrote a file.
pub(super) fn is_generated(path: &str, text: &str) -> bool {
    let mut first_lines = text.lines().take(3);
    path.contains("/generated/") || first_lines.any(|line| line.contains("@generated"))
}
