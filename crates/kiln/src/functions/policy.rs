//! The policy of commands that run functions: its flag, and what a refusal looks like.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use kiln_evaluators::{PolicyGuard, VerifierOptions};
use kiln_oci::PullPolicy;
use kiln_policy::{LoadedPolicy, PolicyEvent, PolicyPaths, PolicyRefusal, RunWay};
use kiln_runtime::{FindError, FunctionSpec, RunContext, RunError};

use super::registry_tags::registry_options;
use crate::environment::{HOME, KILN_POLICY, XDG_CONFIG_HOME};
use crate::error::{CommandError, ErrorClass};
use crate::image_store::store_directory;
use crate::ui::Ui;

#[derive(Args, Debug, Default)]
pub(crate) struct PolicyFlags {
    /// Policy: which functions may run, and how; /etc/kiln/policy.yaml applies as well [env: KILN_POLICY]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyFlags {
    /// The policy that applies, and the verifier of the signatures that it requires; `None` if there is none.
    pub(crate) fn guard(
        &self,
        ui: &Ui,
        pull_policy: PullPolicy,
    ) -> Result<Option<Arc<PolicyGuard>>> {
        let Some(policy) = self.load(ui)? else {
            return Ok(None);
        };
        let options = VerifierOptions {
            store: Some(store_directory()),
            registry: registry_options().context("cannot use the proxies of the environment")?,
            pull_policy,
        };
        Ok(Some(Arc::new(PolicyGuard::new(policy, options))))
    }

    /// The policy that applies; `None` if there is none. Nothing runs if it is invalid.
    pub(crate) fn load(&self, ui: &Ui) -> Result<Option<LoadedPolicy>> {
        let listener = ui.clone();
        let loaded = LoadedPolicy::load(&self.paths(), move |event| match event {
            PolicyEvent::Warned(text) => listener.warn(text),
            PolicyEvent::Replaced => {}
            PolicyEvent::Kept(reason) => listener.warn(&format!(
                "the policy has changed and is invalid, the old one stays in force: {reason}"
            )),
        });
        let loaded = loaded.map_err(|error| CommandError {
            class: ErrorClass::Policy,
            hint: Some(
                "no function runs until the policy can be read; docs/policy.md describes it"
                    .to_owned(),
            ),
            ..CommandError::new(format!("error: {:#}", anyhow::Error::from(error)))
        })?;
        Ok(loaded)
    }

    fn paths(&self) -> PolicyPaths {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let config = variable(XDG_CONFIG_HOME);
        let config = config.or_else(|| Some(variable(HOME)?.join(".config")));
        PolicyPaths::new(
            self.policy.clone().or_else(|| variable(KILN_POLICY)),
            config,
        )
    }
}

/// Checks a function that runs outside of a chain of evaluators. Returns the function to run, whose image was verified if the
/// policy requires it.
pub(crate) fn check(
    policy: Option<&Arc<PolicyGuard>>,
    function: &FunctionSpec,
    way: RunWay,
    ctx: &RunContext,
) -> Result<FunctionSpec, RunError> {
    match policy {
        None => Ok(function.clone()),
        Some(policy) => policy.check(function, way, ctx),
    }
}

/// The refusal that an error is, if it is one.
pub(crate) fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a PolicyRefusal> {
    if let Some(refusal) = error.downcast_ref() {
        return Some(refusal);
    }
    let denied = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(FindError::Denied(denied)), _) | (_, Some(RunError::Denied(denied))) => denied,
        _ => return None,
    };
    denied.downcast_ref()
}
