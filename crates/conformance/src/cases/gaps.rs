//! `conformance/known-gaps.yaml`: cases that are known to fail, each with its reason. A listed case that passes is a failure,
//! so that fixed cases leave the list.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};
use kiln_yaml::{Document, NodeRef};

use super::case::{Case, read_yaml};
use super::case_environment::Subject;
use super::judge::{About, Problem};

/// All listed cases.
pub(super) struct Gaps {
    /// Cases that the original fails as well.
    stale: Vec<Entry>,
    /// Cases that kiln does not pass yet.
    gaps: Vec<Entry>,
}

struct Entry {
    case: String,
    reason: String,
}

/// The entry of a case.
#[derive(Clone, Copy)]
pub(super) struct KnownGap<'a> {
    kind: &'static str,
    reason: &'a str,
}

impl Gaps {
    pub(super) fn read(path: &Path) -> Result<Gaps> {
        let document = read_yaml(path)?;
        let list = |key| {
            let root = document.as_ref().map(Document::root);
            let items = root.and_then(|root| root.get(key)).into_iter();
            items.flat_map(|list| list.items()).map(entry).collect()
        };
        let (stale, gaps): (Result<_>, Result<_>) = (list("stale"), list("gaps"));
        Ok(Gaps {
            stale: stale?,
            gaps: gaps?,
        })
    }

    /// The entry of a case, if any. Gaps apply only to kiln.
    pub(super) fn listed(&self, case: &Case, subject: &Subject) -> Option<KnownGap<'_>> {
        let find = |entries: &'_ [Entry]| entries.iter().position(|entry| entry.is_about(case));
        if let Some(entry) = find(&self.stale).and_then(|at| self.stale.get(at)) {
            return Some(KnownGap {
                kind: "stale",
                reason: &entry.reason,
            });
        }
        let entry = find(&self.gaps).and_then(|at| self.gaps.get(at))?;
        subject.is_kiln().then_some(KnownGap {
            kind: "known gap",
            reason: &entry.reason,
        })
    }
}

impl Entry {
    /// Whether the case's directory ends in the listed path, by whole components.
    fn is_about(&self, case: &Case) -> bool {
        case.dir.ends_with(&self.case)
    }
}

fn entry(node: NodeRef<'_>) -> Result<Entry> {
    let text = |key| node.get(key).map(NodeRef::value).unwrap_or_default().trim();
    let (case, reason) = (text("case"), text("reason"));
    if case.is_empty() || reason.is_empty() {
        bail!("a known gap needs a case and a reason: {case:?}, {reason:?}");
    }
    Ok(Entry {
        case: case.to_owned(),
        reason: reason.to_owned(),
    })
}

impl KnownGap<'_> {
    /// The problem if a listed case passes.
    pub(super) fn no_longer(&self) -> Problem {
        Problem::plain(
            About::List,
            format!("no longer fails; take it off the list ({self})"),
        )
    }
}

impl fmt::Display for KnownGap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.reason)
    }
}
