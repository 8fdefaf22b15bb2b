//! What is wrong with a package, for people: kpt's words, or the place and the text around it.

use anyhow::{Error, anyhow};
use kiln_krm::package::{FileError, FileSource, PackageError};
use kiln_krm::read::ReadError;
use kiln_package::DiskFiles;
use kiln_yaml::Position;

use super::Location;
use crate::compat::Compat;

/// A directory cannot be listed.
pub(super) fn of_listing(location: &Location, error: &FileError) -> Error {
    let (path, reason) = parts(error);
    anyhow!("open {}: {reason}", location.absolute(path))
}

/// A file cannot be read, or not be understood.
pub(super) fn of_file(
    compat: Compat,
    location: &Location,
    files: &DiskFiles,
    error: &PackageError,
) -> Error {
    match error {
        PackageError::File(error) => {
            let (path, reason) = parts(error);
            let absolute = location.absolute(path);
            match (compat, error) {
                (Compat::Kiln, _) => anyhow!("{}: {reason}", location.show(path)),
                (_, FileError::IsDirectory(_)) => anyhow!("{absolute}: read {absolute}: {reason}"),
                _ => anyhow!("{absolute}: open {absolute}: {reason}"),
            }
        }
        PackageError::Read { path, error } => {
            // Read once more only to show the line.
            let bytes = files.read(path).unwrap_or_default();
            let absolute = location.absolute(path);
            of_content(compat, &location.show(path), &bytes, error, Some(&absolute))
        }
    }
}

/// Bytes are not resources. kpt names a file by its absolute path and standard input not at all.
pub(super) fn of_content(
    compat: Compat,
    shown: &str,
    bytes: &[u8],
    error: &ReadError,
    absolute: Option<&str>,
) -> Error {
    match (compat, error, absolute) {
        (
            Compat::Kiln,
            ReadError::Malformed {
                error,
                lines_before,
                ..
            },
            _,
        ) => {
            let Position { line, column } = error.position();
            anyhow!(with_snippet(
                shown,
                line + lines_before,
                column,
                error.message(),
                bytes
            ))
        }
        (Compat::Kiln, error, _) => anyhow!("{shown}: {error}"),
        (_, error, Some(absolute)) => anyhow!("{absolute}: {error}"),
        (_, error, None) => anyhow!("{error}"),
    }
}

fn parts(error: &FileError) -> (&str, &str) {
    match error {
        FileError::NotFound(path) => (path, "no such file or directory"),
        FileError::IsDirectory(path) => (path, "is a directory"),
        FileError::Failed { path, reason } => (path, reason),
    }
}

/// The widest line that is shown whole.
const WIDEST: usize = 160;

/// `file:line:column: what`, the line in question and a caret below the place.
///
/// A document's own report counts lines from the document; here they count from the file's first.
fn with_snippet(file: &str, line: usize, column: usize, message: &str, bytes: &[u8]) -> String {
    let head = format!("{file}:{line}:{column}: {message}");
    let text = String::from_utf8_lossy(bytes);
    let Some(snippet) = text.lines().nth(line.saturating_sub(1)) else {
        return head;
    };
    if snippet.trim().is_empty() || snippet.chars().count() > WIDEST {
        return head;
    }
    let before = snippet.chars().take(column.saturating_sub(1));
    let pad: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let gutter = " ".repeat(line.to_string().len());
    // Nothing in a file may speak to the terminal.
    let shown: String = snippet
        .chars()
        .map(|c| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    format!("{head}\n{line} | {shown}\n{gutter} | {pad}^")
}
