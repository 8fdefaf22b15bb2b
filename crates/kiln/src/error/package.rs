//! Errors of packages and standard input: kpt's messages, or in kiln's own mode the position and the text around it.

use anyhow::{Error, anyhow};
use kiln_krm::package::{FileError, PackageError};
use kiln_krm::read::ReadError;

use super::position::PositionDisplay;
use super::{CommandError, ErrorClass, FilePosition};
use crate::compat::Compat;
use crate::package::Location;

/// A directory cannot be listed.
pub(crate) fn list_error(location: &Location, error: &FileError) -> Error {
    let (path, reason) = error.parts();
    anyhow!("open {}: {reason}", location.absolute(path))
}

/// A file cannot be read or parsed.
pub(crate) fn file_error(compat: Compat, location: &Location, error: &PackageError) -> Error {
    match error {
        PackageError::File(error) => {
            let (path, reason) = error.parts();
            let absolute = location.absolute(path);
            match (compat, error) {
                (Compat::Kiln, _) => anyhow!("{}: {reason}", location.show(path)),
                (_, FileError::IsDirectory(_)) => anyhow!("{absolute}: read {absolute}: {reason}"),
                _ => anyhow!("{absolute}: open {absolute}: {reason}"),
            }
        }
        PackageError::Read { path, error } => {
            let absolute = location.absolute(path);
            parse_error(compat, &location.show(path), error, Some(&absolute)).into()
        }
    }
}

/// Standard input cannot be parsed.
pub(crate) fn stdin_error(compat: Compat, error: &ReadError) -> Error {
    parse_error(compat, "<stdin>", error, None).into()
}

/// kpt names a file by its absolute path, and does not name standard input.
fn parse_error(
    compat: Compat,
    shown: &str,
    error: &ReadError,
    absolute: Option<&str>,
) -> CommandError {
    let message = match (compat, error, absolute) {
        (
            Compat::Kiln,
            ReadError::Malformed {
                error,
                lines_before,
                ..
            },
            _,
        ) => error.report(shown, *lines_before),
        (Compat::Kiln, error, _) => format!("{shown}: {error}"),
        (_, error, Some(absolute)) => format!("{absolute}: {error}"),
        (_, error, None) => error.to_string(),
    };
    CommandError {
        class: ErrorClass::Input,
        position: parse_position(shown, error).filter(|_| compat == Compat::Kiln),
        ..CommandError::new(format!("error: {message}"))
    }
}

/// The position of malformed YAML in a file. The report of the error contains it.
pub(super) fn parse_position(file: &str, error: &ReadError) -> Option<FilePosition> {
    match error {
        ReadError::Malformed {
            error,
            lines_before,
            ..
        } => Some(yaml_position(file, error, *lines_before)),
        _ => None,
    }
}

/// The same for YAML that begins after `lines_before` lines of the file.
pub(super) fn yaml_position(
    file: &str,
    error: &kiln_yaml::Error,
    lines_before: usize,
) -> FilePosition {
    FilePosition {
        file: file.to_owned(),
        line: error.position().line + lines_before,
        column: error.position().column,
        display: PositionDisplay::InMessage,
    }
}
