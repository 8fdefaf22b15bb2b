//! The section of changed files, each with its diff.

use std::collections::HashSet;

use kiln_krm::kptfile::FILE_NAME;
use maud::{Markup, html};

use super::file_anchor;
use crate::parts;
use crate::report::model::{FileReport, LineCounts, ReportChange, ReportModel};

/// Diffs with so many lines are open at first; the rest is a click away.
const OPEN_LINES: usize = 200;

/// Nothing if no file changed. `lines` are those of all files of the report.
pub(super) fn section(model: &ReportModel, lines: LineCounts) -> Markup {
    if model.files.is_empty() {
        return html! {};
    }
    let title = format!("Changes (+{} −{})", lines.added, lines.removed);
    let mut anchors = HashSet::new();
    let content = html! {
        @for (file, is_open) in with_open(&in_order(model)) {
            // Two paths may be the same without what is secret.
            @let anchor = Some(file_anchor(&file.path)).filter(|one| anchors.insert(one.clone()));
            (file_details(file, anchor, is_open))
        }
    };
    parts::section("changes", &title, true, content)
}

/// The Kptfiles come last: most of their changes are the status of the render.
fn in_order(model: &ReportModel) -> Vec<&FileReport> {
    let is_kptfile = |file: &FileReport| file.path.rsplit('/').next() == Some(FILE_NAME);
    let (kptfiles, mut files): (Vec<&FileReport>, Vec<&FileReport>) =
        model.files.iter().partition(|file| is_kptfile(file));
    files.extend(kptfiles);
    files
}

/// The files, and which are open at first: the first ones, and always one.
fn with_open<'a>(files: &[&'a FileReport]) -> Vec<(&'a FileReport, bool)> {
    let mut lines = 0;
    let open = files.iter().enumerate().map(|(index, file)| {
        lines += file.lines.added + file.lines.removed;
        (*file, index == 0 || lines <= OPEN_LINES)
    });
    open.collect()
}

fn file_details(file: &FileReport, anchor: Option<String>, is_open: bool) -> Markup {
    html! {
        details.file id=[anchor] open[is_open] {
            summary {
                h3 { code { (file.path) } }
                span.change { (change_word(file.change)) }
                span.added { "+" (file.lines.added) }
                span.removed { "−" (file.lines.removed) }
            }
            @if file.diff.is_empty() {
                p { "The diff is not in this report." }
            } @else {
                pre.diff tabindex="0" { (diff_lines(&file.diff)) }
            }
        }
    }
}

fn diff_lines(diff: &str) -> Markup {
    html! {
        @for line in diff.lines() {
            @match line.as_bytes().first() {
                Some(b'+') => ins { (line) "\n" },
                Some(b'-') => del { (line) "\n" },
                Some(b'@') => span.hunk { (line) "\n" },
                _ => { (line) "\n" }
            }
        }
    }
}

pub(super) fn change_word(change: ReportChange) -> &'static str {
    match change {
        ReportChange::Added => "added",
        ReportChange::Changed => "changed",
        ReportChange::Deleted => "deleted",
        ReportChange::Unchanged => "unchanged",
    }
}
