//! The rules of the workspace that neither the compiler nor clippy checks.
//!
//! A rule is a function from a [`Tree`] (all files in memory) to violations, so that tests can break each rule with a
//! small tree. Only [`Tree::read`] reads the disk.

mod code;
mod docs;
mod files;
mod git;
mod layers;
mod links;
mod manifests;
mod names;
mod tables;
mod tree;
mod versions;
mod words;

use std::fmt;
use std::path::Path;

pub use tree::Tree;

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Violation {
    /// The file, from the root of the workspace.
    pub path: String,
    /// The line, from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// What is wrong and how to fix it.
    pub message: String,
}

impl Violation {
    fn file(path: &str, message: impl Into<String>) -> Violation {
        Violation {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    fn line(path: &str, line: usize, message: impl Into<String>) -> Violation {
        Violation {
            line: Some(line),
            ..Violation::file(path, message)
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// All violations in the workspace at `root`.
pub fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    check_tree(&Tree::read(root)?)
}

/// All violations in a tree.
pub fn check_tree(tree: &Tree) -> anyhow::Result<Vec<Violation>> {
    let crates = tree.crates()?;
    let mut violations = Vec::new();
    for crate_ in &crates {
        layers::check_dependencies(crate_, &crates, &mut violations);
        layers::check_sources(crate_, tree, &mut violations);
        manifests::check(crate_, tree, &mut violations);
    }
    manifests::check_lock(tree, &mut violations);
    docs::check(tree, &mut violations);
    links::check(tree, &mut violations);
    files::check(tree, &mut violations);
    git::check(tree, &mut violations);
    names::check(tree, &mut violations);
    tables::check(tree, &mut violations);
    versions::check(tree, &mut violations);
    words::check(tree, &mut violations);
    violations.sort();
    Ok(violations)
}

#[cfg(test)]
mod tests;
