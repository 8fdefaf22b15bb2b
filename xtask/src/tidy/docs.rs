//! Public types, traits and functions have a doc comment. The compiler's `missing_docs` is off, because it also wants one on
//! fields, variants and methods whose name says all.
//!
//! The messages of an error describe its type. Only items of modules are checked, not methods.

use super::Violation;
use super::code::code_and_comments;
use super::files::{is_generated, is_test_code};
use super::tree::Tree;

const ITEMS: &[&str] = &[
    "async", "enum", "fn", "struct", "trait", "type", "union", "unsafe",
];

/// Attributes that take the place of a comment.
const DESCRIBING: &[&str] = &["thiserror::Error", "doc(hidden)"];

/// Checks all Rust files outside of tests.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        if !path.ends_with(".rs") || is_test_code(path) || is_generated(path, text) {
            continue;
        }
        for line in undocumented(&code_and_comments(text)) {
            let message = "a public item needs a doc comment";
            violations.push(Violation::line(path, line, message));
        }
    }
}

/// The lines of public items that no doc comment precedes.
fn undocumented(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_documented = false;
    let mut open_brackets = 0;
    for (index, line) in code.lines().enumerate() {
        if open_brackets > 0 || line.starts_with("#[") {
            // An attribute, maybe over several lines, stands between a comment and its item.
            open_brackets += line.matches('[').count();
            open_brackets -= line.matches(']').count().min(open_brackets);
            is_documented |= DESCRIBING.iter().any(|text| line.contains(text));
        } else if line.starts_with("///") {
            is_documented = true;
        } else if !line.starts_with("//") {
            if !is_documented && is_public_item(line) {
                found.push(index + 1);
            }
            is_documented = false;
        }
    }
    found
}

fn is_public_item(line: &str) -> bool {
    line.strip_prefix("pub ")
        .and_then(|item| item.split(' ').next())
        .is_some_and(|keyword| ITEMS.contains(&keyword))
}
