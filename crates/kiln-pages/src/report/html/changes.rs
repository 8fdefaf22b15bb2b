//! The section of changed files, each with its diff.

use maud::{Markup, html};

use super::file_anchor;
use crate::parts;
use crate::report::model::{FileReport, ReportChange, ReportModel};

/// Diffs of so many files are open at first; the rest is a click away.
const OPEN_FILES: usize = 20;

/// Nothing if no file changed.
pub(super) fn section(model: &ReportModel) -> Markup {
    if model.files.is_empty() {
        return html! {};
    }
    let lines = model.lines();
    let title = format!("Changes (+{} −{})", lines.added, lines.removed);
    let content = html! {
        @for (index, file) in model.files.iter().enumerate() {
            (file_details(file, index < OPEN_FILES))
        }
    };
    parts::section("changes", &title, true, content)
}

fn file_details(file: &FileReport, is_open: bool) -> Markup {
    html! {
        details.file id=(file_anchor(&file.path)) open[is_open] {
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
