//! `kiln rpkg upgrade`

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use kiln_krm::gotext::quote;
use kiln_task::git::Revision;
use kiln_task::image::SCHEME;
use kiln_task::merge::Conflict;
use kiln_task::{Engine, NewRevision, PackageMetadata, RevisionRef, Strategy, Task, UpgradeTask};

use super::discover::{downstream_updates, upstream_updates};
use super::done;
use super::images::{self, Images, failure, image_of};
use super::place::ChangeArgs;
use super::rendering::RenderFlags;
use super::upstreams::{Known, Upstream};
use crate::ui::{Details, Failed, Ui};

/// Begin a new revision of a package with a newer revision of its upstream merged in
#[derive(Args, Debug)]
pub(super) struct UpgradeArgs {
    /// The published revision to start from; with --discover, revisions to tell about
    #[arg(value_name = "SOURCE_PACKAGE_REVISION")]
    names: Vec<String>,
    /// What tells the new revision from others of the package
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// The number of the upstream's revision; the latest if not given
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "0",
        allow_negative_numbers = true
    )]
    revision: i64,
    /// For a package that came from an image: the tag, the digest or the whole address of the image to bring it to; the
    /// highest version if not given
    #[arg(long, value_name = "TAG|DIGEST|oci://IMAGE")]
    r#ref: Option<String>,
    /// How to put them together: resource-merge, fast-forward, force-delete-replace or copy-merge
    #[arg(long, value_name = "STRATEGY", default_value = "resource-merge")]
    strategy: String,
    /// Only tell which updates there are
    #[arg(long, value_name = "upstream|downstream")]
    discover: Option<String>,
    #[command(flatten)]
    change: ChangeArgs,
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
            bail!("argument for 'discover' must be one of 'upstream' or 'downstream'");
        };
        let session = args.change.open()?.with_images()?;
        let known = Known(session.all_snapshots(ui)?);
        let images = session.repositories.images().map_err(failure)?;
        let images = Images::new(ui, images);
        let text = match direction {
            Direction::Upstream => upstream_updates(&known, &images, &args.names)?,
            Direction::Downstream => downstream_updates(&known, &images, &args.names),
        };
        return ui.write_data(text.as_bytes());
    }
    let name = match &args.names[..] {
        [name] => name,
        [] => bail!("SOURCE_PACKAGE_REVISION is a required positional argument"),
        _ => bail!(
            "too many arguments; SOURCE_PACKAGE_REVISION is the only accepted positional arguments"
        ),
    };
    if args.revision < 0 {
        bail!("revision must be positive (and not main)");
    }
    let workspace = args.workspace.as_ref().filter(|name| !name.is_empty());
    let Some(workspace) = workspace else {
        bail!("workspace is required");
    };
    let strategy: Strategy = args.strategy.parse()?;
    let session = args.change.open()?.with_images()?;
    let (_, local) = session.find(name)?;
    if !local.lifecycle.is_published() {
        bail!(
            "to upgrade a package, it must be in a published state, not {}",
            quote(local.lifecycle.as_str())
        );
    }
    let rendering = args.render.check()?;
    let log = args.render.log(ui);
    let engine = session.engine(&rendering, &log);
    let (old, new) = match (image_of(&local), &args.r#ref) {
        (Some(lock), wanted) => {
            let images = session.repositories.images().map_err(failure)?;
            let new = images::target(&lock, &*images, wanted.as_deref(), args.revision)?;
            (format!("{SCHEME}{}", lock.exact().map_err(failure)?), new)
        }
        (None, None) => {
            let known = Known(session.all_snapshots(ui)?);
            revisions(&known, &engine, &local, args.revision)?
        }
        (None, Some(_)) => bail!(
            "{name} did not come from an image; --revision chooses the revision of its upstream"
        ),
    };
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
    let created = engine.create(&new)?;
    tell_conflicts(ui, &created.conflicts);
    done(ui, name, &format!("upgraded to {}", created.name))
}

/// The names of the revision that a package was made from, empty if it is gone, and of the one that is asked for.
fn revisions(
    known: &Known,
    engine: &Engine<'_>,
    local: &Revision,
    number: i64,
) -> Result<(String, String)> {
    // A Kptfile that says nothing may still have a history that does.
    let remembered = match known.upstream_of(local) {
        Some(_) => None,
        None => engine.upstream_of(&engine.find(&local.name.to_string())?)?,
    };
    let upstream = match &remembered {
        Some(located) => known.upstream_with(&located.revision),
        None => known.upstream_of(local),
    };
    let upstream = upstream.ok_or_else(|| no_upstream(local))?;
    let target = target(&upstream, number)?;
    let old = upstream.current.map(|current| current.name.to_string());
    Ok((old.unwrap_or_default(), target.name.to_string()))
}

/// The revision of the upstream that is asked for.
fn target<'a>(upstream: &Upstream<'a>, number: i64) -> Result<&'a Revision> {
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

fn no_upstream(local: &Revision) -> anyhow::Error {
    let name = quote(&local.name.package.path);
    let Some(lock) = super::upstreams::lock_of(local) else {
        return anyhow!(
            "upstream source not found for package revision {name}: no clone or upgrade type package revision was found in the history of the package"
        );
    };
    Failed {
        message: Some(format!(
            "error: upstream source not found for package revision {name}: no repository is known that has {} of {}",
            lock.directory, lock.repo
        )),
        details: Details {
            hint: Some(format!("`kiln repo register {}`", lock.repo)),
            ..Details::default()
        },
    }
    .into()
}

/// Says what both sides had changed; nothing if there is nothing.
fn tell_conflicts(ui: &Ui, conflicts: &[Conflict]) {
    for conflict in conflicts {
        ui.warn(&format!("conflict in {conflict}"));
    }
    if !conflicts.is_empty() {
        let count = conflicts.len();
        ui.say(&format!(
            "{count} conflict(s): what is not taken is lost in the new revision; look at it before proposing it"
        ));
    }
}
