//! Retired words in comments, identifiers and documents. Plain words take their place: log, print, report, return, pass;
//! the user, the caller, another process. String literals are not checked, because messages may quote other programs.

use super::Violation;
use super::code::code_and_comments;
use super::tree::Tree;

const RETIRED: &[&str] = &[
    "tell", "tells", "told", "mourn", "bury", "buries", "buried", "whoever", "whom", "somebody",
];

/// Checks comments and identifiers of Rust files, and documents.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        for (line, word) in retired_words(path, text) {
            let message = format!("the word {word:?} is retired; use a plain one");
            violations.push(Violation::line(path, line, message));
        }
    }
}

fn retired_words(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let text = if path.ends_with(".rs") {
        code_and_comments(text)
    } else if path.ends_with(".md") {
        text.to_owned()
    } else {
        return found;
    };
    for (index, line) in text.lines().enumerate() {
        for word in words(line) {
            let retired = RETIRED
                .iter()
                .find(|retired| word.eq_ignore_ascii_case(retired));
            found.extend(retired.map(|retired| (index + 1, *retired)));
        }
    }
    found
}

/// The words of a line, also those inside identifiers like `lost_call` and `LostCall`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphabetic()).flat_map(|name| {
        let starts = name.char_indices().filter(|(_, c)| c.is_uppercase());
        let starts: Vec<usize> = starts.map(|(at, _)| at).filter(|at| *at > 0).collect();
        let ends = starts.clone().into_iter().chain([name.len()]);
        let starts = std::iter::once(0).chain(starts);
        starts.zip(ends).map(|(start, end)| &name[start..end])
    })
}
