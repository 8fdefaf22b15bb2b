//! The pages of a status: golden files, structure, links, hostile names and sizes.

use std::collections::BTreeSet;

use kiln_pages::VisibleText;
use kiln_pages::status::{
    PodsStatus, ServiceHealth, StatusModel, StatusReply, StatusRequest, page_headers,
};
use scraper::Html;

use crate::golden::check_golden;
use crate::page::{check_html, selector};
use crate::status_sample::{IMAGE, call, function, idle, pod, running, status};

const PAGES: [(&str, &str); 10] = [
    ("status-overview.html", "/"),
    ("status-functions.html", "/functions"),
    (
        "status-function.html",
        "/functions/example.com%2Ffunctions%2Fset-image:v1",
    ),
    ("status-calls.html", "/calls"),
    ("status-call.html", "/calls/6"),
    ("status-pods.html", "/pods"),
    ("status-pod.html", "/pods/set-image-1"),
    ("status-replicas.html", "/replicas"),
    ("status-config.html", "/config"),
    ("status.json", "/status.json"),
];

fn reply(model: &StatusModel, target: &str) -> Option<StatusReply> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(StatusRequest::parse(path, query)?.reply(model))
}

#[track_caller]
fn body(model: &StatusModel, target: &str) -> String {
    let reply = reply(model, target).unwrap_or_else(|| panic!("no page {target}"));
    assert_eq!(reply.code, 200, "{target}");
    reply.body
}

#[test]
fn pages_of_a_busy_runner() {
    for (name, target) in PAGES {
        check_golden(name, &body(&status(), target));
    }
}

#[test]
fn every_link_leads_to_a_page() {
    for model in [status(), idle()] {
        let mut known = BTreeSet::new();
        let mut open = vec!["/".to_owned()];
        while let Some(target) = open.pop() {
            if !known.insert(target.clone()) {
                continue;
            }
            let reply = reply(&model, &target).unwrap_or_else(|| panic!("{target} is not a page"));
            assert_eq!(reply.code, 200, "{target}");
            if !reply.content_type.starts_with("text/html") {
                continue;
            }
            let path = target.split('?').next().unwrap_or_default();
            for link in check_html(&Html::parse_document(&reply.body)) {
                open.push(match link.starts_with('?') {
                    true => format!("{path}{link}"),
                    false => link,
                });
            }
        }
        assert!(known.contains("/status.json") && known.contains("/functions?sort=p99"));
    }
}

#[test]
fn the_json_is_the_model() {
    let model = status();
    let read: StatusModel = serde_json::from_str(&body(&model, "/status.json")).unwrap();
    assert_eq!(read, model);
    let reply = reply(&model, "/status.json").unwrap();
    assert_eq!(reply.content_type, "application/json");
}

#[test]
fn only_the_style_of_the_page_is_allowed() {
    let headers = page_headers();
    let policy = &headers[0].1;
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert!(headers.contains(&(name, value.to_owned())), "{name}");
    }
    // Attributes with styles would need another source.
    let page = Html::parse_document(&body(&status(), "/"));
    assert_eq!(page.select(&selector("[style]")).count(), 0);
    assert_eq!(page.select(&selector("style")).count(), 1);
}

#[test]
fn what_does_not_exist_is_not_found() {
    for target in [
        "",
        "x",
        "/x",
        "/calls/x",
        "/calls/-1",
        "/functions/%zz",
        "/functions/%",
        "/functions/%ff",
        "/pods/",
        "/a/b/c",
    ] {
        assert!(reply(&status(), target).is_none(), "{target}");
    }
    for target in [
        "/calls/99",
        "/functions/unknown",
        "/pods/gone",
        "/functions/..%2Fconfig",
    ] {
        let reply = reply(&status(), target).unwrap();
        assert_eq!(reply.code, 404, "{target}");
        check_html(&Html::parse_document(&reply.body));
    }
}

#[test]
fn pages_refresh_only_on_request() {
    let refreshes = |target: &str| {
        let page = Html::parse_document(&body(&status(), target));
        let meta = page.select(&selector("meta[http-equiv=refresh]")).next();
        meta.map(|meta| meta.value().attr("content").unwrap_or_default().to_owned())
    };
    assert_eq!(refreshes("/"), None);
    assert_eq!(refreshes("/?refresh=5").as_deref(), Some("5"));
    for wrong in ["0", "-1", "x", "99999", "5;url=https://example.org", ""] {
        assert_eq!(refreshes(&format!("/?refresh={wrong}")), None, "{wrong}");
    }
}

