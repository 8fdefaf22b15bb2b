//! The report as one self-contained HTML page: no script runs, nothing is loaded from elsewhere, and it can be printed.

mod changes;
mod pipeline;
mod sections;
mod smaller;

use maud::{DOCTYPE, Markup, html};

use super::model::{ReportModel, Verdict};
use super::totals::Totals;
use crate::parts::{duration_text, tile};
use crate::raw;

/// The page, whole unless it would be too large to open.
pub(super) fn page(model: &ReportModel) -> String {
    let totals = Totals::of(model);
    let mut page = page_of(model, &totals);
    for model in smaller::smaller(model) {
        if page.len() <= smaller::MOST_PAGE_BYTES {
            break;
        }
        page = page_of(&model, &totals);
    }
    page
}

/// The rows of a model, which may be a part of the report, and the numbers of the whole report.
fn page_of(model: &ReportModel, totals: &Totals) -> String {
    let title = format!("{}: {}", model.package_title(), totals.headline);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // No request leaves the page, whatever a function managed to put into a text.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                title { (title) }
                (raw::style())
            }
            body {
                (header(model, totals))
                (nav(totals))
                main {
                    (sections::problems(model))
                    (sections::review(model))
                    (changes::section(model, totals.lines))
                    (pipeline::section(model))
                    (pipeline::time_section(model))
                    (sections::resources(model))
                    (sections::messages(model))
                    (sections::environment(model))
                }
                (raw::data(model))
            }
        }
    };
    page.into_string()
}

fn header(model: &ReportModel, totals: &Totals) -> Markup {
    let lines = totals.lines;
    html! {
        header class=(verdict_class(model.verdict)) {
            h1 { (totals.headline) }
            p {
                "Package " strong { (model.package_title()) }
                @if model.directory != model.package { " in " code { (model.directory) } }
                ", "
                time datetime=(model.started) { (model.started) }
            }
            dl.tiles {
                (tile("functions", &totals.functions.to_string()))
                (tile("cached", &totals.cached.to_string()))
                (tile("packages", &totals.packages.to_string()))
                (tile("resources changed", &totals.resources.to_string()))
                (tile("files changed", &totals.files.to_string()))
                (tile("lines", &format!("+{} −{}", lines.added, lines.removed)))
                (tile("errors", &totals.errors.to_string()))
                (tile("warnings", &totals.warnings.to_string()))
                (tile("time", &duration_text(model.duration_us)))
            }
            @for note in &model.notes {
                p.note { (note) }
            }
        }
    }
}

fn nav(totals: &Totals) -> Markup {
    let sections = [
        ("problems", "Problems", totals.problems),
        ("review", "Review", totals.review),
        ("changes", "Changes", totals.files),
        ("pipeline", "Pipeline", totals.functions),
        ("time", "Time", totals.functions + totals.phases),
        ("resources", "Resources", totals.resources),
        ("messages", "Messages", totals.messages),
    ];
    html! {
        nav aria-label="Sections" {
            @for (id, name, count) in sections {
                @if count > 0 {
                    a href={ "#" (id) } { (name) " " span.count { (count) } }
                }
            }
            a href="#environment" { "Environment" }
        }
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Differs => "differs",
    }
}

/// The anchor of a file: its path, in characters that are valid in addresses.
fn file_anchor(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let mut anchor = String::from("file-");
    for character in path.chars() {
        match is_plain(character) {
            true => anchor.push(character),
            // The second mark ends the number, so that two paths have two anchors.
            false => anchor.push_str(&format!("~{:x}~", u32::from(character))),
        }
    }
    anchor
}
