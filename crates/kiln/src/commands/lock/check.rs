//! `kiln lock --check`

use anyhow::{Context as _, Result};
use kiln_lock::{FunctionLock, LOCK_FILE};

use super::{LockArgs, LockedPackage};
use crate::error::{CommandError, ErrorClass};
use crate::functions::lock::{LockResolver, LockState, NativeDigests, range};
use crate::ui::Ui;

/// Prints what `kiln lock` would change. Asks registries only for `--outdated`.
pub(super) fn check(ui: &Ui, args: &LockArgs, package: &LockedPackage) -> Result<()> {
    let lock = package.lock.clone().unwrap_or_default();
    let mut problems = gaps(package, &lock);
    let superfluous = lock.functions.keys();
    let superfluous = superfluous.filter(|key| !package.declared.contains_key(key));
    problems.extend(superfluous.map(|key| format!("{key}: superfluous, no Kptfile names it")));
    if args.outdated {
        problems.extend(outdated(package, &lock)?);
    }
    if problems.is_empty() {
        ui.print_message(&format!("{LOCK_FILE} is up to date."));
        return Ok(());
    }
    for problem in &problems {
        ui.write_data(format!("{problem}\n").as_bytes())?;
    }
    let error = CommandError {
        class: ErrorClass::Differences,
        hint: Some(match args.outdated {
            true => "run `kiln lock`, or `kiln lock --update` for newer versions".to_owned(),
            false => "run `kiln lock`".to_owned(),
        }),
        ..CommandError::new(format!(
            "error: {LOCK_FILE} is not up to date: {} difference(s)",
            problems.len()
        ))
    };
    Err(error.into())
}

/// The functions whose entries cannot be used.
fn gaps(package: &LockedPackage, lock: &FunctionLock) -> Vec<String> {
    let resolver = LockResolver::new(&package.setup, NativeDigests::Keep);
    let mut problems = Vec::new();
    for (key, function) in &package.declared {
        match resolver.state(key, function, lock) {
            LockState::Fits => {}
            LockState::Missing => problems.push(format!("{key}: missing")),
            LockState::Differs => problems.push(format!("{key}: the entry does not fit")),
            LockState::OtherBuiltIn { locked } => {
                problems.push(format!("{key}: this kiln does not have {locked}"));
            }
        }
    }
    problems
}

/// The ranges of versions that have a newer version than the one in the lock file.
fn outdated(package: &LockedPackage, lock: &FunctionLock) -> Result<Vec<String>> {
    let resolver = LockResolver::new(&package.setup, NativeDigests::Keep);
    let mut problems = Vec::new();
    for (key, function) in &package.declared {
        let (Some(locked), Some(_)) = (lock.functions.get(key), range(function)) else {
            continue;
        };
        let newest = resolver.resolved(function);
        let newest = newest.with_context(|| format!("cannot look up the versions of {key}"))?;
        if newest != locked.resolved {
            problems.push(format!("{key}: outdated, {} → {newest}", locked.resolved));
        }
    }
    Ok(problems)
}
