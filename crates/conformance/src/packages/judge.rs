//! What is asked of kiln, with kpt as the measure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use kiln_yaml::{Document, NodeRef, parse_all};
use similar::{ChangeTag, TextDiff};

use super::package::Package;
use super::peers::{Files, Peers, Rendered, Tool};
use crate::cases::values;
use crate::report;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PackageCheck {
    /// Whether rendering succeeds, in kpt's mode.
    CompatExit,
    /// All files to the byte, in kpt's mode.
    CompatBytes,
    /// Whether rendering succeeds, by default.
    Exit,
    /// The values of all files.
    Values,
    /// That comments are neither lost nor doubled.
    Comments,
    /// How many lines change.
    Lines,
    /// That rendering again changes nothing.
    Idempotence,
}

impl fmt::Display for PackageCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PackageCheck::CompatExit => "compat-exit",
            PackageCheck::CompatBytes => "compat-bytes",
            PackageCheck::Exit => "exit",
            PackageCheck::Values => "values",
            PackageCheck::Comments => "comments",
            PackageCheck::Lines => "lines",
            PackageCheck::Idempotence => "idempotence",
        })
    }
}

/// What differs.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) check: PackageCheck,
    pub(super) text: String,
}

/// All checks that a package fails.
pub(super) fn judge(package: &Package, peers: &Peers) -> Result<Vec<Difference>> {
    let render = |tool| peers.render(package, tool, 1);
    let (kpt, compat) = (render(Tool::Kpt)?, render(Tool::KilnAsKpt)?);
    let kiln = peers.render(package, Tool::Kiln, 2)?;
    let ([kpt], [compat], [kiln, kiln_again]) =
        (kpt.as_slice(), compat.as_slice(), kiln.as_slice())
    else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    all.extend(exit(PackageCheck::CompatExit, kpt, compat));
    if kpt.is_success && compat.is_success {
        all.extend(files(PackageCheck::CompatBytes, kpt, compat, |_, a, b| {
            a == b
        }));
    }
    all.extend(exit(PackageCheck::Exit, kpt, kiln));
    if kpt.is_success && kiln.is_success {
        // Of a key that is there twice kpt writes the first value twice; kiln keeps both.
        if !package.files.values().any(|text| has_repeated_key(text)) {
            all.extend(files(PackageCheck::Values, kpt, kiln, is_same));
            all.extend(comments(&package.files, &kpt.files, &kiln.files));
            all.extend(lines(&package.files, &kpt.files, &kiln.files));
        }
        let moved = files(PackageCheck::Idempotence, kiln, kiln_again, |_, a, b| {
            a == b
        });
        if let Some(moved) = moved
            && comes_to_rest(package, peers)?
        {
            all.push(moved);
        }
    }
    Ok(all)
}

/// Whether kpt's values stay as they are when it renders again: some pipelines change something each time. kpt is slow, so it
/// is asked only if kiln's files changed.
fn comes_to_rest(package: &Package, peers: &Peers) -> Result<bool> {
    let kpt = peers.render(package, Tool::Kpt, 2)?;
    let [first, second] = kpt.as_slice() else {
        return Ok(true);
    };
    let is_same = |_: &str, a: &str, b: &str| values::are_same(a, b);
    Ok(files(PackageCheck::Values, first, second, is_same).is_none())
}

fn exit(check: PackageCheck, kpt: &Rendered, kiln: &Rendered) -> Option<Difference> {
    (kpt.is_success != kiln.is_success).then(|| Difference {
        check,
        text: format!(
            "kpt {}, kiln {}; kpt:\n{}\nkiln:\n{}",
            success(kpt),
            success(kiln),
            kpt.talk,
            kiln.talk
        ),
    })
}

/// Whether a mapping of a file has a key twice.
pub(super) fn has_repeated_key(text: &str) -> bool {
    let documents = parse_all(text.as_bytes()).unwrap_or_default();
    let mut pending: Vec<NodeRef<'_>> = documents.iter().map(Document::root).collect();
    while let Some(node) = pending.pop() {
        let mut keys = BTreeSet::new();
        if !node.entries().all(|(key, _)| keys.insert(key.value())) {
            return true;
        }
        pending.extend(node.entries().map(|(_, value)| value));
        pending.extend(node.items());
    }
    false
}

fn success(rendered: &Rendered) -> &'static str {
    match rendered.is_success {
        true => "succeeds",
        false => "fails",
    }
}

