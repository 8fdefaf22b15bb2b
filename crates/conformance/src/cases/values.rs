//! Comparison by value, for cases of kpt v0.39 and for the default mode: files and output must have the same values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use kiln_yaml::{Document, NodeRef, parse_all};

use super::case::Case;
use super::case_environment::CaseEnvironment;
use super::judge::{About, Problem};
use super::process::Outcome;

fn about_files(sentence: String) -> Problem {
    Problem::plain(About::Files, sentence)
}

/// Problems of the output. Messages are compared as text, data by value.
pub(super) fn streams(
    case: &Case,
    environment: &CaseEnvironment,
    outcome: &Outcome,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let wanted = case.config.stderr.as_deref().unwrap_or_default();
    let stderr = environment.without_directory(&outcome.stderr);
    if stderr != wanted {
        problems.push(Problem::text(About::Stderr, "stderr", wanted, &stderr));
    }
    let wanted = case.config.stdout.as_deref().unwrap_or_default();
    if !are_same(wanted, &outcome.stdout) {
        problems.push(Problem::text(
            About::Stdout,
            "stdout",
            wanted,
            &outcome.stdout,
        ));
    }
    problems
}

/// Problems of the files of the copy, compared with those of the case after the recorded change. `is_same` gets a path and
/// the expected and actual content.
pub(super) fn files(
    case: &Case,
    environment: &CaseEnvironment,
    is_same: impl Fn(&str, &str, &str) -> bool,
) -> Result<Vec<Problem>> {
    let directory = environment.top().join("wanted");
    environment.copy_case(case, &directory)?;
    if case
        .expected("diff.patch")
        .is_some_and(|patch| !patch.is_empty())
    {
        environment.apply_patch(&directory, &case.dir.join(".expected/diff.patch"))?;
    }
    let (wanted, got) = (contents(&directory)?, contents(environment.copy())?);
    let mut problems = Vec::new();
    for path in got.keys().filter(|path| !wanted.contains_key(*path)) {
        problems.push(about_files(format!("{path} is not expected")));
    }
    for (path, wanted) in &wanted {
        match got.get(path) {
            None => problems.push(about_files(format!("{path} is missing"))),
            Some(got) if is_same(path, wanted, got) => {}
            Some(got) => problems.push(Problem::text(About::Files, path, wanted, got)),
        }
    }
    Ok(problems)
}

/// All files below a directory with their content, without git's own.
fn contents(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                pending.push(path);
                continue;
            }
            // A link is compared by its target's name, which may not exist.
            let content = match fs::read_link(&path) {
                Ok(target) => format!("link to {}", target.display()),
                Err(_) => String::from_utf8_lossy(&fs::read(&path)?).into_owned(),
            };
            all.insert(path.strip_prefix(root)?.display().to_string(), content);
        }
    }
    Ok(all)
}

pub(crate) fn are_same(wanted: &str, got: &str) -> bool {
    wanted == got || documents(wanted).is_some_and(|wanted| documents(got) == Some(wanted))
}

/// The documents of a text in canonical form; `None` if it is not YAML.
fn documents(text: &str) -> Option<Vec<String>> {
    let documents = parse_all(text.as_bytes()).ok()?;
    let roots = documents.iter().map(Document::root);
    // An empty document is not a resource in any tool.
    let values = roots.filter(|root| !root.is_null()).map(value);
    Some(values.collect())
}

/// A value in canonical form. The cases are small, so this may recurse.
fn value(node: NodeRef<'_>) -> String {
    if node.is_mapping() {
        let mut pairs: Vec<String> = node
            .entries()
            .map(|(key, item)| format!("{}: {}", value(key), value(item)))
            .collect();
        pairs.sort();
        format!("{{{}}}", pairs.join(", "))
    } else if node.is_sequence() {
        let items: Vec<String> = node.items().map(value).collect();
        format!("[{}]", items.join(", "))
    } else {
        format!("{} {:?}", node.tag(), node.value())
    }
}
