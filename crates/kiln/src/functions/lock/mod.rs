//! `kiln.lock` in commands: reading it, completing it, and running exactly what it names.
//!
//! A render completes the lock before it runs anything, so that what runs is what is written. The file is written with the other
//! files of the render, in one change.

mod read;
mod resolve;

use anyhow::Result;
use clap::Args;
use kiln_evaluators::by_digest;
use kiln_krm::package::{FileAction, FileChange, FileSource};
use kiln_lock::{FunctionLock, LOCK_FILE, LockKey};
use kiln_pages::report::{LockFileState, LockInput};
use kiln_render::{PinnedImage, Pins};
use kiln_runtime::FunctionPin;

pub(crate) use read::{LockState, declared_functions, read_lock};
pub(crate) use resolve::{DigestLookup, LockResolver, NativeDigests, range};

use super::evaluators::EvaluatorSetup;
use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass, bail_usage};
use crate::package::kptfiles;
use crate::ui::Ui;

/// How `fn render` uses the lock file.
#[derive(Args, Debug)]
pub(crate) struct LockFlags {
    /// Write kiln.lock, with the exact versions of all functions; without the flag it is only completed
    #[arg(long, conflicts_with_all = ["locked", "frozen", "output"])]
    lock: bool,
    /// Fail if kiln.lock does not have all functions, and do not write it
    #[arg(long)]
    locked: bool,
    /// Like --locked, and use no network: images must be in the store
    #[arg(long)]
    frozen: bool,
}

impl LockFlags {
    /// Checks the flags. kpt has none of them.
    pub(crate) fn check(&self, ui: &Ui, has_runner: bool) -> Result<()> {
        let given = [
            ("--lock", self.lock),
            ("--locked", self.locked),
            ("--frozen", self.frozen),
        ];
        let given = given.iter().find(|(_, is_given)| *is_given);
        if let (Compat::Kpt | Compat::KptV039, Some((flag, _))) = (ui.compat(), given) {
            bail_usage!("{flag} is not a flag of kpt; it needs --compat=kiln");
        }
        if self.frozen && has_runner {
            bail_usage!("--frozen uses no network, and a function runner needs one");
        }
        Ok(())
    }

    /// Whether the network must not be used.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    fn is_locked(&self) -> bool {
        self.locked || self.frozen
    }
}

/// The lock file of one render.
pub(crate) struct LockUse {
    lock: FunctionLock,
    /// The bytes of the file as it was read; `None` if there was none.
    file: Option<Vec<u8>>,
    /// Whether the file has to be written.
    is_changed: bool,
}

impl LockUse {
    /// Reads the lock file of a package, and resolves the functions that it does not have. `None` if the package has no lock
    /// file, and the user does not ask for one.
    pub(crate) fn prepare(
        ui: &Ui,
        flags: &LockFlags,
        named: &str,
        files: &dyn FileSource,
        setup: &EvaluatorSetup,
    ) -> Result<Option<LockUse>> {
        if ui.compat() != Compat::Kiln {
            return Ok(None);
        }
        let file = read::lock_bytes(files, named)?;
        if file.is_none() && !flags.lock && !flags.is_locked() {
            return Ok(None);
        }
        let has_file = file.is_some();
        let mut lock = match &file {
            Some(bytes) => read::parse_lock(bytes, named)?,
            None => FunctionLock::default(),
        };
        let resolver = LockResolver::new(setup, NativeDigests::Keep);
        let mut gaps = Vec::new();
        // Rendering reports Kptfiles that are not valid.
        for (key, function) in declared_functions(kptfiles(files), setup) {
            match resolver.state(&key, &function, &lock) {
                LockState::Fits => {}
                LockState::OtherBuiltIn { locked } => {
                    return Err(other_built_in(&key, &locked).into());
                }
                LockState::Missing | LockState::Differs => gaps.push((key, function)),
            }
        }
        if flags.is_locked() && !gaps.is_empty() {
            let names: Vec<String> = gaps.iter().map(|(key, _)| key.to_string()).collect();
            return Err(not_locked(&lock, has_file, &names).into());
        }
        let mut is_changed = !has_file && flags.lock;
        for (key, function) in gaps {
            let old = lock.functions.get(&key);
            match resolver.resolve(&function, old, DigestLookup::StoreFirst) {
                Ok(locked) => {
                    lock.functions.insert(key, locked);
                    is_changed = true;
                }
                // The render reports what it cannot run; what it can run is not stopped by the lock.
                Err(error) => {
                    lock.functions.remove(&key);
                    ui.warn(&format!("{LOCK_FILE} gets no entry for {key}: {error:#}"));
                }
            }
        }
        Ok(Some(LockUse {
            lock,
            file,
            is_changed,
        }))
    }

