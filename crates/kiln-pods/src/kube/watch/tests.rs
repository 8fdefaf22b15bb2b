//! What watches report, also when they break.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::kube::views::PodView;
use crate::testing::scripted_api::{ScriptedApi, refusal};

fn pod(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version}})
}

fn list(version: &str, items: &[Value]) -> (u16, String) {
    let list = json!({"kind": "PodList", "metadata": {"resourceVersion": version}, "items": items});
    (200, list.to_string())
}

fn events(events: &[Value]) -> (u16, String) {
    let lines = events.iter().map(|event| format!("{event}\n"));
    (200, lines.collect())
}

fn refused(code: u16, reason: &str) -> (u16, String) {
    let (code, body) = refusal(code, reason);
    (code, body.to_string())
}

/// The first `count` updates of a watch, in short.
async fn updates(scripted: &ScriptedApi, selector: ObjectSelector, count: usize) -> Vec<String> {
    let (_anew, never) = tokio::sync::watch::channel(());
    updates_until(scripted, selector, never, count).await
}

async fn updates_until(
    scripted: &ScriptedApi,
    selector: ObjectSelector,
    restart: Receiver<()>,
    count: usize,
) -> Vec<String> {
    let (to, mut from) = mpsc::unbounded_channel();
    let watch = ObjectWatch {
        api: scripted.api(),
        collection: ResourceCollection::pods("fns"),
        selector,
        restart,
    };
    let watching = tokio::spawn(watch.run(to, |update: WatchUpdate<PodView>| update));
    let mut texts = Vec::new();
    while texts.len() < count {
        let update = from.recv().await.unwrap();
        texts.push(match update {
            WatchUpdate::Listed(pods) => {
                let names: Vec<_> = pods.into_iter().map(|pod| pod.metadata.name).collect();
                format!("listed {}", names.join(" "))
            }
            WatchUpdate::Changed(pod) => format!("changed {}", pod.metadata.name),
            WatchUpdate::Deleted(pod) => format!("deleted {}", pod.metadata.name),
            WatchUpdate::Interrupted(_) => "interrupted".to_owned(),
            WatchUpdate::Unavailable(_) => "unavailable".to_owned(),
        });
    }
    watching.abort();
    texts
}

#[tokio::test(start_paused = true)]
async fn a_list_is_followed_by_changes() {
    let scripted = ScriptedApi::from_texts([
        list("1", &[pod("a", "1")]),
        events(&[
            json!({"type": "ADDED", "object": pod("b", "2")}),
            json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "3"}}}),
            json!({"type": "MODIFIED", "object": pod("a", "4")}),
            json!({"type": "DELETED", "object": pod("b", "5")}),
        ]),
    ]);
    let updates = updates(&scripted, ObjectSelector::default(), 5).await;
    assert_eq!(
        updates,
        [
            "listed a",
            "changed b",
            "changed a",
            "deleted b",
            "interrupted"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_an_interruption_everything_is_listed_again() {
    let scripted = ScriptedApi::from_texts([
        list("1", &[pod("a", "1")]),
        refused(500, "InternalError"),
        list("7", &[pod("b", "6")]),
    ]);
    let updates = updates(&scripted, ObjectSelector::default(), 3).await;
    assert_eq!(updates, ["listed a", "interrupted", "listed b"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_not_an_interruption() {
    let expired = json!({"type": "ERROR", "object": refusal(410, "Expired").1});
    let scripted = ScriptedApi::from_texts([
        list("1", &[pod("a", "1")]),
        events(&[expired]),
        list("7", &[pod("b", "6")]),
    ]);
    let updates = updates(&scripted, ObjectSelector::default(), 2).await;
    assert_eq!(updates, ["listed a", "listed b"]);
}

#[tokio::test(start_paused = true)]
async fn missing_kinds_are_looked_up_again() {
    let scripted = ScriptedApi::from_texts([refused(404, "NotFound"), list("1", &[pod("a", "1")])]);
    let updates = updates(&scripted, ObjectSelector::default(), 2).await;
    assert_eq!(updates, ["unavailable", "listed a"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_listed_is_read() {
    let scripted = ScriptedApi::from_texts([
        refused(403, "Forbidden"),
        (200, pod("t", "1").to_string()),
        refused(403, "Forbidden"),
        refused(404, "NotFound"),
        refused(403, "Forbidden"),
        refused(403, "Forbidden"),
    ]);
    let updates = updates(&scripted, ObjectSelector::name("t"), 3).await;
    assert_eq!(updates, ["listed t", "listed ", "unavailable"]);
    assert_eq!(scripted.requests()[1], "GET /api/v1/namespaces/fns/pods/t");
}

#[tokio::test(start_paused = true)]
async fn a_restart_lists_everything_again() {
    let (restart, begin) = tokio::sync::watch::channel(());
    restart.send_replace(());
    let scripted = ScriptedApi::from_texts([list("1", &[pod("a", "1")])]);
    // The restart was requested before the watch began.
    let updates = updates_until(&scripted, ObjectSelector::default(), begin, 2).await;
    assert_eq!(updates[1..], ["listed a"]);
}
