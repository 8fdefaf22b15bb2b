//! The flags of verbs that render, and the runtimes for the packages of a repository.
//!
//! Built-in functions come first, then a function runner: that of the flag, else the one that the repository was registered
//! with. Containers are never started and programs only with a flag, because packages are not trusted.

use std::error::Error;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use kiln_functions::NativeRuntime;
use kiln_functions::registry::Registry;
use kiln_krm::image::DEFAULT_PREFIX;
use kiln_package::available_threads;
use kiln_remote::{Address, RemoteOptions, RemoteRuntime};
use kiln_render::{Builtins, Jobs, Log, Outside, Tags};
use kiln_runtime::{
    CancelToken, Chain, DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Limits, Network, Runtime,
};
use kiln_sandbox::SandboxMode;
use kiln_task::{RenderSettings, RepositoryConfig, RepositoryRuntimes, RunnerOptions};

use crate::commands::function::exec_sandbox::exec_runtime;
use crate::commands::function::runner_args::RunnerArgs;
use crate::commands::function::running::{checked_prefix, go_time, size};
use crate::commands::function::terminal::Terminal;
use crate::commands::registries::RegistryTags;
use crate::environment::{PATH, is_attribution_disabled};
use crate::interrupt::on_interrupt;
use crate::log_format::LogFormat;
use crate::ui::Ui;

/// Flags of every verb that renders.
#[derive(Args, Debug)]
pub(crate) struct RenderFlags {
    /// Prefix for image names without a registry [env: KPT_IMAGE_PREFIX]
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    image_prefix: Option<String>,
    /// Log format: human-readable text, or one JSON object per line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
    /// Time limit for each function: 90s, 5m, 1h30m; 0 means no limit
    #[arg(long, value_name = "TIME", value_parser = go_time)]
    timeout: Option<Duration>,
    /// Output limit for each function, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_output: Option<u64>,
    /// Run catalog functions from their images, not the built-in ones
    #[arg(long)]
    no_native: bool,
    /// Run programs that packages name; without this flag such packages are refused
    #[arg(long)]
    allow_exec: bool,
    /// Run programs in a sandbox (strict) or without one (off)
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = SandboxMode::from_str)]
    exec_sandbox: SandboxMode,
    #[command(flatten)]
    runner: RunnerArgs,
}

/// What the checked flags set up.
pub(crate) struct RenderSetup {
    prefix: String,
    is_native: bool,
    exec: Option<Arc<dyn Runtime>>,
    runner: Option<Arc<RemoteRuntime>>,
    overrides: RunnerOptions,
    registry_tags: RegistryTags,
    cancel: CancelToken,
}

impl Default for RenderSetup {
    fn default() -> RenderSetup {
        let cancel = CancelToken::new();
        RenderSetup {
            prefix: DEFAULT_PREFIX.to_owned(),
            is_native: true,
            exec: None,
            runner: None,
            overrides: RunnerOptions::default(),
            registry_tags: RegistryTags::new(cancel.clone()),
            cancel,
        }
    }
}

impl RenderFlags {
    pub(crate) fn log<'a>(&self, ui: &'a Ui) -> Terminal<'a> {
        Terminal::new(ui).quiet(self.quiet)
    }

    pub(crate) fn check(&self) -> Result<RenderSetup> {
        let exec: Option<Arc<dyn Runtime>> = match self.allow_exec {
            false => None,
            true => {
                let search_path = std::env::var_os(PATH).unwrap_or_default();
                let exec = exec_runtime(search_path, self.exec_sandbox, Network::None)?;
                Some(Arc::new(exec))
            }
        };
        let cancel = on_interrupt();
        Ok(RenderSetup {
            prefix: checked_prefix(self.image_prefix.as_deref())?,
            is_native: !self.no_native,
            exec,
            runner: self.runner.check()?.map(Arc::new),
            overrides: RunnerOptions {
                timeout: self.timeout,
                max_output: self.max_output,
                ..RunnerOptions::default()
            },
            registry_tags: RegistryTags::new(cancel.clone()),
            cancel,
        })
    }
}

impl RenderSetup {
    pub(crate) fn settings<'a>(&'a self, log: &'a dyn Log) -> RenderSettings<'a> {
        let count: NonZeroUsize = available_threads();
        RenderSettings {
            runners: self,
            image_prefix: &self.prefix,
            tags: self,
            allow_exec: self.exec.is_some(),
            overrides: self.overrides.clone(),
            timeout: Some(DEFAULT_TIMEOUT),
            limits: Limits {
                max_output: DEFAULT_MAX_OUTPUT,
                memory: None,
            },
            jobs: Jobs {
                count,
                outside: Outside::InOrder,
            },
            attribution: !is_attribution_disabled(),
            cancel: self.cancel.clone(),
            log,
        }
    }
}

impl RepositoryRuntimes for RenderSetup {
    fn runtime(
        &self,
        repository: &RepositoryConfig,
    ) -> Result<Arc<dyn Runtime>, Box<dyn Error + Send + Sync>> {
        let mut runtimes: Vec<Box<dyn Runtime>> = vec![Box::new(Builtins)];
        if self.is_native {
            runtimes.push(Box::new(NativeRuntime::new(Registry::builtin()).watched()));
        }
        if let Some(exec) = &self.exec {
            runtimes.push(Box::new(Arc::clone(exec)));
        }
        if let Some(runner) = &self.runner {
            runtimes.push(Box::new(Arc::clone(runner)));
        } else if let Some(endpoint) = &repository.runner.endpoint {
            let options = RemoteOptions::new(Address::from_str(endpoint)?);
            runtimes.push(Box::new(RemoteRuntime::new(options)?));
        }
        Ok(Arc::new(Chain::new(runtimes)))
    }
}

impl Tags for RenderSetup {
    /// The versions of a built-in function.
    fn of(&self, image: &str) -> Vec<String> {
        match self.is_native {
            true => Registry::builtin().tags(image),
            false => Vec::new(),
        }
    }

    /// The tags in the registry.
    fn elsewhere(&self, image: &str) -> Vec<String> {
        self.registry_tags.of(image)
    }
}
