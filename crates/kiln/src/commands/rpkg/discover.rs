//! `kiln rpkg upgrade --discover`: which packages have newer upstreams.

use anyhow::{Result, bail};
use kiln_task::git::Revision;

use super::table::table;
use super::upstreams::{Known, Upstream, lock_of};

/// For each revision the newer revisions of its upstream.
pub(super) fn upstream_updates(known: &Known, names: &[String]) -> Result<String> {
    let missing: Vec<String> = names
        .iter()
        .filter(|name| known.find(name).is_none())
        .map(|name| format!("could not find package revision {name}"))
        .collect();
    if !missing.is_empty() {
        bail!("errors:\n  {}", missing.join("\n  "));
    }
    let header = [
        "PACKAGE REVISION",
        "UPSTREAM REPOSITORY",
        "UPSTREAM UPDATES",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    for revision in revisions(known) {
        let name = revision.name.to_string();
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let upstream = known.upstream_of(revision);
        let updates: Vec<String> = upstream
            .iter()
            .flat_map(|upstream| newer(upstream, revision))
            .map(|(number, _)| format!("v{number}"))
            .collect();
        let repository = upstream.map(|upstream| upstream.repository.config.name.clone());
        let updates = match updates.is_empty() {
            true => "No update available".to_owned(),
            false => updates.join(", "),
        };
        rows.push([name, repository.unwrap_or_default(), updates]);
    }
    Ok(table(&rows))
}

/// For each published revision the packages that were made from an older one of it.
pub(super) fn downstream_updates(known: &Known, names: &[String]) -> String {
    let header = [
        "PACKAGE REVISION",
        "DOWNSTREAM PACKAGE",
        "DOWNSTREAM UPDATE",
    ];
    let mut rows = Vec::new();
    for revision in revisions(known) {
        let Some(upstream) = known.upstream_of(revision) else {
            continue;
        };
        for (number, update) in newer(&upstream, revision) {
            let name = update.name.to_string();
            if names.is_empty() || names.contains(&name) {
                let from = from(revision);
                rows.push([
                    name,
                    revision.name.to_string(),
                    format!("{from}->v{number}"),
                ]);
            }
        }
    }
    if rows.is_empty() {
        return "All downstream packages are up to date.\n".to_owned();
    }
    rows.sort();
    rows.insert(0, header.map(str::to_owned));
    table(&rows)
}

fn revisions(known: &Known) -> impl Iterator<Item = &Revision> {
    let all = known.0.iter();
    all.flat_map(|(_, snapshot)| &snapshot.revisions)
}

/// The revisions of an upstream that are newer than the one that a revision was made from.
fn newer<'a>(upstream: &Upstream<'a>, revision: &Revision) -> Vec<(u64, &'a Revision)> {
    let number = lock_of(revision).and_then(|lock| number(&lock.git_ref));
    let published = upstream.published.iter().copied();
    published
        .filter(|(own, _)| *own > number.unwrap_or(0))
        .collect()
}

/// What a revision was made from, in a word.
fn from(revision: &Revision) -> String {
    let git_ref = lock_of(revision)
        .map(|lock| lock.git_ref)
        .unwrap_or_default();
    let last = git_ref.rsplit('/').next().unwrap_or_default();
    match git_ref.starts_with("drafts/") {
        true => format!("(draft {last:?})"),
        false => last.to_owned(),
    }
}

fn number(git_ref: &str) -> Option<u64> {
    if git_ref.starts_with("drafts/") {
        return None;
    }
    let last = git_ref.rsplit('/').next()?;
    last.strip_prefix('v').unwrap_or(last).parse().ok()
}
