//! What is seen when watches break.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::scripted::{Scripted, refusal};
use crate::views::PodView;

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

/// What is seen of a server, in short.
async fn seen(scripted: &Scripted, selector: Selector, count: usize) -> Vec<String> {
    let (_anew, never) = tokio::sync::watch::channel(());
    seen_until(scripted, selector, never, count).await
}

async fn seen_until(
    scripted: &Scripted,
    selector: Selector,
    anew: Receiver<()>,
    count: usize,
) -> Vec<String> {
    let (to, mut from) = mpsc::unbounded_channel();
    let watch = Watch {
        api: scripted.api(),
        collection: Collection::pods("fns"),
        selector,
        anew,
    };
    let watching = tokio::spawn(watch.run(to, |seen: Seen<PodView>| seen));
    let mut texts = Vec::new();
    while texts.len() < count {
        let seen = from.recv().await.unwrap();
        texts.push(match seen {
            Seen::All(pods) => {
                let names: Vec<_> = pods.into_iter().map(|pod| pod.metadata.name).collect();
                format!("all {}", names.join(" "))
            }
            Seen::Is(pod) => format!("is {}", pod.metadata.name),
            Seen::Gone(pod) => format!("gone {}", pod.metadata.name),
            Seen::Blind(_) => "blind".to_owned(),
            Seen::Absent(_) => "absent".to_owned(),
        });
    }
    watching.abort();
    texts
}

#[tokio::test(start_paused = true)]
async fn first_what_there_is_then_what_changes() {
    let scripted = Scripted::from_texts([
        list("1", &[pod("a", "1")]),
        events(&[
            json!({"type": "ADDED", "object": pod("b", "2")}),
            json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "3"}}}),
            json!({"type": "MODIFIED", "object": pod("a", "4")}),
            json!({"type": "DELETED", "object": pod("b", "5")}),
        ]),
    ]);
    let seen = seen(&scripted, Selector::default(), 5).await;
    assert_eq!(seen, ["all a", "is b", "is a", "gone b", "blind"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_break_everything_is_listed_anew() {
    let scripted = Scripted::from_texts([
        list("1", &[pod("a", "1")]),
        refused(500, "InternalError"),
        list("7", &[pod("b", "6")]),
    ]);
    let seen = seen(&scripted, Selector::default(), 3).await;
    assert_eq!(seen, ["all a", "blind", "all b"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_ago_is_no_break() {
    let expired = json!({"type": "ERROR", "object": refusal(410, "Expired").1});
    let scripted = Scripted::from_texts([
        list("1", &[pod("a", "1")]),
        events(&[expired]),
        list("7", &[pod("b", "6")]),
    ]);
    let seen = seen(&scripted, Selector::default(), 2).await;
    assert_eq!(seen, ["all a", "all b"]);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_not_there_are_looked_for_again() {
    let scripted = Scripted::from_texts([refused(404, "NotFound"), list("1", &[pod("a", "1")])]);
    let seen = seen(&scripted, Selector::default(), 2).await;
    assert_eq!(seen, ["absent", "all a"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_may_only_be_got_is_got() {
    let scripted = Scripted::from_texts([
        refused(403, "Forbidden"),
        (200, pod("t", "1").to_string()),
        refused(403, "Forbidden"),
        refused(404, "NotFound"),
        refused(403, "Forbidden"),
        refused(403, "Forbidden"),
    ]);
    let seen = seen(&scripted, Selector::name("t"), 3).await;
    assert_eq!(seen, ["all t", "all ", "absent"]);
    assert_eq!(scripted.asked()[1], "GET /api/v1/namespaces/fns/pods/t");
}

#[tokio::test(start_paused = true)]
async fn told_to_it_begins_anew() {
    let (anew, begin) = tokio::sync::watch::channel(());
    anew.send_replace(());
    let scripted = Scripted::from_texts([list("1", &[pod("a", "1")])]);
    // The sign was there before anything else was.
    let seen = seen_until(&scripted, Selector::default(), begin, 2).await;
    assert_eq!(seen[1..], ["all a"]);
}
