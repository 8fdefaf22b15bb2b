//! Finds the exact version of a function: its tag, its digest, and the built-in function or module that runs.

use anyhow::{Context as _, Result, anyhow, bail};
use kiln_evaluators::by_digest;
use kiln_krm::image::{Constraint, TagRequest, best_tag, normalize, with_prefix};
use kiln_krm::kptfile::Function;
use kiln_lock::{FunctionLock, LockKey, LockedFunction};
use kiln_oci::{ImageReference, Platform};
use kiln_render::resolved_image;
use kiln_runtime::Network;
use kiln_store::{Store, StoreOptions};

use super::{EvaluatorSetup, LockState};
use crate::image_store::{registry_client, store_directory, until_interrupted};

/// Resolves functions with the evaluators of a command.
pub(crate) struct LockResolver<'a> {
    setup: &'a EvaluatorSetup,
    native_digests: NativeDigests,
}

/// Whether the digests of images are looked up that built-in functions run in place of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NativeDigests {
    /// Only for entries that have one, so that no registry is needed for built-in functions.
    Keep,
    All,
}

/// Where a digest is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DigestLookup {
    /// What the store has under a name is taken without a request.
    StoreFirst,
    /// Tags may mean another image than earlier.
    Registry,
}

impl LockResolver<'_> {
    pub(crate) fn new(setup: &EvaluatorSetup, native_digests: NativeDigests) -> LockResolver<'_> {
        LockResolver {
            setup,
            native_digests,
        }
    }

    /// Whether the entry of a function can be used. Asks no registry.
    pub(crate) fn state(
        &self,
        key: &LockKey,
        function: &Function,
        lock: &FunctionLock,
    ) -> LockState {
        let Some(locked) = lock.functions.get(key) else {
            return LockState::Missing;
        };
        if !self.is_named(function, locked) || self.is_other_module(locked) {
            return LockState::Differs;
        }
        let own = self.setup.built_in(&locked.resolved);
        let is_complete = locked.digest.is_some() || self.native_digests == NativeDigests::Keep;
        match &locked.native {
            Some(native) if own.as_ref() == Some(native) && is_complete => LockState::Fits,
            _ if locked.digest.is_some() => LockState::Fits,
            Some(native) if own.is_some() && own.as_ref() != Some(native) => {
                LockState::OtherBuiltIn {
                    locked: native.clone(),
                }
            }
            _ => LockState::Differs,
        }
    }

    /// Whether an entry is for this image, prefix included, and this tag.
    fn is_named(&self, function: &Function, locked: &LockedFunction) -> bool {
        let options = self.setup.options(Network::None);
        let Some(constraint) = range(function) else {
            let resolved = resolved_image(function, &options);
            return resolved.is_ok_and(|resolved| resolved == locked.resolved);
        };
        let image = with_prefix(self.setup.prefix(), &function.image);
        let (Ok(image), Ok(resolved)) = (normalize(&image), normalize(&locked.resolved)) else {
            return false;
        };
        let tag = resolved.tag.as_deref();
        image.name() == resolved.name() && best_tag(&constraint, tag).is_some()
    }

    /// Whether an entry names another module than the one that its image is known to be.
    fn is_other_module(&self, locked: &LockedFunction) -> bool {
        let (Some(digest), Some(module)) = (&locked.digest, &locked.wasm) else {
            return false;
        };
        let image = by_digest(&locked.resolved, digest);
        let known = image.and_then(|image| self.setup.known_module_digest(&image));
        known.is_some_and(|known| known != *module)
    }

    /// Resolves a function. `old` is its entry so far.
    pub(crate) fn resolve(
        &self,
        function: &Function,
        old: Option<&LockedFunction>,
        lookup: DigestLookup,
    ) -> Result<LockedFunction> {
        let kept =
            old.filter(|old| lookup == DigestLookup::StoreFirst && self.is_named(function, old));
        let resolved = match kept {
            // A range that was resolved before is not looked up again to find the digest.
            Some(old) => old.resolved.clone(),
            None => self.resolved(function)?,
        };
        let native = match kept {
            Some(old) => old.native.clone(),
            None => self.setup.built_in(&resolved),
        };
        let wants_digest = self.native_digests == NativeDigests::All
            || self.setup.built_in(&resolved).is_none()
            || old.is_some_and(|old| old.digest.is_some());
        let digest = match wants_digest {
            true => Some(self.digest(&resolved, lookup)?),
            false => None,
        };
        let module = match (&native, &digest) {
            (None, Some(digest)) => by_digest(&resolved, digest),
            _ => None,
        };
        Ok(LockedFunction {
            resolved,
            digest,
            native,
            wasm: module.and_then(|image| self.setup.module_digest(&image)),
        })
    }

    /// The whole name of the image of a function; a range is looked up.
    pub(crate) fn resolved(&self, function: &Function) -> Result<String> {
        let options = self.setup.options(Network::None);
        resolved_image(function, &options).map_err(|failure| {
            let problems = self.setup.registry_problems();
            let why = match (problems.is_empty(), self.setup.may_pull()) {
                (true, true) => String::new(),
                (true, false) => " (registries are not queried)".to_owned(),
                (false, _) => format!(" ({})", problems.join("; ")),
            };
            anyhow!("{}{why}", failure.chain_text())
        })
    }

    fn digest(&self, resolved: &str, lookup: DigestLookup) -> Result<String> {
        let reference: ImageReference = resolved.parse()?;
        if let Some(digest) = reference.digest() {
            return Ok(digest.to_string());
        }
        let may_ask = self.setup.may_pull();
        if lookup == DigestLookup::StoreFirst || !may_ask {
            let store = Store::open(&store_directory(), StoreOptions::default())?;
            let digest = store.digest(&reference, &Platform::this_machine())?;
            if let Some(digest) = digest {
                return Ok(digest.to_string());
            }
        }
        if !may_ask {
            bail!("the store has no image {reference}, and registries are not queried");
        }
        let registry = registry_client(&reference)?;
        let found = until_interrupted(registry.manifest(&reference))?;
        let found = found.ok_or_else(|| anyhow!("interrupted"))?;
        let manifest = found.with_context(|| format!("cannot find the digest of {reference}"))?;
        Ok(manifest.descriptor.digest.to_string())
    }
}

/// The range of versions that a function names; `None` if it names one version.
pub(crate) fn range(function: &Function) -> Option<Constraint> {
    match TagRequest::parse(&function.tag) {
        Ok(TagRequest::Constraint(constraint)) if !function.tag.is_empty() => Some(constraint),
        _ => None,
    }
}
