//! `kiln lock --export` and `--import`: the images of a lock file as one OCI archive, for machines without a registry.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use anyhow::{Context as _, Result};
use kiln_evaluators::by_digest;
use kiln_lock::{FunctionLock, LOCK_FILE};
use kiln_oci::{ImageReference, Platform, PullPolicy};
use kiln_store::{PullRequest, Store, StoreOptions};

use super::LockedPackage;
use crate::error::{CommandError, ErrorClass};
use crate::image_store::{NewFile, pull, store_directory};
use crate::ui::Ui;

/// The images of a lock file, by digest, each one once.
fn images(lock: &FunctionLock) -> Result<Vec<ImageReference>> {
    let mut images: Vec<ImageReference> = Vec::new();
    for function in lock.functions.values() {
        if let Some(digest) = &function.digest {
            let image = by_digest(&function.resolved, digest);
            let image = image.with_context(|| format!("{} is not an image", function.resolved))?;
            let image: ImageReference = image.parse()?;
            if !images.contains(&image) {
                images.push(image);
            }
        }
    }
    Ok(images)
}

fn open_store() -> Result<Store> {
    Ok(Store::open(&store_directory(), StoreOptions::default())?)
}

/// Writes the images, pulled if necessary. Built-in functions without a digest need no image.
pub(super) fn export(ui: &Ui, file: &Path, package: &LockedPackage) -> Result<()> {
    let lock = package.existing_lock()?;
    let images = images(lock)?;
    if images.is_empty() {
        let error = CommandError {
            class: ErrorClass::Input,
            hint: Some("run `kiln lock --digests` to add the digests of images".to_owned()),
            ..CommandError::new(format!(
                "error: {LOCK_FILE} has no digests, so there is nothing to export"
            ))
        };
        return Err(error.into());
    }
    let store = open_store()?;
    let platform = Platform::this_machine();
    for reference in &images {
        let policy = match package.setup.may_pull() {
            true => PullPolicy::IfNotPresent,
            false => PullPolicy::Never,
        };
        let request = PullRequest {
            reference: reference.clone(),
            platform: platform.clone(),
            policy,
        };
        pull(ui, &store, &request)?;
    }
    let new = NewFile::create(file)?;
    let mut writer = BufWriter::new(new.file());
    store.export_all(&images, &platform, &mut writer)?;
    drop(writer);
    new.rename()?;
    for image in &images {
        ui.write_data(format!("{image}\n").as_bytes())?;
    }
    Ok(())
}

/// Adds the images to the store, and checks that the store has all images of the lock file then.
pub(super) fn import(ui: &Ui, file: &Path, package: &LockedPackage) -> Result<()> {
    let wanted = images(package.existing_lock()?)?;
    let store = open_store()?;
    let platform = Platform::this_machine();
    let archive = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let imported = store.import(
        &mut BufReader::new(archive),
        std::slice::from_ref(&platform),
        None,
    );
    imported.with_context(|| format!("cannot import {}", file.display()))?;
    let mut missing = Vec::new();
    for image in &wanted {
        match store.find(image, &platform)? {
            Some(_) => ui.write_data(format!("{image}\n").as_bytes())?,
            None => missing.push(image.to_string()),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let error = CommandError {
        class: ErrorClass::Input,
        hint: Some("export again after the last change of the lock file".to_owned()),
        ..CommandError::new(format!(
            "error: {} does not have all images of {LOCK_FILE}: {}",
            file.display(),
            missing.join(", ")
        ))
    };
    Err(error.into())
}
