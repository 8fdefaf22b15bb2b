//! The sections of the pipeline and of the time it took.

use maud::{Markup, html};

use crate::chart::{TimeBar, time_bar, waterfall};
use crate::parts::{self, badge, counted, duration_text};
use crate::report::model::{ReportModel, StepKind, StepReport, StepStatus};
use crate::report::packages::PackageSteps;

/// Nothing if no function ran.
pub(super) fn section(model: &ReportModel) -> Markup {
    if model.steps.is_empty() {
        return html! {};
    }
    let content = html! {
        @for package in model.packages() {
            @if !package.title.is_empty() {
                h3.package { (package.title) }
            }
            (package_steps(&package, model.duration_us))
        }
    };
    parts::section("pipeline", "Pipeline", true, content)
}

/// The steps of one package, in order.
fn package_steps(package: &PackageSteps<'_>, total_us: u64) -> Markup {
    let skipped = package.skipped().len();
    html! {
        div.scroll tabindex="0" role="group" aria-label="Steps" {
            table.steps {
                thead {
                    tr {
                        th scope="col" { "Step" }
                        th scope="col" { "Status" }
                        th.wide scope="col" { "Function" }
                        th.number scope="col" { "Resources" }
                        th.number scope="col" { "Changed" }
                        th.number scope="col" { "Time" }
                        th.when scope="col" { "When" }
                    }
                }
                tbody {
                    @for (index, step) in &package.steps {
                        (step_row(step, *index, total_us))
                    }
                }
            }
        }
        @if skipped > 0 {
            p.note { (counted(skipped, "more step")) " of this pipeline did not run." }
        }
    }
}

fn step_row(step: &StepReport, index: usize, total_us: u64) -> Markup {
    html! {
        tr id=(step_anchor(index)) class=(status_word(step.status)) {
            th scope="row" { (index + 1) }
            td { (badge(status_word(step.status))) }
            td.wide {
                code { (step.function) }
                @if !step.name.is_empty() { " “" (step.name) "”" }
                br;
                small {
                    (kind_word(step.kind))
                    @if step.is_cached { ", answer kept from an earlier run" }
                    @if let Some(identity) = &step.identity { ", " (identity) }
                }
                (declaration(step))
            }
            td.number { (step.resources_in) " → " (step.resources_out) }
            td.number { (step.touched.len()) }
            td.number { (duration_text(step.duration_us)) }
            td.when { (time_bar(status_word(step.status), step.start_us, step.duration_us, total_us)) }
        }
    }
}

/// Configuration, selectors and the command that runs the step alone; nothing if there are none.
fn declaration(step: &StepReport) -> Markup {
    let has_config = !step.config.is_empty() || !step.config_path.is_empty();
    let selects = !step.selectors.is_empty() || !step.exclude.is_empty();
    if !has_config && !selects && step.command.is_empty() {
        return html! {};
    }
    html! {
        details.declaration {
            summary { "Declaration" }
            dl.facts {
                @if has_config {
                    dt { "Configuration" }
                    dd {
                        @if !step.config_path.is_empty() { code { (step.config_path) } }
                        @if !step.config.is_empty() { pre tabindex="0" { (step.config) } }
                    }
                }
                @for (name, selectors) in [("Selects", &step.selectors), ("Excludes", &step.exclude)] {
                    @if !selectors.is_empty() {
                        dt { (name) }
                        dd { @for selector in selectors { code { (selector) } br; } }
                    }
                }
                @if !step.command.is_empty() {
                    dt { "Run this step alone" }
                    dd { pre.command tabindex="0" { (step.command) } }
                }
            }
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
        div.scroll tabindex="0" role="group" aria-label="Times" {
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
