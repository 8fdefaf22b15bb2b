//! `kiln rpkg upgrade --discover`: which packages have newer upstreams.

use anyhow::{Result, bail};
use kiln_task::git::Revision;
use kiln_task::image::{ImageLock, SCHEME};

use super::images::{Images, image_of, tag_of, words};
use super::table::table;
use super::upstreams::{Known, Upstream, lock_of};

/// For each revision the newer revisions of its upstream.
pub(super) fn upstream_updates(
    known: &Known,
    images: &Images<'_>,
    names: &[String],
) -> Result<String> {
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
    let asked: Vec<&Revision> = match names {
        [] => revisions(known).collect(),
        names => {
            let found = names.iter().filter_map(|name| known.find(name));
            found.map(|(_, revision)| revision).collect()
        }
    };
    for revision in asked {
        let name = revision.name.to_string();
        let (repository, updates) = match image_of(revision) {
            Some(lock) => image_updates(images, &lock),
            None => revision_updates(known, revision),
        };
        let updates = match updates {
            None => "Unknown".to_owned(),
            Some(updates) if updates.is_empty() => "No update available".to_owned(),
            Some(updates) => updates.join(", "),
        };
        rows.push([name, repository, updates]);
    }
    Ok(table(&rows))
}

/// Where a revision comes from, and what is newer there; no answer if nobody can be asked.
type Updates = (String, Option<Vec<String>>);

fn image_updates(images: &Images<'_>, lock: &ImageLock) -> Updates {
    let repository = lock.repository().unwrap_or_else(|_| lock.image.clone());
    let updates = images.updates(lock);
    let updates = updates.map(|updates| words(lock, &updates));
    (format!("{SCHEME}{repository}"), updates)
}

fn revision_updates(known: &Known, revision: &Revision) -> Updates {
    let upstream = known.upstream_of(revision);
    let updates = upstream
        .iter()
        .flat_map(|upstream| newer(upstream, revision))
        .map(|(number, _)| format!("v{number}"))
        .collect();
    let repository = upstream.map(|upstream| upstream.repository.config.name.clone());
    (repository.unwrap_or_default(), Some(updates))
}

/// For each published revision the packages that were made from an older one of it.
/// Images stand in the first column by their addresses.
pub(super) fn downstream_updates(known: &Known, images: &Images<'_>, names: &[String]) -> String {
    let header = [
        "PACKAGE REVISION",
        "DOWNSTREAM PACKAGE",
        "DOWNSTREAM UPDATE",
    ];
    let mut rows = Vec::new();
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    for revision in revisions(known) {
        if let Some(lock) = image_of(revision) {
            let downstream = revision.name.to_string();
            let newer = newer_images(images, &lock).into_iter();
            let newer = newer.filter(|(image, _)| is_wanted(image));
            rows.extend(newer.map(|(image, step)| [image, downstream.clone(), step]));
            continue;
        }
        let Some(upstream) = known.upstream_of(revision) else {
            continue;
        };
        for (number, update) in newer(&upstream, revision) {
            let name = update.name.to_string();
            if is_wanted(&name) {
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
        return images.nothing_newer().to_owned();
    }
    rows.sort();
    rows.insert(0, header.map(str::to_owned));
    table(&rows)
}

/// The images that are newer than that of a lock, and from which tag to which they lead.
fn newer_images(images: &Images<'_>, lock: &ImageLock) -> Vec<(String, String)> {
    let Some(updates) = images.updates(lock) else {
        return Vec::new();
    };
    let from = tag_of(lock);
    let moved = updates.moved.iter().map(|_| &from);
    let tags = moved.chain(&updates.newer);
    let image = |(tag, word): (&String, String)| {
        let image = lock.other(tag).ok()?;
        Some((format!("{SCHEME}{image}"), format!("{from}->{word}")))
    };
    tags.zip(words(lock, &updates)).filter_map(image).collect()
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
