//! `kiln rpkg upgrade`

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use kiln_go::quote;
use kiln_task::git::Revision;
use kiln_task::image::SCHEME;
use kiln_task::merge::{Conflict, Taken};
use kiln_task::{
    Engine, Lifecycle, NewRevision, PackageMetadata, RevisionRef, Strategy, Task, UpgradeTask,
};

use super::print_status;
use crate::complete;
use crate::error::{CommandError, bail_usage};
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::image_updates::{ImageUpdateLookup, image_error, image_of, target_image};
use crate::rpkg::render_flags::RenderFlags;
use crate::rpkg::updates::{downstream_updates, upstream_updates};
use crate::rpkg::upstreams::{AllRevisions, UpstreamPackage, lock_of};
use crate::ui::Ui;

/// Create a revision of a package with a newer upstream revision merged in
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln rpkg upgrade deployments.web.v1 --workspace v2\n\
    \x20 kiln rpkg upgrade --discover upstream")]
pub(super) struct UpgradeArgs {
    /// Published revision to upgrade (required); with --discover, revisions to list
    #[arg(value_name = "SOURCE_PACKAGE_REVISION", add = ArgValueCompleter::new(complete::revisions))]
    names: Vec<String>,
    /// Workspace name of the new revision, unique within the package (required, except with --discover)
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Number of the upstream revision. Default: the latest
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "0",
        allow_negative_numbers = true
    )]
    revision: i64,
    /// For a package that was cloned from an image: tag, digest or address of the new image. Default: the highest version
    #[arg(long, value_name = "TAG|DIGEST|oci://IMAGE")]
    r#ref: Option<String>,
    /// Merge strategy: resource-merge, fast-forward, force-delete-replace or copy-merge
    #[arg(long, value_name = "STRATEGY", default_value = "resource-merge")]
    strategy: String,
    /// Only list the available updates
    #[arg(long, value_name = "upstream|downstream")]
    discover: Option<String>,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum Direction {
    Upstream,
    Downstream,
}

pub(super) fn cmd_upgrade(ui: &Ui, args: &UpgradeArgs) -> Result<()> {
    if let Some(direction) = &args.discover {
        let Ok(direction) = Direction::from_str(direction, false) else {
            bail_usage!("argument for 'discover' must be one of 'upstream' or 'downstream'");
        };
        let session = args.write.open(&args.render.ui(ui))?.with_images()?;
        let all = AllRevisions(session.all_snapshots(ui)?);
        let images = session.repositories.images().map_err(image_error)?;
        let images = ImageUpdateLookup::new(ui, images);
        let text = match direction {
            Direction::Upstream => upstream_updates(&all, &images, &args.names)?,
            Direction::Downstream => downstream_updates(&all, &images, &args.names),
        };
        return ui.write_data(text.as_bytes());
    }
    let name = match &args.names[..] {
        [name] => name,
        [] => bail_usage!("SOURCE_PACKAGE_REVISION is a required positional argument"),
        _ => bail_usage!(
            "too many arguments; SOURCE_PACKAGE_REVISION is the only accepted positional arguments"
        ),
    };
    if args.revision < 0 {
        bail_usage!("revision must be positive (and not main)");
    }
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail_usage!("workspace is required");
    };
    let strategy: Strategy = args.strategy.parse()?;
    let session = args.write.open(&args.render.ui(ui))?.with_images()?;
    let local = session.find(name)?.revision;
    if !local.lifecycle.is_published() {
        return Err(not_published(name, local.lifecycle));
    }
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let engine = session.engine(&setup, &log);
    let (old, new) = match (image_of(&local), &args.r#ref) {
        (Some(lock), requested) => {
            let images = session.repositories.images().map_err(image_error)?;
            let new = target_image(&lock, &*images, requested.as_deref(), args.revision)?;
            (
                format!("{SCHEME}{}", lock.exact().map_err(image_error)?),
                new,
            )
        }
        (None, None) => {
            let all = AllRevisions(session.all_snapshots(ui)?);
            revisions(&all, &engine, &local, args.revision)?
        }
        (None, Some(_)) => bail_usage!(
            "{name} was not cloned from an image; choose the upstream revision with --revision"
        ),
    };
    if args.revision == 0 && args.r#ref.is_none() && old == new {
        ui.print_message(&format!(
            "{name} is up to date: its upstream {new} is the latest; nothing was created"
        ));
        return Ok(());
    }
    let new = NewRevision {
        name: local.name.package.revision(workspace),
        task: Some(Task::Upgrade(UpgradeTask {
            old_upstream: RevisionRef { name: old },
            new_upstream: RevisionRef { name: new },
            local: RevisionRef { name: name.clone() },
            strategy: Some(strategy),
        })),
        metadata: PackageMetadata::default(),
    };
    let created = engine.create(&new);
    let created = created.map_err(|error| session.explain(error))?;
    print_conflicts(ui, name, &created.name.to_string(), &created.conflicts);
    print_status(ui, name, &format!("upgraded to {}", created.name))
}

