//! Trees as text, one line per node, so that two of them can be compared.
//!
//! The same function writes recorded trees and ours; neither walk recurses.

use std::fmt::Write;

use anyhow::{Context, bail};
use kiln_yaml::{Document, Kind, NodeRef, Position, Slot};
use serde_json::Value;

use super::case;

/// Our trees.
pub(crate) fn dump(documents: impl Iterator<Item = Document>) -> String {
    let mut out = String::new();
    for document in documents {
        let Position { line, column } = document.position();
        Line {
            kind: "doc",
            line: line as u64,
            column: column as u64,
            head: document.comment(Slot::Head),
            foot: document.comment(Slot::Foot),
            ..Line::default()
        }
        .write(0, &mut out);
        let mut pending = vec![(1, document.root())];
        while let Some((depth, node)) = pending.pop() {
            line_of(node).write(depth, &mut out);
            let first_of_children = pending.len();
            pending.extend(node.children().map(|child| (depth + 1, child)));
            pending[first_of_children..].reverse();
        }
    }
    out
}

/// Trees as they were recorded.
pub(crate) fn dump_recorded(documents: &Value) -> anyhow::Result<String> {
    let mut out = String::new();
    let documents = documents.as_array().context("nodes is not a list")?;
    let mut pending: Vec<(usize, &Value)> = documents.iter().rev().map(|doc| (0, doc)).collect();
    while let Some((depth, node)) = pending.pop() {
        let kind = node["K"].as_str().context("a node without K")?;
        let texts = Texts::read(node)?;
        Line {
            kind,
            tag: &texts.tag,
            value: &texts.value,
            style: node["St"].as_u64().unwrap_or(0),
            anchor: &texts.anchor,
            head: &texts.head,
            comment: &texts.line,
            foot: &texts.foot,
            line: node["Ln"].as_u64().context("a node without Ln")?,
            column: node["Co"].as_u64().context("a node without Co")?,
        }
        .write(depth, &mut out);
        match &node["C"] {
            Value::Null => {}
            Value::Array(children) => {
                pending.extend(children.iter().rev().map(|child| (depth + 1, child)));
            }
            _ => bail!("C is not a list"),
        }
    }
    Ok(out)
}

/// The texts of a recorded node, empty where absent.
struct Texts {
    tag: String,
    value: String,
    anchor: String,
    head: String,
    line: String,
    foot: String,
}

impl Texts {
    fn read(node: &Value) -> anyhow::Result<Texts> {
        let text = |key: &str| match &node[key] {
            Value::Null => Ok(String::new()),
            value => {
                let bytes = case::bytes(value).with_context(|| format!("in {key}"))?;
                anyhow::Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        Ok(Texts {
            tag: text("Tag")?,
            value: text("V")?,
            anchor: text("A")?,
            head: text("H")?,
            line: text("L")?,
            foot: text("F")?,
        })
    }
}

#[derive(Default)]
struct Line<'a> {
    kind: &'a str,
    tag: &'a str,
    value: &'a str,
    style: u64,
    anchor: &'a str,
    head: &'a str,
    comment: &'a str,
    foot: &'a str,
    line: u64,
    column: u64,
}

impl Line<'_> {
    fn write(&self, depth: usize, out: &mut String) {
        let (kind, line, column) = (self.kind, self.line, self.column);
        // Writing to a string cannot fail.
        let _ = write!(out, "{:1$}{kind} {line}:{column}", "", depth * 2);
        if !self.tag.is_empty() {
            let _ = write!(out, " Tag={}", self.tag);
        }
        if self.style != 0 {
            let _ = write!(out, " St={}", self.style);
        }
        let named = [
            ("V", self.value),
            ("A", self.anchor),
            ("H", self.head),
            ("L", self.comment),
            ("F", self.foot),
        ];
        for (name, text) in named.iter().filter(|(_, text)| !text.is_empty()) {
            let _ = write!(out, " {name}={text:?}");
        }
        out.push('\n');
    }
}

fn line_of(node: NodeRef<'_>) -> Line<'_> {
    let kind = match node.kind() {
        Kind::Mapping => "map",
        Kind::Sequence => "seq",
        Kind::Scalar => "scalar",
        Kind::Alias => "alias",
    };
    let (line, column) = node.position().map_or((0, 0), |at| (at.line, at.column));
    Line {
        kind,
        tag: node.tag(),
        value: node.value(),
        style: node.style().bits().into(),
        anchor: node.anchor(),
        head: node.comment(Slot::Head),
        comment: node.comment(Slot::Line),
        foot: node.comment(Slot::Foot),
        line: line as u64,
        column: column as u64,
    }
}
