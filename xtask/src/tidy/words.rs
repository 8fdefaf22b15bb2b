//! Retired words in code, comments, texts of programs, documents and scripts. Plain words take their place: log, print, report,
//! return, pass; the user, the caller, another process. (tidy: quoted)
//!
//! A line with the marker above may quote another program or these words. In a line of a module's own comment, as here, it
//! is for all literals of the file.

use super::Violation;
use super::code::code_and_comments;
use super::tree::Tree;

const RETIRED: &[&str] = &[
    "tell", "tells", "told", "telling", "mourn", "bury", "buries", "buried", "whoever", "whom",
    "somebody", "mend", "mends", "mended", "in vain",
];

/// Marks quotations.
const MARKER: &str = "tidy: quoted";

/// Names of other interfaces.
const FOREIGN: &[&str] = &["fd_tell"];

/// Crates and modules whose literals are texts of the programs that they port.
const PORTS: &[&str] = &[
    "crates/kiln-starlark/",
    "crates/kiln-functions/src/catalog/",
    "crates/kiln-functions/src/port/",
];

/// Checks Rust files, documents, and other texts that people write and read.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    let documents = tree.files.iter().filter(|(path, _)| is_checked(path));
    for (path, text) in documents.chain(&tree.texts) {
        for (line, word) in retired_words(path, text) {
            let message = format!("the word {word:?} is retired; use a plain one");
            violations.push(Violation::line(path, line, message));
        }
    }
}

fn is_checked(path: &str) -> bool {
    path.ends_with(".rs") || path.ends_with(".md")
}

fn retired_words(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let has_quotes = PORTS.iter().any(|port| path.starts_with(port)) || quotes_in_all(text);
    let checked = match path.ends_with(".rs") && has_quotes {
        true => code_and_comments(text),
        false => text.to_owned(),
    };
    for (index, line) in checked.lines().enumerate() {
        if !line.contains(MARKER) {
            let line = without_names_and_escapes(line);
            found.extend(retired_in(&line).map(|retired| (index + 1, retired)));
        }
    }
    found
}

/// Whether a module's own comment has the marker.
fn quotes_in_all(text: &str) -> bool {
    let mut own = text.lines().take_while(|line| line.starts_with("//!"));
    own.any(|line| line.contains(MARKER))
}

/// Escapes in literals end in letters, which do not belong to the next word.
fn without_names_and_escapes(line: &str) -> String {
    let blanked = FOREIGN.iter().chain(&["\\n", "\\r", "\\t"]);
    blanked.fold(line.to_owned(), |line, text| line.replace(text, " "))
}

/// The retired words and phrases of a line.
fn retired_in(line: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<&str> = words(line).collect();
    let retired = RETIRED.iter().filter(move |retired| {
        let phrase: Vec<&str> = retired.split(' ').collect();
        let mut found = words.windows(phrase.len());
        found.any(|found| {
            let mut pairs = found.iter().zip(&phrase);
            pairs.all(|(word, retired)| word.eq_ignore_ascii_case(retired))
        })
    });
    retired.copied()
}

/// The words of a line, also those inside identifiers like `lost_call` and `LostCall`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let names = line.split(|c: char| !c.is_alphabetic());
    let names = names.filter(|name| !name.is_empty());
    names.flat_map(|name| {
        let pairs = name.char_indices().zip(name.chars().skip(1));
        let starts = pairs.filter(|((_, c), next)| c.is_lowercase() && next.is_uppercase());
        let starts: Vec<usize> = starts.map(|((at, c), _)| at + c.len_utf8()).collect();
        let ends = starts.clone().into_iter().chain([name.len()]);
        let starts = std::iter::once(0).chain(starts);
        starts.zip(ends).map(|(start, end)| &name[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts and configurations are read, recorded data is not.
    #[test]
    fn retired_words_in_other_texts() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        };
        for path in [
            ".ci/run",
            "conformance/gaps.yaml",
            "conformance/recorded/a.yaml",
            "crates/kiln/src/setup.sh",
            "crates/x/tests/fixtures/a.yaml",
            "crates/x/tests/it/a.txt",
            "deploy/ci/render",
            "tests/up",
        ] {
            write(path, "#!/bin/sh\n# It was told.\n");
        }
        write("deploy/data", "told\n");
        let mut tree = Tree::default();
        for directory in [".ci", "crates", "conformance", "deploy", "tests"] {
            tree.read_texts(root.path(), directory).expect("readable");
        }
        let mut found = Vec::new();
        check(&tree, &mut found);
        found.sort();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = [
            ".ci/run",
            "conformance/gaps.yaml",
            "crates/kiln/src/setup.sh",
            "deploy/ci/render",
            "tests/up",
        ];
        let message = |path| format!("{path}:2: the word \"told\" is retired; use a plain one");
        assert_eq!(found, expected.map(message));
    }
}
