//! The overview: health, load, failing functions and pods.

use maud::{Markup, html};

use super::super::model::{FunctionStatus, LaneStatus, PodsStatus, StatusModel, WindowStatus};
use super::{TableColumn, calls, functions, more, pods, table};
use crate::parts::{bytes_text, duration_text, section, tile};

/// Tables of the overview have so many rows.
const ROWS: usize = 20;

pub(super) fn content(model: &StatusModel) -> Markup {
    html! {
        (tiles(model))
        (section("times", "Calls of the last minutes", true, windows(&model.windows)))
        (section("load", "Load", true, lanes(model)))
        (failing(model))
        (longest(model))
        (busiest(model))
        @if model.pods != PodsStatus::Disabled {
            (section("pods", "Pods", true, pods::table_of(model, ROWS)))
        }
        (section("limits", "Limits", true, limits(model)))
    }
}

fn tiles(model: &StatusModel) -> Markup {
    let sum = |of: fn(&LaneStatus) -> u64| -> u64 { model.lanes.iter().map(of).sum() };
    let rate = model.windows.first().map_or_else(String::new, |window| {
        let uptime = model.uptime_ms / 1_000;
        // The minute that has begun counts too.
        let seconds = (window.minutes * 60 + uptime % 60).min(uptime).max(1);
        let tenths = window.calls * 10 / seconds;
        format!("{}.{}", tenths / 10, tenths % 10)
    });
    html! {
        dl.tiles {
            (tile("running", &sum(|lane| lane.running).to_string()))
            (tile("waiting", &sum(|lane| lane.waiting).to_string()))
            (tile("calls per second", &rate))
            @if let Some(window) = model.windows.get(1) {
                (tile("failed, 5 min", &window.failures.to_string()))
                (tile("p50, 5 min", &time_cell(window.p50_us)))
                (tile("p99, 5 min", &time_cell(window.p99_us)))
            }
            (tile("evaluators", &model.evaluators.join(", ")))
        }
    }
}

/// Calls, failures and percentiles of each window.
pub(super) fn windows(windows: &[WindowStatus]) -> Markup {
    let columns = [
        TableColumn::Text("Last"),
        TableColumn::Number("Calls"),
        TableColumn::Number("Failed"),
        TableColumn::Number("p50"),
        TableColumn::Number("p95"),
        TableColumn::Number("p99"),
        TableColumn::Number("Longest"),
    ];
    let rows = html! {
        @for window in windows {
            tr {
                th scope="row" { (window.minutes) " min" }
                td.number { (window.calls) }
                td.number { (window.failures) }
                @for time in [window.p50_us, window.p95_us, window.p99_us, window.max_us] {
                    td.number { (time_cell(time)) }
                }
            }
        }
    };
    table(&columns, rows)
}

pub(super) fn time_cell(time: Option<u64>) -> String {
    time.map_or_else(|| "–".to_owned(), duration_text)
}

fn lanes(model: &StatusModel) -> Markup {
    let columns = [
        TableColumn::Text("Lane"),
        TableColumn::Number("Running"),
        TableColumn::Number("Slots"),
        TableColumn::Number("Waiting"),
        TableColumn::Number("May wait"),
    ];
    let rows = html! {
        @for lane in &model.lanes {
            tr {
                th scope="row" { (lane.name) }
                td.number { (lane.running) }
                td.number { (lane.slots) }
                td.number { (lane.waiting) }
                td.number { (lane.max_waiting) }
            }
        }
    };
    table(&columns, rows)
}

/// The functions that fail most; nothing if none fails.
fn failing(model: &StatusModel) -> Markup {
    let failures = |known: &FunctionStatus| known.hour().map_or(0, |window| window.failures);
    let mut failing: Vec<&FunctionStatus> = model.functions.iter().collect();
    failing.retain(|known| failures(known) > 0);
    failing.sort_by_key(|known| std::cmp::Reverse(failures(known)));
    if failing.is_empty() {
        return html! {};
    }
    let columns = [
        TableColumn::Text("Function"),
        TableColumn::Number("Failed in the last hour"),
        TableColumn::Text("Cause"),
        TableColumn::Text("Last failure"),
    ];
    let rows = html! {
        @for known in failing.iter().take(ROWS) {
            tr {
                th scope="row" { (functions::link(model, &known.image)) }
                td.number { (failures(known)) }
                td { (functions::causes(known)) }
                td {
                    @if let Some(failure) = known.last_failures.first() {
                        (calls::failure_text(failure))
                    }
                }
            }
        }
    };
    let content = html! {
        (table(&columns, rows))
        (more(ROWS, failing.len(), "/functions?sort=failed"))
    };
    section("failing", "Failing functions", true, content)
}

/// The running calls that are oldest; nothing if no call runs.
fn longest(model: &StatusModel) -> Markup {
    if model.running.is_empty() {
        return html! {};
    }
    let content = html! {
        (calls::running(model, ROWS))
        (more(ROWS, model.running.len(), "/calls"))
    };
    section("running", "Running calls, oldest first", true, content)
}

fn busiest(model: &StatusModel) -> Markup {
    let content = html! {
        @if model.functions.is_empty() {
            p { "No function was called in the last hour." }
        } @else {
            (functions::table_of(model, functions::FunctionOrder::Calls, ROWS))
            (more(ROWS, model.functions.len(), "/functions"))
        }
    };
    section("functions", "Functions", true, content)
}

fn limits(model: &StatusModel) -> Markup {
    let of_limits = |known: &FunctionStatus| -> u64 {
        let counts = known.failed.iter().filter(|count| count.class == "limit");
        counts.map(|count| count.calls).sum()
    };
    let refused: u64 = model.functions.iter().map(of_limits).sum();
    let columns = [
        TableColumn::Text("Limit"),
        TableColumn::Number("Used"),
        TableColumn::Number("Of"),
        TableColumn::Text("Flag"),
    ];
    let text = |value: Option<u64>, is_bytes: bool| match value {
        Some(value) if is_bytes => bytes_text(value),
        Some(value) => value.to_string(),
        None => "–".to_owned(),
    };
    let rows = html! {
        @for limit in &model.limits {
            tr {
                th scope="row" { (limit.name) }
                td.number { (text(limit.used, limit.is_bytes)) }
                td.number { (text(limit.max, limit.is_bytes)) }
                td { @if let Some(flag) = &limit.flag { code { "--" (flag) } } }
            }
        }
    };
    html! {
        (table(&columns, rows))
        p { "Calls of these functions that failed at a limit since the start: " (refused) "." }
    }
}
