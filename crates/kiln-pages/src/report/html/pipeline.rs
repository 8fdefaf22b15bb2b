//! The sections of the pipeline and of the time it took.

use maud::{Markup, html};

use crate::chart::{TimeBar, waterfall};
use crate::parts::{self, duration_text};
use crate::report::model::{ReportModel, StepKind, StepReport, StepStatus};

/// Nothing if no function ran.
pub(super) fn section(model: &ReportModel) -> Markup {
    if model.steps.is_empty() {
        return html! {};
    }
    let content = html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "Step" }
                        th scope="col" { "Status" }
                        th scope="col" { "Package" }
                        th scope="col" { "Function" }
                        th scope="col" { "Role" }
                        th.number scope="col" { "Resources" }
                        th.number scope="col" { "Changed" }
                        th.number scope="col" { "Time" }
                    }
                }
                tbody {
                    @for (index, step) in model.steps.iter().enumerate() {
                        (step_row(step, index))
                    }
                }
            }
        }
    };
    parts::section("pipeline", "Pipeline", true, content)
}

fn step_row(step: &StepReport, index: usize) -> Markup {
    html! {
        tr id=(step_anchor(index)) class=(status_word(step.status)) {
            th scope="row" { (index + 1) }
            td { (status_word(step.status)) }
            td { (step.package) }
            td {
                code { (step.function) }
                @if let Some(identity) = &step.identity {
                    br; small { (identity) }
                }
            }
            td { (kind_word(step.kind)) }
            td.number { (step.resources_in) " → " (step.resources_out) }
            td.number { (step.touched.len()) }
            td.number { (duration_text(step.duration_us)) }
        }
    }
}

/// A waterfall, and the same numbers as a table.
pub(super) fn time_section(model: &ReportModel) -> Markup {
    if model.steps.is_empty() && model.phases.is_empty() {
        return html! {};
    }
    let phases = model.phases.iter().map(|phase| TimeBar {
        label: &phase.name,
        class: "phase",
        link: "#time".to_owned(),
        start_us: phase.start_us,
        duration_us: phase.duration_us,
    });
    let steps = model.steps.iter().enumerate();
    let steps = steps.map(|(index, step)| TimeBar {
        label: &step.function,
        class: status_word(step.status),
        link: format!("#{}", step_anchor(index)),
        start_us: step.start_us,
        duration_us: step.duration_us,
    });
    let mut bars: Vec<TimeBar<'_>> = phases.chain(steps).collect();
    bars.sort_by_key(|bar| bar.start_us);
    let content = html! {
        (waterfall(&bars, model.duration_us, "When each part ran"))
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "Part" }
                        th.number scope="col" { "Began after" }
                        th.number scope="col" { "Took" }
                    }
                }
                tbody {
                    @for bar in &bars {
                        tr {
                            th scope="row" { a href=(bar.link) { (bar.label) } }
                            td.number { (duration_text(bar.start_us)) }
                            td.number { (duration_text(bar.duration_us)) }
                        }
                    }
                }
            }
        }
    };
    parts::section("time", "Time", true, content)
}

pub(super) fn step_anchor(index: usize) -> String {
    format!("step-{}", index + 1)
}

fn status_word(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Passed => "passed",
        StepStatus::Failed => "failed",
    }
}

fn kind_word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Mutator => "mutator",
        StepKind::Validator => "validator",
    }
}
