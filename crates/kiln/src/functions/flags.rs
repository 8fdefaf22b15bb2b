//! The flags of all commands that run functions of packages: `fn render`, `fn eval` and the verbs of `rpkg`.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use kiln_evaluators::{ExecOptions, NativeOptions, PolicyGuard};
use kiln_exec::ExecEvaluator;
use kiln_krm::image::{DEFAULT_PREFIX, check_prefix};
use kiln_oci::PullPolicy;
use kiln_runtime::{Evaluator, Network};
use kiln_sandbox::{HostEnvironment, Sandbox, SandboxMode, SandboxPolicy};

use super::policy::PolicyFlags;
use super::runner_flags::RunnerFlags;
use crate::environment::{KPT_IMAGE_PREFIX, PATH};
use crate::flag_values::{go_time, size};
use crate::log_format::LogFormat;
use crate::ui::Ui;

/// Which evaluators run functions, and within which limits.
#[derive(Args, Debug)]
pub(crate) struct FunctionFlags {
    /// Prefix for image names without a registry [env: KPT_IMAGE_PREFIX]
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    image_prefix: Option<String>,
    /// Log format: human-readable text, one JSON object per line, or annotations of GitHub Actions
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Time limit for each function: 90s, 5m, 1h30m; 0 means no limit
    #[arg(long, value_name = "TIME", value_parser = go_time)]
    pub(crate) timeout: Option<Duration>,
    /// Output limit for each function, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_output: Option<u64>,
    /// Run catalog functions from their images, not the built-in ones
    #[arg(long)]
    no_native: bool,
    /// Run programs in a sandbox (strict) or without one (off)
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = SandboxMode::from_str)]
    exec_sandbox: SandboxMode,
    #[command(flatten)]
    policy: PolicyFlags,
    #[command(flatten)]
    runner: RunnerFlags,
}

impl FunctionFlags {
    /// The prefix for image names without a registry.
    pub(crate) fn prefix(&self) -> Result<String> {
        checked_prefix(self.image_prefix.as_deref())
    }

    /// Which functions may run, and how.
    pub(crate) fn policy(
        &self,
        ui: &Ui,
        pull_policy: PullPolicy,
    ) -> Result<Option<Arc<PolicyGuard>>> {
        self.policy.guard(ui, pull_policy)
    }

    /// The built-in functions, unless they are turned off.
    pub(crate) fn native(&self) -> Option<NativeOptions> {
        (!self.no_native).then(|| NativeOptions {
            is_watched: true,
            ..NativeOptions::default()
        })
    }

    /// Options for running programs, with or without a sandbox. It is an error if the system does not support the sandbox.
    pub(crate) fn exec(&self, network: Network) -> Result<ExecOptions> {
        let search_path = std::env::var_os(PATH).unwrap_or_default();
        let mut programs = ExecEvaluator::new(search_path);
        if self.exec_sandbox == SandboxMode::Strict {
            let policy = SandboxPolicy {
                allow_network: network == Network::Host,
                ..SandboxPolicy::default()
            };
            let surroundings = HostEnvironment {
                environment: std::env::vars_os().collect(),
                temporary: std::env::temp_dir(),
            };
            let sandbox = Sandbox::new(policy, surroundings).context("--exec-sandbox=strict")?;
            programs = programs.with_sandbox(Arc::new(sandbox));
        }
        Ok(ExecOptions {
            programs,
            table: None,
        })
    }

    /// The evaluator of the function runner, if the flags name one.
    pub(crate) fn remote(&self) -> Result<Option<Arc<dyn Evaluator>>> {
        match self.runner.check()? {
            Some(remote) => Ok(Some(Arc::new(remote))),
            None => Ok(None),
        }
    }

    /// Whether the flags name a function runner.
    pub(crate) fn has_runner(&self) -> bool {
        self.runner.is_given()
    }
}

/// The prefix for image names without a registry: from the flag, else the environment, else kpt's.
pub(crate) fn checked_prefix(flag: Option<&str>) -> Result<String> {
    let prefix = match flag {
        Some(prefix) => prefix.to_owned(),
        None => std::env::var(KPT_IMAGE_PREFIX)
            .ok()
            .filter(|prefix| !prefix.is_empty())
            .unwrap_or_else(|| DEFAULT_PREFIX.to_owned()),
    };
    check_prefix(&prefix)?;
    Ok(prefix)
}
