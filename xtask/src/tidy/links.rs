//! Links of documents lead to files of the repository, and the index of `docs/` has every page once.

use super::Violation;
use super::tree::Tree;
use crate::markdown::{file_links, resolve};

const INDEX: &str = "docs/README.md";

/// Checks all documents.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        if path.ends_with(".md") {
            check_links(path, text, tree, violations);
        }
    }
    if let Some(index) = tree.files.get(INDEX) {
        check_index(index, tree, violations);
    }
}

fn check_links(path: &str, text: &str, tree: &Tree, violations: &mut Vec<Violation>) {
    let Some(tracked) = &tree.tracked else {
        return;
    };
    for link in file_links(text) {
        let is_known = resolve(path, link.path).is_some_and(|target| {
            let below = format!("{target}/");
            tracked.contains(&target) || tracked.iter().any(|path| path.starts_with(&below))
        });
        if !is_known {
            let message = format!("the link to {} leads to no file in git", link.path);
            violations.push(Violation::line(path, link.line, message));
        }
    }
}

fn check_index(index: &str, tree: &Tree, violations: &mut Vec<Violation>) {
    let is_row = |line: &usize| {
        index
            .lines()
            .nth(line - 1)
            .is_some_and(|line| line.starts_with('|'))
    };
    let links = file_links(index);
    let rows: Vec<&str> = links
        .iter()
        .filter(|link| is_row(&link.line))
        .map(|link| link.path)
        .collect();
    let pages = tree
        .files
        .keys()
        .filter_map(|path| path.strip_prefix("docs/"));
    let pages = pages.filter(|page| page.ends_with(".md") && !page.contains('/'));
    for page in pages.filter(|page| format!("docs/{page}") != INDEX) {
        let times = rows.iter().filter(|row| **row == page).count();
        if times != 1 {
            let message = format!("{page} is {times} times in the tables, not once");
            violations.push(Violation::file(INDEX, message));
        }
    }
}
