//! `kiln rpkg upgrade --discover`: packages with newer upstreams.

use anyhow::{Result, bail};
use kiln_task::git::Revision;
use kiln_task::image::{ImageLock, SCHEME};

use super::image_updates::{ImageUpdateLookup, image_of, tag_of, update_labels};
use super::table::table;
use super::upstreams::{AllRevisions, UpstreamPackage, lock_of};

/// The table of revisions and the newer revisions of their upstreams.
pub(crate) fn upstream_updates(
    all: &AllRevisions,
    images: &ImageUpdateLookup<'_>,
    names: &[String],
) -> Result<String> {
    let missing: Vec<String> = names
        .iter()
        .filter(|name| all.find(name).is_none())
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
    let selected: Vec<&Revision> = match names {
        [] => revisions(all).collect(),
        names => {
            let found = names.iter().filter_map(|name| all.find(name));
            found.map(|(_, revision)| revision).collect()
        }
    };
    for revision in selected {
        let name = revision.name.to_string();
        let (repository, updates) = match image_of(revision) {
            Some(lock) => image_updates(images, &lock),
            None => revision_updates(all, revision),
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

/// The upstream repository of a revision, and the newer revisions in it, if they are known.
type Updates = (String, Option<Vec<String>>);

fn image_updates(images: &ImageUpdateLookup<'_>, lock: &ImageLock) -> Updates {
    let repository = lock.repository().unwrap_or_else(|_| lock.image.clone());
    let updates = images.updates(lock);
    let updates = updates.map(|updates| update_labels(lock, &updates));
    (format!("{SCHEME}{repository}"), updates)
}

fn revision_updates(all: &AllRevisions, revision: &Revision) -> Updates {
    let upstream = all.upstream_of(revision);
    let updates = upstream
        .iter()
        .flat_map(|upstream| newer(upstream, revision))
        .map(|(number, _)| format!("v{number}"))
        .collect();
    let repository = upstream.map(|upstream| upstream.repository.config.name.clone());
    (repository.unwrap_or_default(), Some(updates))
}

/// The table of published revisions, or images, and the packages that were made from an older one.
pub(crate) fn downstream_updates(
    all: &AllRevisions,
    images: &ImageUpdateLookup<'_>,
    names: &[String],
) -> String {
    let header = [
        "PACKAGE REVISION",
        "DOWNSTREAM PACKAGE",
        "DOWNSTREAM UPDATE",
    ];
    let mut rows = Vec::new();
    let is_selected = |name: &String| names.is_empty() || names.contains(name);
    for revision in revisions(all) {
        if let Some(lock) = image_of(revision) {
            let downstream = revision.name.to_string();
            let newer = newer_images(images, &lock).into_iter();
            let newer = newer.filter(|(image, _)| is_selected(image));
            rows.extend(newer.map(|(image, step)| [image, downstream.clone(), step]));
            continue;
        }
        let Some(upstream) = all.upstream_of(revision) else {
            continue;
        };
        for (number, update) in newer(&upstream, revision) {
            let name = update.name.to_string();
            if is_selected(&name) {
                let from = short_upstream_ref(revision);
                rows.push([
                    name,
                    revision.name.to_string(),
                    format!("{from}->v{number}"),
                ]);
            }
        }
    }
    if rows.is_empty() {
        return images.no_updates_message().to_owned();
    }
    rows.sort();
    rows.insert(0, header.map(str::to_owned));
    table(&rows)
}

/// The images that are newer than that of a lock, each with the text `OLD->NEW`.
fn newer_images(images: &ImageUpdateLookup<'_>, lock: &ImageLock) -> Vec<(String, String)> {
    let Some(updates) = images.updates(lock) else {
        return Vec::new();
    };
    let from = tag_of(lock);
    let moved = updates.moved.iter().map(|_| &from);
    let tags = moved.chain(&updates.newer);
    let image = |(tag, label): (&String, String)| {
        let image = lock.other(tag).ok()?;
        Some((format!("{SCHEME}{image}"), format!("{from}->{label}")))
    };
    tags.zip(update_labels(lock, &updates))
        .filter_map(image)
        .collect()
}

fn revisions(all: &AllRevisions) -> impl Iterator<Item = &Revision> {
    let snapshots = all.0.iter();
    snapshots.flat_map(|(_, snapshot)| &snapshot.revisions)
}

/// The upstream revisions that are newer than the one that a revision was made from.
fn newer<'a>(upstream: &UpstreamPackage<'a>, revision: &Revision) -> Vec<(u64, &'a Revision)> {
    let number = lock_of(revision).and_then(|lock| number(&lock.git_ref));
    let published = upstream.published.iter().copied();
    published
        .filter(|(own, _)| *own > number.unwrap_or(0))
        .collect()
}

/// The ref that a revision was made from, shortened.
fn short_upstream_ref(revision: &Revision) -> String {
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