/// The first file that differs.
fn files(
    check: PackageCheck,
    wanted: &Rendered,
    got: &Rendered,
    is_same: impl Fn(&str, &str, &str) -> bool,
) -> Option<Difference> {
    let mut paths: Vec<&String> = wanted.files.keys().chain(got.files.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().find_map(|path| {
        let text = match (wanted.files.get(path), got.files.get(path)) {
            (Some(a), Some(b)) if is_same(path, a, b) => return None,
            (Some(a), Some(b)) => format!("{path}:\n{}", report::diff(a, b, true)),
            (None, _) => format!("{path} is not expected"),
            (_, None) => format!("{path} is missing"),
        };
        Some(Difference { check, text })
    })
}

/// By value; JSON and YAML alike, which the one is a part of. The Kptfile is compared in kpt's mode only.
fn is_same(path: &str, wanted: &str, got: &str) -> bool {
    path == "Kptfile" || values::are_same(wanted, got)
}

/// Comments that kpt keeps are there, and none is there more often than in the input or in kpt's output.
pub(super) fn comments(input: &Files, kpt: &Files, kiln: &Files) -> Option<Difference> {
    let kept = kept_comments(input, kpt);
    let (input, kpt, kiln) = (count(input), count(kpt), count(kiln));
    let of =
        |counts: &BTreeMap<String, usize>, comment: &str| counts.get(comment).copied().unwrap_or(0);
    let mut names = input.keys().chain(kpt.keys()).chain(kiln.keys());
    let wrong = names.find_map(|comment| {
        let (had, with_kpt, got) = (of(&input, comment), of(&kpt, comment), of(&kiln, comment));
        let what = if got < of(&kept, comment).min(had) {
            "lost"
        } else if got > with_kpt.max(had) {
            "doubled"
        } else {
            return None;
        };
        Some(format!(
            "the comment {comment:?} is {what}: {had} times in the input, {with_kpt} with kpt, {got} with kiln"
        ))
    });
    wrong.map(|text| Difference {
        check: PackageCheck::Comments,
        text,
    })
}

/// Comments that kpt keeps. What it doubles in one file does not make up for what it removes with a resource of another one.
fn kept_comments(input: &Files, kpt: &Files) -> BTreeMap<String, usize> {
    let mut kept = BTreeMap::new();
    for (path, text) in kpt {
        let had = input.get(path).map(|text| count_in(path, text));
        for (comment, times) in count_in(path, text) {
            let had = had
                .as_ref()
                .map(|had| had.get(&comment).copied().unwrap_or(0));
            *kept.entry(comment).or_default() += had.map_or(times, |had| had.min(times));
        }
    }
    kept
}

/// Comments by text. What looks like one inside of a text counts the same in all outputs.
fn count(files: &Files) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (path, text) in files {
        for (comment, times) in count_in(path, text) {
            *counts.entry(comment).or_default() += times;
        }
    }
    counts
}

fn count_in(path: &str, text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    if path.ends_with("Kptfile") || path.ends_with(".json") {
        return counts;
    }
    for line in text.lines() {
        let comment = match line.trim_start().strip_prefix('#') {
            Some(comment) => Some(comment),
            None => line.split_once(" #").map(|(_, comment)| comment),
        };
        if let Some(comment) = comment {
            *counts.entry(comment.trim().to_owned()).or_default() += 1;
        }
    }
    counts
}

/// kiln changes no more lines of the input than kpt does.
fn lines(input: &Files, kpt: &Files, kiln: &Files) -> Option<Difference> {
    let (with_kpt, with_kiln) = (changed(input, kpt), changed(input, kiln));
    (with_kiln > with_kpt).then(|| {
        let diffs: String = kiln
            .iter()
            .filter(|(path, text)| *path != "Kptfile" && input.get(*path) != Some(text))
            .map(|(path, text)| {
                let old = input.get(path).map_or("", String::as_str);
                format!("{path}:\n{}\n", report::diff(old, text, true))
            })
            .collect();
        Difference {
            check: PackageCheck::Lines,
            text: format!("kiln changes {with_kiln} lines, kpt {with_kpt}; kiln:\n{diffs}"),
        }
    })
}

/// How many lines change. Lines that a new file has from another one do not count: kpt writes some of them in fewer lines, or
/// loses them.
fn changed(old: &Files, new: &Files) -> usize {
    let known: BTreeSet<&str> = old.values().flat_map(|text| text.lines()).collect();
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.retain(|path| *path != "Kptfile");
    paths.sort();
    paths.dedup();
    let text = |files: &Files, path: &str| files.get(path).cloned().unwrap_or_default();
    let changes = |path: &&String| {
        let is_new = !old.contains_key(*path);
        let (old, new) = (text(old, path), text(new, path));
        let diff = TextDiff::from_lines(&old, &new);
        let changes = diff.iter_all_changes();
        changes
            .filter(|change| match change.tag() {
                ChangeTag::Equal => false,
                ChangeTag::Delete => true,
                ChangeTag::Insert => {
                    !is_new || !known.contains(change.value().trim_end_matches(['\r', '\n']))
                }
            })
            .count()
    };
    paths.iter().map(changes).sum()
}
