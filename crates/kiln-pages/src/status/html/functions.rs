//! The functions: a table of all, and a page of each.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::super::model::{BucketStatus, FunctionStatus, StatusModel, WindowStatus};
use super::super::request::encoded;
use super::overview::{time_cell, windows};
use super::{TableColumn, calls, table};
use crate::chart::{HistogramBar, histogram};
use crate::parts::{age_text, duration_text, section};
use crate::visible_text::VisibleText;

/// The order of the functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::status) enum FunctionOrder {
    Name,
    Calls,
    Failed,
    P50,
    P99,
}

const ORDERS: [(&str, &str, FunctionOrder); 5] = [
    ("name", "name", FunctionOrder::Name),
    ("calls", "calls", FunctionOrder::Calls),
    ("failed", "failures", FunctionOrder::Failed),
    ("p50", "p50", FunctionOrder::P50),
    ("p99", "p99", FunctionOrder::P99),
];

/// Calls on the page of a function.
const CALLS: usize = 50;

impl FunctionOrder {
    /// The order with this name; by calls if there is none.
    pub(in crate::status) fn of(name: Option<&str>) -> FunctionOrder {
        let order = ORDERS.iter().find(|(known, _, _)| Some(*known) == name);
        order.map_or(FunctionOrder::Calls, |(_, _, order)| *order)
    }

    fn sort(self, functions: &mut [&FunctionStatus]) {
        let hour = |known: &FunctionStatus, of: fn(&WindowStatus) -> u64| {
            Reverse(known.hour().map_or(0, of))
        };
        functions.sort_by(|a, b| (&a.image, &a.evaluator).cmp(&(&b.image, &b.evaluator)));
        match self {
            FunctionOrder::Name => {}
            FunctionOrder::Calls => functions.sort_by_key(|known| hour(known, |of| of.calls)),
            FunctionOrder::Failed => functions.sort_by_key(|known| hour(known, |of| of.failures)),
            FunctionOrder::P50 => {
                functions.sort_by_key(|known| hour(known, |of| of.p50_us.unwrap_or(0)));
            }
            FunctionOrder::P99 => {
                functions.sort_by_key(|known| hour(known, |of| of.p99_us.unwrap_or(0)));
            }
        }
    }
}

pub(super) fn list(model: &StatusModel, order: FunctionOrder) -> Markup {
    html! {
        h2 { "Functions" }
        p {
            "Calls of the last hour. Order by "
            @for (number, (name, text, of)) in ORDERS.iter().enumerate() {
                @if number > 0 { ", " }
                a href={ "/functions?sort=" (name) } aria-current=[(*of == order).then_some("true")] { (text) }
            }
            "."
        }
        @if model.functions.is_empty() {
            p { "No function was called in the last hour." }
        } @else {
            (table_of(model, order, usize::MAX))
        }
    }
}

pub(super) fn table_of(model: &StatusModel, order: FunctionOrder, rows: usize) -> Markup {
    let mut functions: Vec<&FunctionStatus> = model.functions.iter().collect();
    order.sort(&mut functions);
    let columns = [
        TableColumn::Text("Function"),
        TableColumn::Text("Evaluator"),
        TableColumn::Number("Calls"),
        TableColumn::Number("Failed"),
        TableColumn::Number("p50"),
        TableColumn::Number("p95"),
        TableColumn::Number("p99"),
        TableColumn::Number("Last call"),
    ];
    let rows = html! {
        @for known in functions.iter().take(rows) {
            @let hour = known.hour();
            tr {
                th scope="row" { (link(model, &known.image)) }
                td { (known.evaluator) }
                td.number { (hour.map_or(0, |window| window.calls)) }
                td.number { (hour.map_or(0, |window| window.failures)) }
                td.number { (time_cell(hour.and_then(|window| window.p50_us))) }
                td.number { (time_cell(hour.and_then(|window| window.p95_us))) }
                td.number { (time_cell(hour.and_then(|window| window.p99_us))) }
                td.number { (age_text(known.last_call_ms_ago)) " ago" }
            }
        }
    };
    table(&columns, rows)
}

