//! Which levels of isolation work on this system.
//!
//! A level is tried by a run; the answer for namespaces is kept for the life of the process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kiln_sandbox::{
    HostEnvironment, ImageSandbox, IsolationLevel, Sandbox, SandboxError, SandboxPolicy,
};

use crate::options::{ImageOptions, LevelChoice};

/// The sandboxes of all levels, made when they are first needed.
#[derive(Default)]
pub(crate) struct Levels {
    namespaces: OnceLock<Result<ImageSandbox, Arc<SandboxError>>>,
    /// Why this system does not allow namespaces, after they were tried.
    refused: OnceLock<Arc<SandboxError>>,
    /// The strongest level of namespaces that an attempt without an image could use.
    tried: OnceLock<Option<IsolationLevel>>,
    landlock: OnceLock<Sandbox>,
    landlock_with_network: OnceLock<Sandbox>,
    /// The level by which each image ran last.
    used: Mutex<BTreeMap<String, IsolationLevel>>,
}

impl Levels {
    /// The sandbox of namespaces, unless it is known that they do not work.
    pub(crate) fn namespaces(
        &self,
        options: &ImageOptions,
    ) -> Result<&ImageSandbox, Arc<SandboxError>> {
        if let Some(refused) = self.refused.get() {
            return Err(Arc::clone(refused));
        }
        let made = self.namespaces.get_or_init(|| {
            let made = ImageSandbox::new(options.policy.clone());
            made.map_err(Arc::new)
        });
        made.as_ref().map_err(Arc::clone)
    }

    /// Records that this system does not allow namespaces.
    pub(crate) fn refuse_namespaces(&self, error: SandboxError) -> Arc<SandboxError> {
        Arc::clone(self.refused.get_or_init(|| Arc::new(error)))
    }

    /// Tries namespaces without an image, unless that is known already.
    pub(crate) fn probe_namespaces(&self, temporary: &Path) -> Result<(), Arc<SandboxError>> {
        if self.used_any() {
            return Ok(());
        }
        if let Some(refused) = self.refused.get() {
            return Err(Arc::clone(refused));
        }
        let probes = ImageSandbox::probe(temporary);
        let mut last = None;
        for probe in probes.filter(|probe| probe.level != IsolationLevel::Landlock) {
            match probe.outcome {
                Ok(()) => return Ok(()),
                // The first failure is that of the strongest level.
                Err(error) => last = last.or(Some(error)),
            }
        }
        match last {
            None => Ok(()),
            Some(error) => Err(self.refuse_namespaces(error)),
        }
    }

    /// The level of namespaces by which an image runs here; `None` if it may run by a level that shows files of this machine.
    /// Unlike [`Levels::probe_namespaces`], a failed attempt has no consequence for runs.
    pub(crate) fn isolated(&self, options: &ImageOptions) -> Option<IsolationLevel> {
        if options.levels == LevelChoice::Landlock {
            return None;
        }
        let sandbox = self.namespaces(options).ok()?;
        if self.used_any() {
            return Some(sandbox.level());
        }
        *self.tried.get_or_init(|| {
            let mut probes = ImageSandbox::probe(&options.temporary);
            let works = probes.find(|probe| probe.outcome.is_ok())?;
            Some(works.level).filter(|level| *level != IsolationLevel::Landlock)
        })
    }

    fn used_any(&self) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.values().any(|level| *level < IsolationLevel::Landlock)
    }

    /// The sandbox of the level without namespaces.
    pub(crate) fn landlock(
        &self,
        options: &ImageOptions,
        allow_network: bool,
    ) -> Result<&Sandbox, SandboxError> {
        let cell = match allow_network {
            true => &self.landlock_with_network,
            false => &self.landlock,
        };
        if let Some(sandbox) = cell.get() {
            return Ok(sandbox);
        }
        let policy = SandboxPolicy {
            allow_network,
            limits: options.policy.limits,
            control_group: options.policy.control_group.clone(),
            ..SandboxPolicy::default()
        };
        let surroundings = HostEnvironment {
            environment: options.environment.clone(),
            temporary: options.temporary.clone(),
        };
        let sandbox = Sandbox::new(policy, surroundings)?;
        Ok(cell.get_or_init(|| sandbox))
    }

    /// Records the level by which an image ran.
    pub(crate) fn note(&self, image: &str, level: IsolationLevel) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.get(image) != Some(&level) {
            used.insert(image.to_owned(), level);
        }
    }

    /// The level by which an image ran last.
    pub(crate) fn used(&self, image: &str) -> Option<IsolationLevel> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(image).copied()
    }
}