/// The names of the upstream revision that a package was made from, empty if it no longer exists, and of the new one.
fn revisions(
    all: &AllRevisions,
    engine: &Engine<'_>,
    local: &Revision,
    number: i64,
) -> Result<(String, String)> {
    // Without an upstream in the Kptfile, the history of the package may name it.
    let from_history = match all.upstream_of(local) {
        Some(_) => None,
        None => engine.upstream_of(&engine.find(&local.name.to_string())?)?,
    };
    let upstream = match &from_history {
        Some(located) => all.upstream_with(&located.revision),
        None => all.upstream_of(local),
    };
    let upstream = upstream.ok_or_else(|| no_upstream(local))?;
    let target = target(&upstream, number)?;
    let old = upstream.current.map(|current| current.name.to_string());
    Ok((old.unwrap_or_default(), target.name.to_string()))
}

fn target<'a>(upstream: &UpstreamPackage<'a>, number: i64) -> Result<&'a Revision> {
    let mut published = upstream.published.iter().rev();
    let found = match number {
        0 => published.next(),
        number => published.find(|(own, _)| i64::try_from(*own) == Ok(number)),
    };
    match (found, upstream.published.last()) {
        (Some((_, revision)), _) => Ok(revision),
        (None, last) => {
            let package = last.map(|(_, last)| last.name.package.path.as_str());
            bail!(
                "revision {number} does not exist for package {} in repo {}",
                package.unwrap_or_default(),
                upstream.repository.config.name
            )
        }
    }
}

fn not_published(name: &str, lifecycle: Lifecycle) -> anyhow::Error {
    let error = anyhow!(
        "to upgrade a package, it must be in a published state, not {}",
        quote(lifecycle.as_str())
    );
    let approve = format!("`kiln rpkg approve {name}`");
    let hint = match lifecycle {
        Lifecycle::Draft => format!("publish it with `kiln rpkg propose {name}` and {approve}"),
        _ => format!("publish it with {approve}"),
    };
    CommandError::with_hint(error, hint).into()
}

fn no_upstream(local: &Revision) -> anyhow::Error {
    let name = quote(&local.name.package.path);
    let Some(lock) = lock_of(local) else {
        let error = anyhow!(
            "upstream source not found for package revision {name}: no clone or upgrade type package revision was found in the history of the package"
        );
        let hint = "only packages that `kiln rpkg clone` has created have an upstream";
        return CommandError::with_hint(error, hint).into();
    };
    let error = anyhow!(
        "upstream source not found for package revision {name}: no known repository has {} of {}",
        lock.directory,
        lock.repo
    );
    let hint = format!("register it with `kiln repo register {}`", lock.repo);
    CommandError::with_hint(error, hint).into()
}

/// Prints the conflicts, and how to review them.
fn print_conflicts(ui: &Ui, old: &str, new: &str, conflicts: &[Conflict]) {
    for conflict in conflicts {
        ui.warn(&format!("conflict in {conflict}"));
    }
    if !conflicts.is_empty() {
        let is_upstream = conflicts.iter().all(|one| one.taken == Taken::Upstream);
        let (what, it) = match (conflicts.len(), is_upstream) {
            (1, true) => (
                "1 conflict: the upstream value replaced yours".to_owned(),
                "it",
            ),
            (1, false) => ("1 conflict: your value was kept".to_owned(), "it"),
            (count, true) => (
                format!("{count} conflicts: the upstream values replaced yours"),
                "them",
            ),
            (count, false) => (
                format!("{count} conflicts: the value that was not taken is lost"),
                "them",
            ),
        };
        ui.print_message(&format!(
            "{what}; review {it} with `kiln rpkg diff {old} {new}` before proposing"
        ));
    }
}
