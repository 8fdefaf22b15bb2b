//! The line about the files that a command changed or would change. kpt has none.

use kiln_krm::package::{FileAction, FileChange};

use crate::compat::Compat;
use crate::ui::{Record, Ui};

/// No more files than this are listed.
const MAX_LISTED: usize = 10;

/// Whether the changes were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    Yes,
    /// `--check` and `--dry-run` write nothing.
    No,
}

/// Prints which files changed.
pub(crate) fn report(ui: &Ui, changes: &[FileChange], made: Made) {
    let mut names: Vec<String> = changes.iter().map(name).collect();
    names.sort();
    report_names(ui, &names, made);
}

/// Prints which of these files changed.
pub(crate) fn report_names(ui: &Ui, names: &[String], made: Made) {
    if ui.compat() != Compat::Kiln {
        return;
    }
    let message = text(names, made);
    let record = Record {
        event: "changes",
        files: names.iter().map(String::as_str).collect(),
        message: Some(&message),
        ..Record::default()
    };
    ui.log(&record, &message);
}

/// `Changed 2 files: Kptfile, mysql/deployment.yaml`
pub(crate) fn text(names: &[String], made: Made) -> String {
    let verb = match made {
        Made::Yes => "Changed",
        Made::No => "Would change",
    };
    let count = match names.len() {
        0 => return "No changes.".to_owned(),
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let listed = names.get(..MAX_LISTED).unwrap_or(names).join(", ");
    let rest = match names.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{verb} {count}: {listed}{rest}")
}

pub(crate) fn name(change: &FileChange) -> String {
    match change.action {
        FileAction::Write(_) => change.path.clone(),
        FileAction::Delete => format!("{} (deleted)", change.path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: usize, expected: &str) {
        let names: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        assert_eq!(text(&names, Made::Yes), expected);
    }

    #[test]
    fn files_are_counted_and_listed() {
        check(0, "No changes.");
        check(1, "Changed 1 file: 1");
        check(2, "Changed 2 files: 1, 2");
        check(10, "Changed 10 files: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
        check(
            12,
            "Changed 12 files: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more",
        );
    }
}
