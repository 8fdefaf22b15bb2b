//! Differences that are known: a list of checks, patterns and reasons.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use kiln_yaml::{Document, NodeRef};
use regex::Regex;

use super::judge::Difference;
use super::package::Package;

/// A difference is known if it fails the check, a pipeline has the function, and the patterns are found in what differs and in the
/// package.
struct Gap {
    check: String,
    /// Any function if empty.
    function: String,
    pattern: Regex,
    /// What the package has somewhere; anything if it is not given.
    package: Regex,
    reason: String,
}

pub(super) struct Known {
    gaps: Vec<Gap>,
}

impl Known {
    /// Reads a list; without a file nothing is known.
    pub(super) fn read(path: &Path) -> Result<Known> {
        if !path.exists() {
            return Ok(Known { gaps: Vec::new() });
        }
        let cannot_read = || format!("cannot read {}", path.display());
        let text = std::fs::read(path).with_context(cannot_read)?;
        Known::parse(&text).with_context(cannot_read)
    }

    pub(super) fn parse(text: &[u8]) -> Result<Known> {
        let document = kiln_yaml::parse_first(text)?;
        let root = document.as_ref().map(Document::root);
        let list = root.and_then(|root| root.get("gaps")).into_iter();
        let gaps = list.flat_map(|list| list.items()).map(gap);
        Ok(Known {
            gaps: gaps.collect::<Result<_>>()?,
        })
    }

    /// Why a difference is one that is to be expected.
    pub(super) fn reason(&self, package: &Package, difference: &Difference) -> Option<&str> {
        let check = difference.check.to_string();
        let mut gaps = self.gaps.iter();
        let found = gaps.find(|gap| {
            gap.check == check
                && (gap.function.is_empty() || package.has_function(&gap.function))
                && gap.pattern.is_match(&difference.text)
                && gap.package.is_match(&package.to_string())
        });
        found.map(|gap| gap.reason.as_str())
    }
}

fn gap(node: NodeRef<'_>) -> Result<Gap> {
    let text = |key| node.get(key).map(NodeRef::value).unwrap_or_default().trim();
    let (check, pattern, reason) = (text("check"), text("pattern"), text("reason"));
    if check.is_empty() || pattern.is_empty() || reason.is_empty() {
        bail!(
            "a known difference needs a check, a pattern and a reason: {check:?}, {pattern:?}, {reason:?}"
        );
    }
    Ok(Gap {
        check: check.to_owned(),
        function: text("function").to_owned(),
        pattern: Regex::new(pattern).context("pattern")?,
        package: Regex::new(text("package")).context("package")?,
        reason: reason.to_owned(),
    })
}