/// The page of an image; `None` if it was not called.
pub(super) fn one(model: &StatusModel, image: &str) -> Option<Markup> {
    let of_image = |known: &&FunctionStatus| known.image.as_str() == image;
    let functions: Vec<&FunctionStatus> = model.functions.iter().filter(of_image).collect();
    if functions.is_empty() {
        return None;
    }
    let calls_of = || {
        model
            .recent
            .iter()
            .filter(|call| call.image.as_str() == image)
    };
    Some(html! {
        h2 { code { (image) } }
        @for known in functions {
            (section(&format!("by-{}", known.evaluator), &format!("Evaluator {}", known.evaluator), true, evaluated(model, known)))
        }
        (section("calls", "Last calls", true, calls::table_of(model, calls_of().take(CALLS))))
    })
}

fn evaluated(model: &StatusModel, known: &FunctionStatus) -> Markup {
    html! {
        p {
            (known.calls) " calls since the start, " (known.failures()) " failed; the last one "
            (age_text(known.last_call_ms_ago)) " ago."
        }
        (windows(&known.windows))
        (buckets(&known.buckets))
        @if !known.last_failures.is_empty() {
            h3 { "Last failures" }
            p { (causes(known)) }
            @if !model.shows_messages {
                p { "Messages are not kept: the program runs without " code { "--status-show-messages" } "." }
            }
            ul.problems {
                @for failure in &known.last_failures {
                    li.error { (calls::failure_text(failure)) }
                }
            }
        }
    }
}

/// A histogram, and the same numbers as a table. Empty buckets at both ends are left out.
fn buckets(buckets: &[BucketStatus]) -> Markup {
    let first = buckets.iter().position(|bucket| bucket.calls > 0);
    let last = buckets.iter().rposition(|bucket| bucket.calls > 0);
    let (Some(first), Some(last)) = (first, last) else {
        return html! {};
    };
    let used = buckets.get(first..=last).unwrap_or_default();
    let label = |bucket: &BucketStatus| match bucket.up_to_us {
        Some(us) => format!("up to {}", duration_text(us)),
        None => "longer".to_owned(),
    };
    let every = used.len().div_ceil(10).max(1);
    let bars: Vec<HistogramBar> = used
        .iter()
        .enumerate()
        .map(|(number, bucket)| HistogramBar {
            label: label(bucket),
            tick: (number % every == 0).then(|| match bucket.up_to_us {
                Some(us) => format!("≤ {}", duration_text(us)),
                None => "longer".to_owned(),
            }),
            count: bucket.calls,
        })
        .collect();
    let columns = [
        TableColumn::Text("Total time"),
        TableColumn::Number("Calls"),
    ];
    let rows = html! {
        @for bucket in used.iter().filter(|bucket| bucket.calls > 0) {
            tr {
                th scope="row" { (label(bucket)) }
                td.number { (bucket.calls) }
            }
        }
    };
    html! {
        h3 { "Total times of the calls of the last hour" }
        (histogram(&bars, "Calls by total time"))
        details {
            summary { "The same as a table" }
            (table(&columns, rows))
        }
    }
}

/// How often a function failed for each cause.
pub(super) fn causes(known: &FunctionStatus) -> String {
    let causes = known.failed.iter();
    let causes: Vec<String> = causes
        .map(|count| format!("{} × {}", count.calls, cause_text(&count.class)))
        .collect();
    causes.join(", ")
}

/// A cause as a sentence would name it.
pub(super) fn cause_text(class: &str) -> &str {
    match class {
        "function" => "the function failed",
        "deadline" => "the deadline passed",
        "cancelled" => "the caller disconnected",
        "infrastructure" => "the function could not run",
        "input" => "the input was invalid",
        "not_found" => "no evaluator has the image",
        "limit" => "a limit was reached",
        other => other,
    }
}

/// An image, with a link to its page if it has one: images beyond the limit are counted together.
pub(super) fn link(model: &StatusModel, image: &VisibleText) -> Markup {
    let is_known = model.functions.iter().any(|known| known.image == *image);
    html! {
        @if is_known {
            a href={ "/functions/" (encoded(image.as_str())) } { code { (image) } }
        } @else {
            code { (image) }
        }
    }
}
