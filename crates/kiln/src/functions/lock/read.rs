//! The lock file of a package, and the functions that it is to have.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use kiln_krm::image::with_prefix;
use kiln_krm::kptfile::{Function, Kptfile};
use kiln_krm::package::{FileError, FileSource};
use kiln_krm::paths;
use kiln_lock::{FunctionLock, LOCK_FILE, LockKey, LockProblem};
use kiln_render::BUILTIN_PREFIX;

use super::EvaluatorSetup;
use crate::error::{CommandError, ErrorClass};

/// Whether the entry of a function can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LockState {
    Fits,
    Missing,
    /// It is there, but for another prefix or tag, with another module, or without the digest that is needed.
    Differs,
    /// It names a built-in function that this kiln does not have, and has no digest.
    OtherBuiltIn {
        locked: String,
    },
}

/// Reads the lock file of a package; `None` if it has none. `named` is the package in messages.
pub(crate) fn read_lock(files: &dyn FileSource, named: &str) -> Result<Option<FunctionLock>> {
    let bytes = lock_bytes(files, named)?;
    bytes.map(|bytes| parse_lock(&bytes, named)).transpose()
}

/// The bytes of the lock file of a package; `None` if it has none.
pub(super) fn lock_bytes(files: &dyn FileSource, named: &str) -> Result<Option<Vec<u8>>> {
    match files.read(LOCK_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::NotFound(_)) => Ok(None),
        Err(error) => {
            let shown = paths::join(&[named, LOCK_FILE]);
            Err(anyhow!("cannot read {shown}: {error}"))
        }
    }
}

pub(super) fn parse_lock(bytes: &[u8], named: &str) -> Result<FunctionLock> {
    let shown = paths::join(&[named, LOCK_FILE]);
    let lock = FunctionLock::parse(&shown, bytes).map_err(|error| CommandError {
        class: ErrorClass::Input,
        hint: Some(match error.problem {
            LockProblem::Conflict => {
                "take the file of either branch, and run `kiln lock`: it adds and removes what differs"
                    .to_owned()
            }
            _ => "remove the file, and run `kiln lock`; docs/lock.md describes it".to_owned(),
        }),
        ..CommandError::new(format!("error: {error}"))
    })?;
    Ok(lock)
}

/// The functions of Kptfiles that are images, each one once.
pub(crate) fn declared_functions(
    kptfiles: Vec<(String, Kptfile)>,
    setup: &EvaluatorSetup,
) -> BTreeMap<LockKey, Function> {
    let mut declared = BTreeMap::new();
    for (_, kptfile) in kptfiles {
        let pipeline = kptfile.pipeline.into_iter();
        let functions = pipeline.flat_map(|it| it.mutators.into_iter().chain(it.validators));
        for function in functions {
            let is_part_of_kiln =
                with_prefix(setup.prefix(), &function.image).starts_with(BUILTIN_PREFIX);
            if function.image.is_empty() || is_part_of_kiln {
                continue;
            }
            let key = LockKey {
                image: function.image.clone(),
                tag: function.tag.clone(),
            };
            declared.entry(key).or_insert(function);
        }
    }
    declared
}
