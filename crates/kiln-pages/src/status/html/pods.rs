//! Pods, pools with their last cold start, and replicas.

use maud::{Markup, html};

use super::super::model::{
    ColdStartStatus, KnownPods, PodRow, PodsStatus, PoolStatus, StatusModel,
};
use super::super::request::encoded;
use super::functions::link;
use super::{TableColumn, more, table};
use crate::chart::{TimeBar, waterfall};
use crate::parts::{age_text, duration_text, section};
use crate::visible_text::VisibleText;

pub(super) fn list(model: &StatusModel) -> Markup {
    html! {
        h2 { "Pods" }
        (table_of(model, usize::MAX))
        @if let PodsStatus::Known(known) = &model.pods {
            (section("images", "Images", true, pools(model, &known.pools)))
            @for pool in &known.pools {
                @if let Some(cold_start) = &pool.last_cold_start {
                    (timeline(pool, cold_start))
                }
            }
        }
    }
}

/// The table, or why there is none.
pub(super) fn table_of(model: &StatusModel, rows: usize) -> Markup {
    let known = match known(&model.pods) {
        Ok(known) => known,
        Err(text) => return text,
    };
    if known.pods.is_empty() {
        return html! { p { "There are no pods." } };
    }
    let columns = [
        TableColumn::Text("Pod"),
        TableColumn::Text("State"),
        TableColumn::Text("Function"),
        TableColumn::Text("Node"),
        TableColumn::Number("Age"),
        TableColumn::Number("Calls"),
        TableColumn::Number("Idle"),
        TableColumn::Number("Goes in"),
        TableColumn::Text("Owner"),
    ];
    let cells = html! {
        @for pod in known.pods.iter().take(rows) {
            tr {
                th scope="row" { a href={ "/pods/" (encoded(pod.name.as_str())) } { code { (pod.name) } } }
                td { (state_text(pod)) }
                td { (link(model, &pod.image)) }
                td { (optional(pod.node.as_ref())) }
                td.number { (age_cell(pod.age_ms)) }
                td.number { (pod.running) }
                td.number { (age_cell(pod.idle_ms)) }
                td.number { (age_cell(pod.expires_in_ms)) }
                td { (owner_text(pod)) }
            }
        }
    };
    html! {
        (table(&columns, cells))
        (more(rows, known.pods.len(), "/pods"))
        @if known.pods_left_out > 0 {
            p { (known.pods_left_out) " more pods are not listed." }
        }
    }
}

/// What is known, or the text to show instead.
fn known(status: &PodsStatus) -> Result<&KnownPods, Markup> {
    match status {
        PodsStatus::Known(known) => Ok(known),
        PodsStatus::Disabled => Err(html! { p { "Functions do not run in pods here." } }),
        PodsStatus::NoAnswer { after_ms } => Err(html! {
            ul.problems { li.warning { "Pods: no answer for " (age_text(*after_ms)) "." } }
        }),
    }
}

fn pools(model: &StatusModel, pools: &[PoolStatus]) -> Markup {
    let columns = [
        TableColumn::Text("Image"),
        TableColumn::Text("Digest"),
        TableColumn::Number("Pods"),
        TableColumn::Number("At most"),
        TableColumn::Number("Calls that wait"),
    ];
    let rows = html! {
        @for pool in pools {
            tr {
                th scope="row" { (link(model, &pool.image)) }
                td { small { (optional(pool.digest.as_ref())) } }
                td.number { (pool.pods) }
                td.number { (pool.max_pods) }
                td.number { (pool.waiting) }
            }
        }
    };
    table(&columns, rows)
}

