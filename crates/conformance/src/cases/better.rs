//! `conformance/better-than-kpt.yaml`: cases with a deliberately different result in kiln's own mode, each with the difference
//! and why it is better. A listed case that differs in fewer or more points fails the run.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kiln_yaml::{Document, NodeRef};

use super::case::{Case, read_yaml};
use super::judge::{About, Problem, Verdict};

/// All listed cases.
pub(super) struct Better {
    entries: Vec<BetterCase>,
}

struct BetterCase {
    case: String,
    differs: BTreeSet<About>,
    reason: String,
}

impl Better {
    pub(super) fn read(path: &Path) -> Result<Better> {
        let document = read_yaml(path)?;
        let root = document.as_ref().map(Document::root);
        let items = root.into_iter().flat_map(|list| list.items());
        let entries: Result<_> = items.map(entry).collect();
        Ok(Better { entries: entries? })
    }

    /// The verdict for a case that may be listed as different.
    pub(super) fn apply(&self, case: &Case, verdict: Verdict) -> Verdict {
        let listed = |entry: &&BetterCase| case.dir.ends_with(&entry.case);
        let Some(entry) = self.entries.iter().find(listed) else {
            return verdict;
        };
        let problems = match verdict {
            Verdict::Skipped(_) => return verdict,
            Verdict::Passed => Vec::new(),
            Verdict::Failed(problems) => problems,
        };
        let found: BTreeSet<About> = problems.iter().map(|problem| problem.about).collect();
        if found == entry.differs {
            return Verdict::Skipped(format!("better than kpt: {}", entry.reason));
        }
        let listed = format!(
            "differs in [{}], listed as differing in [{}] ({})",
            names(&found),
            names(&entry.differs),
            entry.reason
        );
        let mut all_problems = vec![Problem::plain(About::List, listed)];
        all_problems.extend(problems);
        Verdict::Failed(all_problems)
    }
}

fn names(abouts: &BTreeSet<About>) -> String {
    let names = abouts.iter().map(About::to_string);
    names.collect::<Vec<_>>().join(", ")
}

fn entry(node: NodeRef<'_>) -> Result<BetterCase> {
    let text = |key| node.get(key).map(NodeRef::value).unwrap_or_default().trim();
    let (case, reason) = (text("case"), text("reason"));
    let differs = node.get("differs").into_iter().flat_map(NodeRef::items);
    let differs: Result<BTreeSet<About>> = differs.map(|name| about(name.value())).collect();
    let differs = differs?;
    if case.is_empty() || reason.is_empty() || differs.is_empty() {
        bail!("a case that differs needs what differs and a reason: {case:?}, {reason:?}");
    }
    Ok(BetterCase {
        case: case.to_owned(),
        differs,
        reason: reason.to_owned(),
    })
}

fn about(name: &str) -> Result<About> {
    let mut names = About::NAMES.iter();
    let found = names.find(|(known, _)| *known == name);
    found
        .map(|(_, about)| *about)
        .with_context(|| format!("no part of a case is called {name:?}"))
}
