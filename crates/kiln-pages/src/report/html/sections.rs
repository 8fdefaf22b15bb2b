//! The other sections: problems, review, resources, messages and environment.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::changes::change_word;
use super::file_anchor;
use super::pipeline::step_anchor;
use crate::parts::section;
use crate::report::model::{ReportModel, ReportProblem, ResultReport, ReviewNote};

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
        strong { (problem.severity) } " "
        @if let Some(file) = &problem.file {
            (place(file, problem.line, files)) " "
        }
        span.message { (problem.message) }
        @if let Some(step) = problem.step {
            " " a href={ "#" (step_anchor(step)) } { "step " (step + 1) }
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
        div.scroll {
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
            td { code { (note.before) } }
            td { code { (note.after) } }
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
        div.scroll {
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

/// How many steps printed or reported something.
pub(super) fn message_count(model: &ReportModel) -> usize {
    let is_silent =
        |stderr: &str, results: &[ResultReport]| stderr.is_empty() && results.is_empty();
    let steps = model.steps.iter();
    steps
        .filter(|step| !is_silent(&step.stderr, &step.results))
        .count()
}

/// Nothing if all functions were silent.
pub(super) fn messages(model: &ReportModel) -> Markup {
    if message_count(model) == 0 {
        return html! {};
    }
    let files = changed_files(model);
    let content = html! {
        @for (index, step) in model.steps.iter().enumerate() {
            @if !step.stderr.is_empty() || !step.results.is_empty() {
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
        strong { (item.severity) } " "
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
    let command: Vec<String> = model.command.iter().map(|word| quoted(word)).collect();
    let content = html! {
        dl {
            dt { "Command" } dd { code { (command.join(" ")) } }
            dt { "Program" } dd { (model.tool) ", " (model.platform) }
            dt { "Model" } dd { "version " (model.version) ", in the element with the id " code { "data" } }
        }
    };
    section("environment", "Environment", false, content)
}

/// An argument as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+~".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
