//! The other sections: problems, review, resources, messages and environment.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::changes::change_word;
use super::file_anchor;
use super::pipeline::step_anchor;
use crate::parts::{badge, section};
use crate::report::command_words::command_line;
use crate::report::model::{
    LockFileState, ReportAction, ReportModel, ReportProblem, ResultReport, ReviewNote, StepReport,
};

/// Nothing if there are none.
pub(super) fn problems(model: &ReportModel) -> Markup {
    if model.problems.is_empty() {
        return html! {};
    }
    let files = changed_files(model);
    let content = html! {
        ul.problems {
            @for problem in &model.problems {
                li class=(problem.severity) { (problem_text(problem, &files)) }
            }
        }
    };
    section("problems", "Problems", true, content)
}

fn problem_text(problem: &ReportProblem, files: &BTreeSet<&str>) -> Markup {
    html! {
        (badge(&problem.severity)) " "
        @if let Some(file) = &problem.file {
            (place(file, problem.line, files)) " "
        }
        span.message { (problem.text()) }
        @if let Some(step) = problem.step {
            " " a.step href={ "#" (step_anchor(step)) } { "step " (step + 1) }
        }
        @if let Some(hint) = &problem.hint {
            br; small { "Hint: " (hint) }
        }
    }
}

/// `file:line`, with a link to the diff if there is one.
fn place(file: &str, line: Option<usize>, files: &BTreeSet<&str>) -> Markup {
    let text = match line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    };
    html! {
        @if files.contains(file) {
            a href={ "#" (file_anchor(file)) } { code { (text) } }
        } @else {
            code { (text) }
        }
    }
}

fn changed_files(model: &ReportModel) -> BTreeSet<&str> {
    model.files.iter().map(|file| file.path.as_str()).collect()
}

/// Nothing if there is nothing to look at.
pub(super) fn review(model: &ReportModel) -> Markup {
    if model.review.is_empty() {
        return html! {};
    }
    let files = changed_files(model);
    let content = html! {
        div.scroll tabindex="0" role="group" aria-label="Changes to review" {
            table {
                thead {
                    tr {
                        th scope="col" { "Topic" }
                        th scope="col" { "Resource" }
                        th scope="col" { "Field" }
                        th scope="col" { "Before" }
                        th scope="col" { "After" }
                        th scope="col" { "File" }
                    }
                }
                tbody {
                    @for note in &model.review { (review_row(note, &files)) }
                }
            }
        }
    };
    section("review", "Review", true, content)
}

fn review_row(note: &ReviewNote, files: &BTreeSet<&str>) -> Markup {
    html! {
        tr {
            th scope="row" { (note.topic) }
            td { (note.resource) }
            td { code { (note.field) } }
            td { code.removed { (note.before) } }
            td { code.added { (note.after) } }
            td { (place(&note.file, None, files)) }
        }
    }
}

/// Nothing if no resource was touched.
pub(super) fn resources(model: &ReportModel) -> Markup {
    if model.resources.is_empty() {
        return html! {};
    }
    let files = changed_files(model);
    let content = html! {
        div.scroll tabindex="0" role="group" aria-label="Resources" {
            table {
                thead {
                    tr {
                        th scope="col" { "Resource" }
                        th scope="col" { "File" }
                        th scope="col" { "Change" }
                        th scope="col" { "Changed by steps" }
                    }
                }
                tbody {
                    @for resource in &model.resources {
                        tr {
                            th scope="row" { (resource.title()) }
                            td { (place(&resource.file, None, &files)) }
                            td { (change_word(resource.change)) }
                            td {
                                @for step in &resource.steps {
                                    a href={ "#" (step_anchor(*step)) } { (step + 1) } " "
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    section("resources", "Resources", false, content)
}

/// Nothing if all functions were silent.
pub(super) fn messages(model: &ReportModel) -> Markup {
    if !model.steps.iter().any(StepReport::has_messages) {
        return html! {};
    }
    let files = changed_files(model);
    let content = html! {
        @for (index, step) in model.steps.iter().enumerate() {
            @if step.has_messages() {
                h3 {
                    a href={ "#" (step_anchor(index)) } { "Step " (index + 1) }
                    " " code { (step.function) }
                }
                ul.problems {
                    @for item in &step.results {
                        li class=(item.severity) { (result_text(item, &files)) }
                    }
                }
                @if !step.stderr.is_empty() {
                    pre tabindex="0" { (step.stderr) }
                }
            }
        }
    };
    section("messages", "Messages", false, content)
}

fn result_text(item: &ResultReport, files: &BTreeSet<&str>) -> Markup {
    html! {
        (badge(&item.severity)) " "
        @if !item.file.is_empty() { (place(&item.file, item.line, files)) " " }
        span.message { (item.message) }
        @if !item.resource.is_empty() { " (" (item.resource) ")" }
        @if !item.field.is_empty() { " " code { (item.field) } }
        @if !item.current_value.is_empty() || !item.proposed_value.is_empty() {
            " " code { (item.current_value) } " → " code { (item.proposed_value) }
        }
    }
}

/// How to do this again.
pub(super) fn environment(model: &ReportModel) -> Markup {
    let lock = match &model.lock {
        None => html! { "none: a tag may stand for another version next time" },
        Some(lock) => html! {
            code { (lock.file) } ", "
            (match lock.state {
                LockFileState::Complete => "which had all functions",
                LockFileState::Updated => "which this run updated",
            })
            ", sha256 " code { (lock.sha256) }
        },
    };
    let content = html! {
        dl.facts {
            dt { "Command" } dd { pre.command tabindex="0" { (command_line(&model.command)) } }
            dt { "Program" } dd { (model.tool) }
            dt { "Platform" } dd { (model.platform) }
            @if model.action != ReportAction::Eval { dt { "Lock file" } dd { (lock) } }
            dt { "Data" } dd { "version " (model.version) ", in the element with the id " code { "data" } }
        }
    };
    section("environment", "Environment", true, content)
}