    /// The bytes of the file that the render uses.
    pub(crate) fn file(&self) -> Option<&[u8]> {
        self.file.as_deref()
    }

    /// The lock file for a command that never writes it: it must have all functions. `None` if the package has none and it is not
    /// required.
    pub(crate) fn complete(
        ui: &Ui,
        is_required: bool,
        named: &str,
        files: &dyn FileSource,
        setup: &EvaluatorSetup,
    ) -> Result<Option<LockUse>> {
        if !is_required && read_lock(files, named)?.is_none() {
            return Ok(None);
        }
        let flags = LockFlags {
            lock: false,
            locked: true,
            frozen: false,
        };
        LockUse::prepare(ui, &flags, named, files, setup)
    }

    /// The name by which evaluators get an image: with the digest of its entry, if there is one.
    pub(crate) fn exact_name(&self, resolved: &str) -> String {
        let mut entries = self.lock.functions.values();
        let entry = entries.find(|entry| entry.resolved == resolved);
        let digest = entry.and_then(|entry| entry.digest.as_deref());
        let exact = digest.and_then(|digest| by_digest(resolved, digest));
        exact.unwrap_or_else(|| resolved.to_owned())
    }

    /// What a report says about the file.
    pub(crate) fn reported(&self) -> LockInput {
        LockInput {
            file: LOCK_FILE.to_owned(),
            text: self.lock.to_text().into_bytes(),
            state: match self.is_changed {
                true => LockFileState::Updated,
                false => LockFileState::Complete,
            },
        }
    }

    /// The change of the file, if it has to be written.
    pub(crate) fn change(&self) -> Option<FileChange> {
        self.is_changed.then(|| lock_change(&self.lock))
    }
}

impl Pins for LockUse {
    fn of(&self, image: &str, tag: &str) -> Option<PinnedImage> {
        pinned_image(&self.lock, image, tag)
    }
}

/// The entry of a function, for the evaluators.
pub(crate) fn pinned_image(lock: &FunctionLock, image: &str, tag: &str) -> Option<PinnedImage> {
    let key = LockKey {
        image: image.to_owned(),
        tag: tag.to_owned(),
    };
    let locked = lock.functions.get(&key)?;
    Some(PinnedImage {
        resolved: locked.resolved.clone(),
        pin: FunctionPin {
            digest: locked.digest.clone(),
            native: locked.native.clone(),
        },
    })
}

/// The change that writes a lock file.
pub(crate) fn lock_change(lock: &FunctionLock) -> FileChange {
    FileChange {
        path: LOCK_FILE.to_owned(),
        action: FileAction::Write(lock.to_text().into_bytes()),
    }
}

fn not_locked(lock: &FunctionLock, has_file: bool, names: &[String]) -> CommandError {
    let names = names.join(", ");
    let message = match has_file {
        false => format!("error: the package has no {LOCK_FILE}, which needs entries for: {names}"),
        true if lock.functions.is_empty() => {
            format!("error: {LOCK_FILE} has no entries, and needs them for: {names}")
        }
        true => format!("error: {LOCK_FILE} has no matching entries for: {names}"),
    };
    CommandError {
        class: ErrorClass::Input,
        hint: Some(format!("run `kiln lock`, and commit {LOCK_FILE}")),
        ..CommandError::new(message)
    }
}

/// Another kiln wrote the entry, and its function is not here.
fn other_built_in(key: &LockKey, locked: &str) -> CommandError {
    let name = &key.image;
    CommandError {
        class: ErrorClass::Input,
        hint: Some(format!(
            "run `kiln lock --update {name}` to use the function of this kiln, or lock with the kiln that has {locked} and \
             --digests to run its image"
        )),
        ..CommandError::new(format!(
            "error: {LOCK_FILE} has the built-in function {locked} for {key}, this kiln has another, and there is no digest \
             of the image"
        ))
    }
}