/// The last cold start of an image: when each step ended.
fn timeline(pool: &PoolStatus, cold_start: &ColdStartStatus) -> Markup {
    let total = cold_start.steps.last().map_or(0, |step| step.at_us);
    let mut from = 0;
    let id = format!("start-{}", encoded(pool.image.as_str()));
    let bars: Vec<TimeBar<'_>> = cold_start
        .steps
        .iter()
        .map(|step| {
            let start_us = std::mem::replace(&mut from, step.at_us);
            TimeBar {
                label: &step.name,
                class: "",
                link: format!("#{id}"),
                start_us,
                duration_us: step.at_us.saturating_sub(start_us),
            }
        })
        .collect();
    let columns = [
        TableColumn::Text("Step"),
        TableColumn::Number("Took"),
        TableColumn::Number("After"),
    ];
    let rows = html! {
        @for bar in &bars {
            tr {
                th scope="row" { (bar.label) }
                td.number { (duration_text(bar.duration_us)) }
                td.number { (duration_text(bar.start_us + bar.duration_us)) }
            }
        }
    };
    let title = format!("Last cold start of {}", pool.image);
    let content = html! {
        p { "Pod " code { (cold_start.pod) } ", " (age_text(cold_start.ms_ago)) " ago." }
        (waterfall(&bars, total, &title))
        (table(&columns, rows))
    };
    section(&id, &title, false, content)
}

/// The page of a pod; `None` if it is not known.
pub(super) fn one(model: &StatusModel, name: &str) -> Option<Markup> {
    let PodsStatus::Known(known) = &model.pods else {
        return None;
    };
    let pod = known.pods.iter().find(|pod| pod.name.as_str() == name)?;
    let columns = [TableColumn::Text("Fact"), TableColumn::Text("Value")];
    let facts = [
        ("State", state_text(pod)),
        ("Node", optional(pod.node.as_ref())),
        ("Created", optional(pod.created.as_ref())),
        ("Age", age_cell(pod.age_ms)),
        ("Calls", pod.running.to_string()),
        ("Idle", age_cell(pod.idle_ms)),
        ("Is deleted without calls in", age_cell(pod.expires_in_ms)),
        ("Owner", owner_text(pod)),
    ];
    let rows = html! {
        tr { th scope="row" { "Function" } td { (link(model, &pod.image)) } }
        @for (name, value) in facts {
            tr { th scope="row" { (name) } td { (value) } }
        }
    };
    let start = known.pools.iter().find_map(|pool| {
        let cold_start = pool.last_cold_start.as_ref()?;
        (cold_start.pod == pod.name).then(|| timeline(pool, cold_start))
    });
    Some(html! {
        h2 { "Pod " code { (pod.name) } }
        (table(&columns, rows))
        @if let Some(start) = start { (start) }
    })
}

pub(super) fn replicas(model: &StatusModel) -> Markup {
    let known = match known(&model.pods) {
        Ok(known) => known,
        Err(text) => return html! { h2 { "Replicas" } (text) },
    };
    let columns = [
        TableColumn::Text("Replica"),
        TableColumn::Text("State"),
        TableColumn::Number("Lease renewed"),
        TableColumn::Number("Lease period"),
        TableColumn::Number("Pods"),
    ];
    let rows = html! {
        @for replica in &known.replicas {
            tr class=(match replica.is_alive { true => "passed", false => "failed" }) {
                th scope="row" { (replica.name) @if replica.is_this { " (this one)" } }
                td { (match replica.is_alive { true => "alive", false => "lease expired" }) }
                td.number { (age_cell(replica.lease_age_ms)) }
                td.number { (age_cell(replica.lease_period_ms)) }
                td.number { (replica.pods) }
            }
        }
    };
    let watch_columns = [TableColumn::Text("Watch"), TableColumn::Text("State")];
    let watches = html! {
        @for watch in &known.watches {
            tr class=(match watch.is_healthy { true => "passed", false => "failed" }) {
                th scope="row" { (watch.kind) }
                td { (watch.state) }
            }
        }
    };
    html! {
        h2 { "Replicas" }
        @if !known.is_synced {
            ul.problems { li.warning { "The view of the cluster may be outdated." } }
        }
        (table(&columns, rows))
        (section("watches", "Watches", true, table(&watch_columns, watches)))
    }
}

fn state_text(pod: &PodRow) -> String {
    match &pod.reason {
        Some(reason) => format!("{}: {reason}", pod.state),
        None => pod.state.clone(),
    }
}

fn owner_text(pod: &PodRow) -> String {
    match pod.is_own {
        true => "this replica".to_owned(),
        false => pod.owner.to_string(),
    }
}

fn age_cell(ms: Option<u64>) -> String {
    ms.map_or_else(|| "–".to_owned(), age_text)
}

fn optional(text: Option<&VisibleText>) -> String {
    text.map_or_else(|| "–".to_owned(), ToString::to_string)
}
