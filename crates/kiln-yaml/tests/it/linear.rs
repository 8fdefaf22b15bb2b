//! Work on large trees takes time in proportion to their size: what is quadratic would take minutes here.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kiln_yaml::{
    Document, ListKeys, Start, SyncOrderError, TypeId, copy_comments, parse, sync_order,
};

const MANY: usize = 150_000;

/// Every list is keyed by `port` and `protocol`, and every resource is known.
struct Ports;

impl ListKeys for Ports {
    fn resource(&self, _: &str, _: &str) -> Option<TypeId> {
        Some(TypeId(0))
    }

    fn field(&self, _: TypeId, _: &str) -> Option<TypeId> {
        Some(TypeId(0))
    }

    fn item(&self, _: TypeId) -> Option<TypeId> {
        Some(TypeId(0))
    }

    fn keys(&self, _: TypeId) -> Option<&[&str]> {
        Some(&["port", "protocol"])
    }

    fn declared(&self, _: &str) -> Option<TypeId> {
        None
    }
}

#[test]
fn many_fields() {
    let field = |i| format!("key{i}: {i} # comment {i}\n");
    let from: String = (0..MANY).map(field).collect();
    let to: String = (0..MANY).rev().map(|i| format!("key{i}: {i}\n")).collect();
    let (from, mut to) = (read(&from), read(&to));
    quick(|| restore(&from, &mut to).expect("no error"));
    assert!(from.same_tree(&to));
}

#[test]
fn many_items() {
    for protocol in ["", "  protocol: TCP\n"] {
        let head = "apiVersion: v1\nkind: Service\nports:\n";
        let (mut from, mut to) = (head.to_owned(), head.to_owned());
        for i in 0..MANY {
            let _ = write!(from, "- port: {i} # comment {i}\n{protocol}");
            let _ = write!(to, "- port: {}\n{protocol}", MANY - 1 - i);
        }
        let (from, mut to) = (read(&from), read(&to));
        quick(|| restore(&from, &mut to).expect("no error"));
        // By place first, so the comments do not follow the ports.
        let first = to.root().lookup(&["ports", "0", "port"]);
        let first = first.expect("no error").expect("a port");
        assert_eq!(first.comment(kiln_yaml::Slot::Line), "# comment 0");
    }
}

#[test]
fn many_items_without_the_first_key() {
    let head = "apiVersion: v1\nkind: Service\nports:\n";
    let item = |i| format!("- protocol: p{i} # comment {i}\n- port: {i}\n");
    let from = head.to_owned() + &(0..MANY / 2).map(item).collect::<String>();
    let (from, mut to) = (read(&from), read(&from));
    quick(|| drop(restore(&from, &mut to)));
}

#[test]
fn deep_trees() {
    let text = format!("{}x{}\n", "[".repeat(9_000), "]".repeat(9_000));
    let (from, mut to) = (read(&text), read(&text));
    quick(|| restore(&from, &mut to).expect("no error"));
    assert!(from.same_tree(&to));
    let text: String = (0..4_000).map(|i| format!("{:i$}k:\n", "")).collect();
    let (from, mut to) = (read(&text), read(&text));
    quick(|| restore(&from, &mut to).expect("no error"));
}

/// Each level would double what is below.
#[test]
fn repeated_keys_do_not_multiply() {
    let mut text = "x".to_owned();
    for _ in 0..60 {
        text = format!("{{a: {text}, a: 1}}");
    }
    let (from, mut to) = (read(&text), read(&text));
    let mut result = Ok(());
    quick(|| result = sync_order(from.root(), &mut to, Start::Document));
    assert_eq!(result, Err(SyncOrderError::TooManyRepeats));
}

fn restore(from: &Document, to: &mut Document) -> Result<(), String> {
    copy_comments((from, Start::Document), (to, Start::Document), &Ports)
        .map_err(|error| error.to_string())?;
    sync_order(from.root(), to, Start::Document).map_err(|error| error.to_string())
}

fn read(text: &str) -> Document {
    parse(text).expect("YAML").expect("a document")
}

#[track_caller]
fn quick(work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
}