#[test]
fn functions_have_the_order_of_the_request() {
    let mut model = status();
    let mut slow = function("example.com/slow:v1");
    slow.windows[1].p99_us = Some(9_000_000);
    slow.windows[1].calls = 1;
    model.functions.push(slow);
    let first = |target: &str| {
        let page = Html::parse_document(&body(&model, target));
        let cell = page.select(&selector("tbody th")).next().unwrap();
        cell.text().collect::<String>()
    };
    assert_eq!(first("/functions?sort=p99"), "example.com/slow:v1");
    assert_eq!(first("/functions?sort=name"), IMAGE);
    assert_eq!(
        first("/functions?sort=nonsense"),
        first("/functions?sort=calls")
    );
}

#[test]
fn a_stuck_owner_of_pods_is_shown() {
    let model = StatusModel {
        pods: PodsStatus::NoAnswer { after_ms: 2_000 },
        ..status()
    };
    for target in ["/", "/pods", "/replicas"] {
        let page = body(&model, target);
        assert!(page.contains("Pods: no answer for 2.0 s."), "{target}");
    }
}

#[test]
fn health_is_in_the_heading() {
    for (health, text) in [
        (ServiceHealth::Serving, "kiln serve: serving"),
        (ServiceHealth::NotReady, "kiln serve: not ready"),
        (ServiceHealth::Draining, "kiln serve: draining"),
    ] {
        let page = Html::parse_document(&body(&StatusModel { health, ..idle() }, "/"));
        let heading = page.select(&selector("h1")).next().unwrap();
        assert_eq!(heading.text().collect::<String>(), text);
    }
}

#[test]
fn messages_are_missing_with_a_reason() {
    let mut model = status();
    model.shows_messages = false;
    for known in &mut model.functions {
        known.last_failures[0].message = None;
    }
    let page = body(&model, PAGES[2].1);
    assert!(page.contains("--status-show-messages"), "{page}");
    assert!(!page.contains("the image has no tag"), "{page}");
}

/// Everything that callers, functions and the cluster choose is hostile.
fn hostile(name: &str) -> StatusModel {
    let mut model = status();
    let text: VisibleText = name.into();
    for known in &mut model.functions {
        known.image = text.clone();
        known.last_failures[0].message = Some(text.clone());
    }
    model.functions.truncate(1);
    for call in &mut model.recent {
        call.image = text.clone();
        call.request_id = text.clone();
    }
    model.running[0].image = text.clone();
    model.running[0].request_id = text.clone();
    if let PodsStatus::Known(known) = &mut model.pods {
        known.pools[0].image = text.clone();
        known.watches[0].state = text.clone();
        for pod in &mut known.pods {
            pod.image = text.clone();
            pod.reason = Some(text.clone());
        }
        known.pods[0].name = text.clone();
        known.replicas[0].name = text.clone();
    }
    model.settings[0].value = text;
    model
}

#[test]
fn hostile_names_are_only_text() {
    for name in [
        "<script>alert(1)</script>",
        "\" onload=\"alert(1)",
        "</style><img src=x onerror=alert(1)>",
        "../../config",
        "https://example.org/?a=b&c#d",
        "\u{202e}evil\u{0}\u{7}",
        "é%2F%zz",
    ] {
        let model = hostile(name);
        let shown = VisibleText::from(name);
        let mut open = vec!["/".to_owned()];
        open.extend(PAGES.iter().map(|(_, target)| (*target).to_owned()));
        open.retain(|target| !target.contains("set-image") && target != "/status.json");
        let overview = Html::parse_document(&body(&model, "/"));
        let to_functions = selector("a[href^='/functions/']");
        let link = overview.select(&to_functions).next();
        let link = link.and_then(|link| link.value().attr("href"));
        open.push(link.expect("a link to the function").to_owned());
        for target in open {
            let text = body(&model, &target);
            assert!(!text.contains('\u{202e}'), "{target}");
            let page = Html::parse_document(&text);
            for link in check_html(&page) {
                assert!(link.starts_with('/') || link.starts_with('?'), "{link}");
            }
            let foreign = selector("img, iframe, object, embed, link, script, form");
            assert_eq!(page.select(&foreign).count(), 0, "{target}");
        }
        let calls = Html::parse_document(&body(&model, "/calls"));
        let text: String = calls.root_element().text().collect();
        assert!(text.contains(shown.as_str()), "{name}");
    }
}

#[test]
fn pages_of_many_functions_are_small() {
    let mut model = status();
    model.functions = (0..200)
        .map(|number| function(&format!("example.com/functions/function-{number}:v1")))
        .collect();
    model.recent = (0..1_000).map(|id| call(id, "OK")).collect();
    model.running = (0..1_000).map(running).collect();
    if let PodsStatus::Known(known) = &mut model.pods {
        known.pods = (0..500).map(|id| pod(&format!("pod-{id}"), true)).collect();
    }
    for target in ["/", "/functions"] {
        let size = body(&model, target).len();
        assert!(size <= 200_000, "{target}: {size} bytes");
    }
    // The most that a program lists.
    for target in ["/calls", "/pods"] {
        let size = body(&model, target).len();
        assert!(size <= 600_000, "{target}: {size} bytes");
    }
}
