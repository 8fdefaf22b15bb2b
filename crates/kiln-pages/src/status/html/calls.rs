//! Running and recent calls.

use maud::{Markup, html};

use super::super::model::{CallStatus, FailureStatus, PodsStatus, RunningStatus, StatusModel};
use super::functions::{cause_text, link};
use super::overview::time_cell;
use super::{TableColumn, table};
use crate::parts::{age_text, bytes_text, duration_text, section};

/// Recent calls on one page.
const RECENT: usize = 200;

pub(super) fn list(model: &StatusModel) -> Markup {
    html! {
        h2 { "Calls" }
        (section("running", "Running", true, running(model, usize::MAX)))
        (section("recent", "Recent", true, table_of(model, model.recent.iter().take(RECENT))))
    }
}

/// The calls that run or wait, oldest first.
pub(super) fn running(model: &StatusModel, rows: usize) -> Markup {
    if model.running.is_empty() {
        return html! { p { "No call runs." } };
    }
    let columns = [
        TableColumn::Text("Call"),
        TableColumn::Text("Function"),
        TableColumn::Text("Evaluator"),
        TableColumn::Text("State"),
        TableColumn::Number("Since it arrived"),
        TableColumn::Number("Request"),
    ];
    let rows = html! {
        @for call in model.running.iter().take(rows) {
            tr {
                th scope="row" { (call_link(call.id, call.request_id.as_str())) }
                td.wide { code { (call.image) } }
                td { (call.evaluator.as_deref().unwrap_or("–")) }
                td {
                    (state_text(call))
                    @if let Some(reason) = pod_reason(model, call) { br; small { (reason) } }
                }
                td.number { (duration_text(call.age_us)) }
                td.number { (bytes_text(call.request_bytes)) }
            }
        }
    };
    table(&columns, rows)
}

fn state_text(call: &RunningStatus) -> String {
    let time = duration_text(call.in_state_us);
    match (&call.lane, call.is_running) {
        (None, _) => format!("arrived {time} ago"),
        (Some(lane), false) => format!("waits for a slot of {lane} for {time}"),
        (Some(lane), true) => format!("runs in {lane} for {time}"),
    }
}

/// Why a call may wait for a pod: what its pods wait for.
fn pod_reason(model: &StatusModel, call: &RunningStatus) -> Option<String> {
    let PodsStatus::Known(known) = &model.pods else {
        return None;
    };
    let mut pools = known.pools.iter();
    let pool = pools.find(|pool| pool.image == call.image && pool.waiting > 0)?;
    let mut pods = known.pods.iter().filter(|pod| pod.image == call.image);
    let waiting = format!("{} call(s) wait for a pod", pool.waiting);
    Some(match pods.find_map(|pod| pod.reason.as_ref()) {
        Some(reason) => format!("{waiting}: {reason}"),
        None => waiting,
    })
}

pub(super) fn table_of<'a>(
    model: &StatusModel,
    calls: impl Iterator<Item = &'a CallStatus>,
) -> Markup {
    let columns = [
        TableColumn::Text("Call"),
        TableColumn::Text("Status"),
        TableColumn::Text("Function"),
        TableColumn::Text("Evaluator"),
        TableColumn::Number("Waited"),
        TableColumn::Number("Ran"),
        TableColumn::Number("Total"),
        TableColumn::Number("Request"),
        TableColumn::Number("Response"),
        TableColumn::Number("Ended"),
    ];
    let rows = html! {
        @for call in calls {
            tr class=(class_of(call)) {
                th scope="row" { (call_link(call.id, call.request_id.as_str())) }
                td { (call.code) }
                td { (link(model, &call.image)) }
                td { (call.evaluator.as_deref().unwrap_or("–")) }
                td.number { (duration_text(call.queue_us)) }
                td.number { (time_cell(call.execution_us)) }
                td.number { (duration_text(call.total_us)) }
                td.number { (bytes_text(call.request_bytes)) }
                td.number { (bytes_text(call.response_bytes)) }
                td.number { (age_text(call.ms_ago)) " ago" }
            }
        }
    };
    table(&columns, rows)
}

/// The page of a call; `None` if it is not kept.
pub(super) fn one(model: &StatusModel, id: u64) -> Option<Markup> {
    let running = model.running.iter().find(|call| call.id == id);
    if let Some(call) = running {
        return Some(html! {
            h2 { "Call " code { (call.request_id) } }
            (facts(&[
                ("Function", call.image.to_string()),
                ("Evaluator", call.evaluator.clone().unwrap_or_else(|| "–".to_owned())),
                ("State", state_text(call)),
                ("Since it arrived", duration_text(call.age_us)),
                ("Request", bytes_text(call.request_bytes)),
                ("Trace", call.trace_id.clone().unwrap_or_else(|| "–".to_owned())),
            ]))
        });
    }
    let call = model.recent.iter().find(|call| call.id == id)?;
    let exit_code = call.exit_code.map(|code| code.to_string());
    Some(html! {
        h2 { "Call " code { (call.request_id) } }
        (facts(&[
            ("Function", call.image.to_string()),
            ("Evaluator", call.evaluator.clone().unwrap_or_else(|| "–".to_owned())),
            ("Status", call.code.clone()),
            ("Exit code", exit_code.unwrap_or_else(|| "–".to_owned())),
            ("Ended", format!("{} ({} ago)", call.ended, age_text(call.ms_ago))),
            ("Waited for a slot", duration_text(call.queue_us)),
            ("Ran", time_cell(call.execution_us)),
            ("Total", duration_text(call.total_us)),
            ("Request", bytes_text(call.request_bytes)),
            ("Response", bytes_text(call.response_bytes)),
            ("Trace", call.trace_id.clone().unwrap_or_else(|| "–".to_owned())),
        ]))
        p { (link(model, &call.image)) }
        @if let Some(failure) = model.failure(id) {
            h3 { "Failure" }
            ul.problems { li.error { (failure_text(failure)) } }
        }
    })
}

/// Names and values.
fn facts(facts: &[(&'static str, String)]) -> Markup {
    let columns = [TableColumn::Text("Fact"), TableColumn::Text("Value")];
    let rows = html! {
        @for (name, value) in facts {
            tr { th scope="row" { (name) } td { (value) } }
        }
    };
    table(&columns, rows)
}

/// Cause, time and message of a failure.
pub(super) fn failure_text(failure: &FailureStatus) -> Markup {
    html! {
        strong { (cause_text(&failure.class)) } " (" (failure.code)
        @if let Some(code) = failure.exit_code { ", exit code " (code) }
        "), " a href={ "/calls/" (failure.call) } { (age_text(failure.ms_ago)) " ago" }
        @if let Some(message) = &failure.message {
            pre.message { (message) }
        }
    }
}

fn call_link(id: u64, request_id: &str) -> Markup {
    html! { a href={ "/calls/" (id) } { code { (request_id) } } }
}

fn class_of(call: &CallStatus) -> &'static str {
    match call.class {
        None => "passed",
        Some(_) => "failed",
    }
}
