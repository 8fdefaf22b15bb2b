//! A tree of cases in one file: a JSON object per line, each with a directory and its files.
//!
//! The cases recorded for this project are small and many. Packed, a tree is one text file whose diff shows which case
//! changed. Files with bytes that are not UTF-8 are kept as base64.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::case::EXPECTED;

/// Flags of `conformance pack`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory at the top of a tree of cases.
    #[arg(value_name = "DIR")]
    tree: PathBuf,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// A directory of the tree: a case with everything below it, or a directory above cases with its own files.
#[derive(Serialize, Deserialize)]
struct Directory {
    directory: PathBuf,
    files: BTreeMap<PathBuf, PackedContent>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PackedContent {
    Text(String),
    Binary { base64: String },
}

/// Packs the tree that the command line names.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut directories = BTreeMap::new();
    collect(&args.tree, &args.tree, &mut directories)?;
    let mut text = Vec::new();
    for (directory, files) in directories {
        serde_json::to_writer(&mut text, &Directory { directory, files })?;
        text.write_all(b"\n")?;
    }
    fs::write(&args.out, text).with_context(|| format!("cannot write {}", args.out.display()))
}

fn collect(
    tree: &Path,
    directory: &Path,
    directories: &mut BTreeMap<PathBuf, BTreeMap<PathBuf, PackedContent>>,
) -> Result<()> {
    let is_case = directory.join(EXPECTED).is_dir();
    let mut files = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        let entries = fs::read_dir(&next);
        for entry in entries.with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            match (path.is_dir(), is_case) {
                (true, true) => pending.push(path),
                (true, false) => collect(tree, &path, directories)?,
                (false, _) => {
                    let bytes = fs::read(&path)?;
                    files.insert(
                        path.strip_prefix(directory)?.to_owned(),
                        PackedContent::new(bytes),
                    );
                }
            }
        }
    }
    if !files.is_empty() {
        directories.insert(directory.strip_prefix(tree)?.to_owned(), files);
    }
    Ok(())
}

impl PackedContent {
    fn new(bytes: Vec<u8>) -> PackedContent {
        String::from_utf8(bytes).map_or_else(
            |error| PackedContent::Binary {
                base64: STANDARD.encode(error.as_bytes()),
            },
            PackedContent::Text,
        )
    }

    fn bytes(self) -> Result<Vec<u8>> {
        Ok(match self {
            PackedContent::Text(text) => text.into_bytes(),
            PackedContent::Binary { base64 } => STANDARD.decode(base64)?,
        })
    }
}

/// Unpacks a tree into a temporary directory. The tree is named after the file and its directory,
/// because lists of cases name a case by the end of its path.
pub(super) fn unpack(file: &Path) -> Result<TempDir> {
    let top = TempDir::new()?;
    let file = file.canonicalize()?;
    let above = file.parent().and_then(Path::file_name);
    let (Some(above), Some(name)) = (above, file.file_stem()) else {
        bail!("a file at the root of the file system cannot be unpacked");
    };
    let tree = top.path().join(above).join(name);
    for (index, line) in fs::read_to_string(file)?.lines().enumerate() {
        unpack_directory(line, &tree).with_context(|| format!("line {}", index + 1))?;
    }
    Ok(top)
}

fn unpack_directory(line: &str, tree: &Path) -> Result<()> {
    let Directory { directory, files } = serde_json::from_str(line)?;
    for (path, content) in files {
        let path = directory.join(path);
        let is_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        ensure!(is_inside, "{} is outside the tree", path.display());
        let path = tree.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content.bytes()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
