//! The differences between the files of two packages, in git's format.

use std::collections::BTreeSet;
use std::fmt::Write;

use kiln_task::{Contents, FileMode, PackageFile, PackagePath};
use similar::TextDiff;

/// Compares all files.
pub(crate) fn contents_diff(old: &Contents, new: &Contents) -> String {
    let paths: BTreeSet<&PackagePath> = old.paths().chain(new.paths()).collect();
    let mut text = String::new();
    for path in paths {
        let sides = (old.get(path.as_str()), new.get(path.as_str()));
        if sides.0 != sides.1 {
            diff_file(&mut text, path.as_str(), sides.0, sides.1);
        }
    }
    text
}

/// Adds the difference of one file in git's format.
fn diff_file(out: &mut String, path: &str, old: Option<&PackageFile>, new: Option<&PackageFile>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "diff --git a/{path} b/{path}");
    match (old.map(|file| file.mode), new.map(|file| file.mode)) {
        (None, Some(mode)) => {
            let _ = writeln!(out, "new file mode {}", mode.as_octal());
        }
        (Some(mode), None) => {
            let _ = writeln!(out, "deleted file mode {}", mode.as_octal());
        }
        (Some(old), Some(new)) if old != new => {
            let _ = writeln!(out, "old mode {}", FileMode::as_octal(old));
            let _ = writeln!(out, "new mode {}", FileMode::as_octal(new));
        }
        _ => {}
    }
    let bytes = |file: Option<&PackageFile>| file.map_or_else(Vec::new, |file| file.bytes.to_vec());
    // As in git, a tab ends a name that contains spaces.
    let end = if path.contains(' ') { "\t" } else { "" };
    let name = |prefix: &str, file: Option<&PackageFile>| match file {
        Some(_) => format!("{prefix}/{path}{end}"),
        None => "/dev/null".to_owned(),
    };
    let names = (name("a", old), name("b", new));
    match (String::from_utf8(bytes(old)), String::from_utf8(bytes(new))) {
        (Ok(old), Ok(new)) => {
            let diff = TextDiff::from_lines(&old, &new);
            let _ = write!(out, "{}", diff.unified_diff().header(&names.0, &names.1));
        }
        _ => {
            let (old, new) = (names.0.trim_end(), names.1.trim_end());
            let _ = writeln!(out, "Binary files {old} and {new} differ");
        }
    }
}
