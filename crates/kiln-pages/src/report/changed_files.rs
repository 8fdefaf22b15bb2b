//! The files that a run changed: their diffs, what a reviewer should look at, and what happened to each resource.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

use kiln_krm::secrets::SecretMask;
use kiln_yaml::{Document, parse_until_error};
use similar::{DiffTag, TextDiff};

use super::model::{FileReport, LineCounts, ReportChange, ReportModel, ReviewNote};
use super::pairs::VersionPairs;
use super::resource_changes::{ResourceChange, ResourceChanges, resource_changes};
use super::review::review_notes;
use super::secrets::mask_versions;
use crate::parts::counted;

/// All diffs together; the page has to open in a browser.
const MOST_DIFF_BYTES: usize = 12 << 20;

/// More notes than anybody reads; the diffs have the rest.
const MOST_NOTES: usize = 200;

/// Fewer files are not worth a thread.
const LEAST_SHARE: usize = 50;

/// A file before and after the run.
pub struct ChangedFile {
    /// Relative to the package.
    pub path: String,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// One version of a file.
pub(super) struct FileVersion<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) documents: Vec<Document>,
}

impl FileVersion<'_> {
    fn of(bytes: Option<&[u8]>) -> FileVersion<'_> {
        let bytes = bytes.unwrap_or_default();
        FileVersion {
            text: decoded(bytes),
            documents: parse_until_error(bytes).0,
        }
    }
}

/// The text as the parser reads it: the spans of its nodes are those of this text.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let words = |bytes: &[u8], word: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let words: Vec<u16> = pairs.iter().map(|pair| word(*pair)).collect();
        Cow::Owned(String::from_utf16_lossy(&words))
    };
    match bytes {
        [0xef, 0xbb, 0xbf, text @ ..] => String::from_utf8_lossy(text),
        [0xff, 0xfe, text @ ..] => words(text, u16::from_le_bytes),
        [0xfe, 0xff, text @ ..] => words(text, u16::from_be_bytes),
        text => String::from_utf8_lossy(text),
    }
}

/// What is found in one file.
struct FileFindings {
    report: FileReport,
    notes: Vec<ReviewNote>,
    changes: Vec<ResourceChange>,
    has_secrets: bool,
}

fn find(file: &ChangedFile, secrets: &SecretMask) -> FileFindings {
    let before = FileVersion::of(file.before.as_deref());
    let after = FileVersion::of(file.after.as_deref());
    let pairs = VersionPairs::of(&before.documents, &after.documents);
    let changes = resource_changes(&pairs);
    let notes = review_notes(&file.path, pairs);
    let (before, after, has_secrets) = mask_versions(&before, &after, secrets);
    let (diff, lines) = unified(&before, &after);
    FileFindings {
        report: FileReport {
            path: file.path.clone(),
            change: change_of(file),
            lines,
            diff,
        },
        notes,
        changes,
        has_secrets,
    }
}

/// Looks at files on several threads, with the result of one.
fn find_all(files: &[ChangedFile], secrets: &SecretMask) -> Vec<FileFindings> {
    let find_each = |files: &[ChangedFile]| -> Vec<FileFindings> {
        files.iter().map(|file| find(file, secrets)).collect()
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = files.len().div_ceil(threads).max(LEAST_SHARE);
    thread::scope(|scope| {
        let started: Vec<_> = files
            .chunks(share)
            .map(|files| {
                let work = move || find_each(files);
                (files, thread::Builder::new().spawn_scoped(scope, work))
            })
            .collect();
        let found = started
            .into_iter()
            .flat_map(|(files, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => find_each(files),
            });
        found.collect()
    })
}

/// Adds the files, and returns what happened to the resources in them.
pub(super) fn add_files(
    model: &mut ReportModel,
    files: &[ChangedFile],
    secrets: &SecretMask,
) -> ResourceChanges {
    let mut changes = ResourceChanges::default();
    let mut budget = MOST_DIFF_BYTES;
    let (mut masked, mut left_out) = (0, 0);
    for found in find_all(files, secrets) {
        let mut report = found.report;
        model.review.extend(found.notes);
        changes.add(&report.path, found.changes);
        masked += usize::from(found.has_secrets);
        if report.diff.len() > budget {
            report.diff.clear();
            left_out += 1;
        }
        budget -= report.diff.len();
        model.files.push(report);
    }
    let unlisted = model.review.len().saturating_sub(MOST_NOTES);
    model.review.truncate(MOST_NOTES);
    if masked > 0 {
        let files = counted(masked, "file");
        let note = format!("The values of Secrets in {files} are not shown.");
        model.notes.push(note);
    }
    if left_out > 0 {
        let files = counted(left_out, "file");
        model.notes.push(format!(
            "The diffs of {files} are left out, because the report would be too large. \
             `kiln fn render --dry-run` prints all of them."
        ));
    }
    if unlisted > 0 {
        let changes = counted(unlisted, "change");
        model.notes.push(format!(
            "The list of changes to review leaves out {changes}; the diffs have them."
        ));
    }
    changes
}

fn change_of(file: &ChangedFile) -> ReportChange {
    match (&file.before, &file.after) {
        (None, _) => ReportChange::Added,
        (_, None) => ReportChange::Deleted,
        _ => ReportChange::Changed,
    }
}

/// The hunks of a unified diff, and the numbers of lines.
fn unified(before: &str, after: &str) -> (String, LineCounts) {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = LineCounts::default();
    for operation in diff.ops() {
        let (tag, before, after) = operation.as_tag_tuple();
        if tag != DiffTag::Equal {
            lines.removed += before.len();
            lines.added += after.len();
        }
    }
    (diff.unified_diff().context_radius(3).to_string(), lines)
}
