//! `kiln fn run`: the command of kpt v0.39 that runs functions declared by resources, or one named on the command line.
//!
//! Resources and lists have the format of that time in every compatibility mode, because the functions expect it. There is no
//! default timeout.

mod discover;
mod execute;
mod flags;
mod stderr;
mod step;

use std::path::Path;

use anyhow::{Result, anyhow};
use kiln_krm::annotations::LEGACY_INDEX;
use kiln_krm::package::{
    Bytes, EmptiedFiles, ListOptions, ReadSet, Subpackages, WriteError, WriteOptions,
    check_targets, plan_write,
};
use kiln_krm::write::write_legacy_stream;
use kiln_krm::{Dialect, Resource, meta};
use kiln_package::{ApplyOptions, DiskFiles, NewFiles, available_threads};
use kiln_render::{Inventory, Lost};

use crate::compat::Compat;
use crate::error::position::{FilePosition, PositionDisplay, document_position};
use crate::error::{CommandError, ErrorClass};
use crate::interrupt::interruptible;
use crate::package::legacy_version::check_kptfiles;
use crate::package::write::write;
use crate::package::{self, Location};
use crate::report::changes::{self, Made};
use crate::ui::Ui;
use execute::{RunOutcome, execute};
use step::{Config, Step};

pub(crate) use flags::RunArgs;

pub(crate) fn cmd_run(ui: &Ui, args: &RunArgs) -> Result<()> {
    if let (Compat::KptV039, Some(dir)) = (ui.compat(), args.dirs.first()) {
        check_kptfiles(ui, dir)?;
    }
    args.check()?;
    let imperative = args.function()?;
    let location = match args.dirs.first() {
        Some(dir) => Some(Location::unresolved(dir)?),
        None => None,
    };
    let (resources, package) = match location {
        Some(location) => {
            let (resources, files) = read(ui, &location)?;
            (resources, Some((location, files)))
        }
        None => {
            let input = ui.read_data()?;
            let list = package::input(ui, input, Dialect::Legacy)?;
            (list.items, None)
        }
    };
    let before = ReadSet::of(&resources);
    let mut steps = discover::steps(ui, args, &resources, imperative)?;
    if let Some((location, files)) = &package {
        find_positions(location, files, &mut steps);
    }
    let inventory = Inventory::of(&resources);
    let RunOutcome {
        resources,
        deferred_failures,
    } = interruptible(|| execute(ui, args, resources, steps))?;
    if let Some(resources) = resources {
        // An empty list changes nothing here.
        if ui.compat() == Compat::Kiln
            && !resources.is_empty()
            && let [Lost::Resources(count), ..] = inventory.lost(&resources)[..]
        {
            ui.warn(&format!("functions removed all {count} resource(s)"));
        }
        match package {
            Some((location, files)) if !args.dry_run => {
                save(ui, &location, &files, resources, &before)?;
            }
            _ => {
                let text = interruptible(|| write_legacy_stream(resources))?;
                ui.write_data(text.as_bytes())?;
            }
        }
    }
    if deferred_failures.is_empty() {
        return Ok(());
    }
    let texts = deferred_failures.iter().filter_map(CommandError::text);
    let texts: Vec<String> = texts
        .map(|text| text.strip_prefix("error: ").unwrap_or(&text).to_owned())
        .collect();
    let message = format!(
        "error: {}",
        texts.join(
            "
---
"
        )
    );
    Err(CommandError {
        class: ErrorClass::Function,
        ..CommandError::new(message)
    }
    .into())
}

/// Adds the positions of the declarations.
fn find_positions(location: &Location, files: &DiskFiles, steps: &mut [(Step, Config)]) {
    for (step, config) in steps {
        let (path, index) = meta::file_place(config.resource.root());
        let position = document_position(files, path, index);
        let position = position.filter(|_| config.original.is_some());
        step.position = position.map(|position| FilePosition {
            file: location.show(&position.file),
            display: PositionDisplay::Path,
            ..position
        });
    }
}

/// The resources of a directory: sub-packages are not special, and Kptfiles are not resources.
fn read(ui: &Ui, location: &Location) -> Result<(Vec<Resource>, DiskFiles)> {
    let options = ListOptions::new(Dialect::Legacy, Subpackages::Ordinary);
    package::read_as(ui, location, &options, Dialect::Legacy)
}

/// Writes the resources back to their files.
fn save(
    ui: &Ui,
    location: &Location,
    files: &DiskFiles,
    resources: Vec<Resource>,
    before: &ReadSet,
) -> Result<()> {
    let (bytes, new_files) = match ui.compat() {
        Compat::Kiln => (Bytes::Keep, NewFiles::default()),
        Compat::Kpt | Compat::KptV039 => (Bytes::Reencode, NewFiles::Private),
    };
    let options = WriteOptions {
        dialect: Dialect::Legacy,
        bytes,
        emptied_files: EmptiedFiles::Delete,
        package: location.absolute(""),
        threads: available_threads(),
    };
    if resources.iter().any(|resource| resource.root().is_null()) {
        return Err(WriteError::MissingAnnotation(LEGACY_INDEX).into());
    }
    let changes = interruptible(|| plan_write(resources, before, &options))?;
    if ui.compat() == Compat::Kiln {
        let checked = check_targets(&changes, before, files);
        checked.map_err(|error| package::unless_changed(ui, files, error))?;
    }
    let options = ApplyOptions {
        new_files,
        ..ApplyOptions::default()
    };
    write(ui, location.root(), Some(files), &changes, options)?;
    changes::report(ui, &changes, Made::Yes);
    Ok(())
}

/// Writes the results of a function.
fn save_results(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let words = kiln_go::errno_text(&error);
        anyhow!("open {}: {words}", path.display())
    })
}
