//! `kiln lock` and `kiln lock --update`

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use kiln_krm::image::base_name;
use kiln_krm::{paths, similar_name};
use kiln_lock::{FunctionLock, LOCK_FILE, LockKey};
use kiln_package::ApplyOptions;

use super::{LockArgs, LockedPackage};
use crate::error::{CommandError, ErrorClass};
use crate::functions::lock::{DigestLookup, LockResolver, LockState, NativeDigests, lock_change};
use crate::ui::Ui;

pub(super) fn write(ui: &Ui, args: &LockArgs, package: &LockedPackage) -> Result<()> {
    let old = package.lock.clone().unwrap_or_default();
    let resolver = LockResolver::new(
        &package.setup,
        match args.digests {
            true => NativeDigests::All,
            false => NativeDigests::Keep,
        },
    );
    let updated = match &args.update {
        None => BTreeSet::new(),
        Some(names) => updated_keys(package, names)?,
    };
    let mut new = FunctionLock::default();
    for (key, function) in &package.declared {
        let entry = old.functions.get(key);
        let is_updated = updated.contains(key);
        let locked = match (resolver.state(key, function, &old), entry) {
            (LockState::Fits, Some(entry)) if !is_updated => entry.clone(),
            (LockState::OtherBuiltIn { locked }, Some(entry)) if !is_updated => {
                ui.warn(&format!(
                    "{LOCK_FILE} has the built-in function {locked} for {key}, this kiln has another; \
                     `kiln lock --update {}` replaces it",
                    key.image
                ));
                entry.clone()
            }
            _ => {
                let lookup = match is_updated {
                    true => DigestLookup::Registry,
                    false => DigestLookup::StoreFirst,
                };
                let resolved = resolver.resolve(function, entry, lookup);
                resolved.with_context(|| format!("cannot lock {key}"))?
            }
        };
        new.functions.insert(key.clone(), locked);
    }
    let changes = old.changes_to(&new);
    for change in &changes {
        ui.write_data(format!("{}\n", change.describe()).as_bytes())?;
    }
    let change = lock_change(&new);
    let before = kiln_krm::package::FileSource::read(&package.files, LOCK_FILE).ok();
    if before.as_deref() != Some(new.to_text().as_bytes()) {
        crate::package::write::write(
            ui,
            &package.root,
            Some(&package.files),
            &[change],
            ApplyOptions::default(),
        )?;
    }
    let path = paths::join(&[&package.named, LOCK_FILE]);
    let count = new.functions.len();
    ui.print_message(&match changes.is_empty() {
        true => format!("{path} is up to date: {count} function(s)."),
        false => format!("{path} has {count} function(s), {} changed.", changes.len()),
    });
    Ok(())
}

/// The functions that are named, by the image in the Kptfile or by its last part; all if there are no names.
fn updated_keys(package: &LockedPackage, names: &[String]) -> Result<BTreeSet<LockKey>> {
    let keys = package.declared.keys();
    if names.is_empty() {
        return Ok(keys.cloned().collect());
    }
    let mut updated = BTreeSet::new();
    for name in names {
        let found = keys.clone().filter(|key| is_called(key, name));
        let before = updated.len();
        updated.extend(found.cloned());
        if updated.len() == before && !updated.iter().any(|key| is_called(key, name)) {
            let known: Vec<String> = keys.clone().map(|key| base_name(&key.image)).collect();
            let similar = similar_name(name, known.iter().map(String::as_str));
            let error = CommandError {
                class: ErrorClass::Input,
                hint: similar.map(|similar| format!("did you mean {similar}?")),
                ..CommandError::new(format!(
                    "error: no function of the package is called {name:?}"
                ))
            };
            return Err(error.into());
        }
    }
    Ok(updated)
}

fn is_called(key: &LockKey, name: &str) -> bool {
    key.image == name || base_name(&key.image) == name
}
