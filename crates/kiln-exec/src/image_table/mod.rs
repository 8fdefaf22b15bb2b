//! Maps images to programs: the configuration of the exec evaluator.
//!
//! ```yaml
//! functions:
//! - function: set-labels
//!   images:
//!   - ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0
//! ```
//!
//! The program is `set-labels` in the directory of functions. Unknown keys are ignored.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use kiln_krm::image::{ImageRef, with_prefix};
use kiln_yaml::{NodeRef, parse_first};

/// Programs by image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImageTable {
    programs: HashMap<String, PathBuf>,
    duplicates: Vec<Duplicate>,
}

/// An image that is listed twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Duplicate {
    pub image: String,
    /// The program that runs: the one listed first.
    pub used: PathBuf,
    pub ignored: PathBuf,
}

/// Why a configuration is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    #[error("{0}")]
    Malformed(kiln_yaml::Error),
    /// A field has the wrong type.
    #[error("line {line}: {field} must be {wanted}")]
    Wrong {
        /// From 1.
        line: usize,
        field: String,
        wanted: &'static str,
    },
}

impl ImageTable {
    /// Parses a configuration whose programs are in `directory`. An empty file lists nothing.
    pub fn parse(text: &[u8], directory: &Path) -> Result<ImageTable, TableError> {
        let mut table = ImageTable::default();
        let document = parse_first(text).map_err(TableError::Malformed)?;
        let Some(document) = document.filter(|document| !document.root().is_null()) else {
            return Ok(table);
        };
        let root = document.root();
        if !root.is_mapping() {
            return Err(wrong(root, "the configuration", "a mapping"));
        }
        let functions = root
            .get("functions")
            .filter(|functions| !functions.is_null());
        let Some(functions) = functions else {
            return Ok(table);
        };
        if !functions.is_sequence() {
            return Err(wrong(functions, "functions", "a list"));
        }
        for (number, entry) in functions.items().enumerate() {
            let field = format!("functions[{number}]");
            if !entry.is_mapping() {
                return Err(wrong(entry, &field, "a mapping with function and images"));
            }
            let function = entry.get("function").and_then(NodeRef::as_text);
            let function = function.filter(|function| !function.is_empty());
            let function = function.ok_or_else(|| {
                let field = format!("{field}.function");
                wrong(entry, &field, "the name of a program")
            })?;
            let program = program(directory, function);
            let images = entry.get("images").filter(|images| !images.is_null());
            for (at, image) in images.into_iter().flat_map(NodeRef::items).enumerate() {
                let text = image.as_text().filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| {
                    let field = format!("{field}.images[{at}]");
                    wrong(image, &field, "the reference of an image")
                })?;
                table.add(text, &program);
            }
            if let Some(images) = images.filter(|images| !images.is_sequence()) {
                return Err(wrong(images, &format!("{field}.images"), "a list"));
            }
        }
        Ok(table)
    }

    fn add(&mut self, image: &str, program: &Path) {
        if let Some(used) = self.programs.get(image) {
            self.duplicates.push(Duplicate {
                image: image.to_owned(),
                used: used.clone(),
                ignored: program.to_owned(),
            });
            return;
        }
        self.programs.insert(image.to_owned(), program.to_owned());
    }

    /// The program of an image. A name without a registry also matches with `prefix`, and a reference with tag and
    /// digest also matches the digest alone, which identifies the image.
    pub fn find(&self, image: &str, prefix: &str) -> Option<&Path> {
        let without_tag = || {
            let reference = ImageRef::parse(image).ok()?;
            let digest = reference.digest.as_ref()?;
            reference.tag.as_ref()?;
            self.programs.get(&format!("{}@{digest}", reference.name()))
        };
        let prefixed = || match image.contains('/') || prefix.is_empty() {
            true => None,
            false => self.programs.get(&with_prefix(prefix, image)),
        };
        let found = self.programs.get(image).or_else(prefixed);
        found.or_else(without_tag).map(PathBuf::as_path)
    }

    pub fn len(&self) -> usize {
        self.programs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// In the order of the file.
    pub fn duplicates(&self) -> &[Duplicate] {
        &self.duplicates
    }

    /// The programs that are not files, sorted.
    pub fn missing(&self) -> Vec<&Path> {
        let programs = self.programs.values().map(PathBuf::as_path);
        let mut missing: Vec<&Path> = programs.filter(|program| !program.is_file()).collect();
        missing.sort();
        missing.dedup();
        missing
    }
}

/// Joins a name to a directory, as Go does: a name with a leading slash is below the directory too.
fn program(directory: &Path, function: &str) -> PathBuf {
    let mut path = directory.to_owned();
    for component in Path::new(function).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}

fn wrong(node: NodeRef<'_>, field: &str, wanted: &'static str) -> TableError {
    TableError::Wrong {
        line: node.position().map_or(1, |position| position.line),
        field: field.to_owned(),
        wanted,
    }
}

#[cfg(test)]
mod tests;
