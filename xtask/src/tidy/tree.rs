//! The workspace's files in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// Directories with code and documents.
const DIRECTORIES: [&str; 6] = [
    "crates",
    "xtask",
    "docs",
    "bench",
    "conformance",
    "examples",
];

/// Directories whose manifests and Rust files are not checked: they follow other rules.
const DOCUMENTS_ONLY: [&str; 3] = ["bench", "conformance", "examples"];

/// Further directories with texts: scripts, workflows and configurations.
const TEXT_DIRECTORIES: [&str; 5] = [".ci", "deploy", "fuzz", "templates", "tests"];

/// Further texts of the root directory.
const ROOT_TEXTS: [&str; 3] = [".pre-commit-hooks.yaml", "action.yml", "justfile"];

/// Directories with recorded data, copies of other projects, and what programs write.
const NOT_OURS: [&str; 6] = [
    "artifacts",
    "corpus",
    "fixtures",
    "recorded",
    "seeds",
    "target",
];

/// Files of the root directory.
const ROOT_FILES: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
];

/// The plugin of Helm, which repeats the version.
pub(super) const HELM_PLUGIN: &str = "deploy/helm/plugin.yaml";

/// Texts by path from the root, with `/` between names.
#[derive(Default, Debug)]
pub struct Tree {
    pub(super) files: BTreeMap<String, String>,
    /// Scripts and configurations, of which only the words are checked.
    pub(super) texts: BTreeMap<String, String>,
    /// What git tracks; `None` without a repository, as in a source archive.
    pub(super) tracked: Option<BTreeSet<String>>,
}

/// A member of the workspace.
pub(super) struct Crate {
    pub(super) name: String,
    /// `crates/kiln-yaml`
    pub(super) directory: String,
    pub(super) manifest: toml::Table,
}

impl Crate {
    pub(super) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.directory)
    }
}

impl Tree {
    /// Reads manifests, sources and documents below `root`.
    pub fn read(root: &Path) -> anyhow::Result<Tree> {
        let mut tree = Tree::default();
        for name in ROOT_FILES {
            tree.read_file(root, name)?;
        }
        tree.read_file(root, HELM_PLUGIN)?;
        for directory in DIRECTORIES {
            tree.read_directory(root, directory)?;
        }
        for name in ROOT_TEXTS {
            tree.read_text(root, name)?;
        }
        for directory in DIRECTORIES.iter().chain(&TEXT_DIRECTORIES) {
            tree.read_texts(root, directory)?;
        }
        if root.join(".git").exists() {
            tree.tracked = Some(tracked(root)?);
        }
        Ok(tree)
    }

    fn read_file(&mut self, root: &Path, path: &str) -> anyhow::Result<()> {
        let text = fs::read_to_string(root.join(path));
        let text = text.with_context(|| format!("cannot read {path}"))?;
        self.files.insert(path.to_owned(), text);
        Ok(())
    }

    fn read_directory(&mut self, root: &Path, directory: &str) -> anyhow::Result<()> {
        let cannot_read = || format!("cannot read {directory}");
        for entry in fs::read_dir(root.join(directory)).with_context(cannot_read)? {
            let entry = entry.with_context(cannot_read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{directory}/{name}");
            if entry.file_type().with_context(cannot_read)?.is_dir() {
                if name != "target" && name != "fixtures" {
                    self.read_directory(root, &path)?;
                }
            } else if name.ends_with(".md")
                || (name.ends_with(".rs") || name == "Cargo.toml") && !has_only_documents(directory)
            {
                self.read_file(root, &path)?;
            }
        }
        Ok(())
    }

    pub(super) fn read_texts(&mut self, root: &Path, directory: &str) -> anyhow::Result<()> {
        let cannot_read = || format!("cannot read {directory}");
        for entry in fs::read_dir(root.join(directory)).with_context(cannot_read)? {
            let entry = entry.with_context(cannot_read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{directory}/{name}");
            let kind = entry.file_type().with_context(cannot_read)?;
            if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
                self.read_texts(root, &path)?;
            } else if kind.is_file() && is_text(&path, &name) {
                self.read_text(root, &path)?;
            }
        }
        Ok(())
    }

    /// Reads a text. Of files whose name has no ending, only scripts are texts.
    fn read_text(&mut self, root: &Path, path: &str) -> anyhow::Result<()> {
        let bytes = fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.contains('.') || name == "justfile" || bytes.starts_with(b"#!") {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.texts.insert(path.to_owned(), text);
        }
        Ok(())
    }

    /// The members, from their manifests.
    pub(super) fn crates(&self) -> anyhow::Result<Vec<Crate>> {
        let mut crates = Vec::new();
        for (path, text) in &self.files {
            let Some(directory) = path.strip_suffix("/Cargo.toml") else {
                continue;
            };
            let manifest: toml::Table = text.parse().with_context(|| path.clone())?;
            let name = manifest
                .get("package")
                .and_then(|package| package.get("name"));
            let name = name.and_then(toml::Value::as_str);
            crates.push(Crate {
                name: name
                    .with_context(|| format!("{path}: no package name"))?
                    .to_owned(),
                directory: directory.to_owned(),
                manifest,
            });
        }
        Ok(crates)
    }

    /// The Rust files below a directory.
    pub(super) fn sources(&self, directory: &str) -> impl Iterator<Item = (&str, &str)> {
        let below = format!("{directory}/");
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(&below) && path.ends_with(".rs"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

fn has_only_documents(directory: &str) -> bool {
    let top = directory.split('/').next().unwrap_or(directory);
    DOCUMENTS_ONLY.contains(&top)
}

/// Whether a file may be a text that people write: by the end of its name, or a script without one.
fn is_text(path: &str, name: &str) -> bool {
    // Beside the tests of a crate, these are recorded.
    let is_recorded = path.contains("/tests/") && name.ends_with(".txt");
    let ends = [".py", ".sh", ".txt", ".yaml", ".yml"];
    !is_recorded && (!name.contains('.') || ends.iter().any(|end| name.ends_with(end)))
}

fn tracked(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let output = Command::new("git")
        .arg("ls-files")
        .current_dir(root)
        .output();
    let output = output.context("cannot run git ls-files")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.lines().map(str::to_owned).collect())
}
