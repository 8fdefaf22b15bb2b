//! The evaluators of `fn render` and `fn eval`, and their flags.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use kiln_container::{CommandStyle, Mount, PullPolicy};
use kiln_evaluators::{
    CONTAINER, ChainOptions, IMAGE, NativeForm, NativeOptions, WASM, WasmPrograms,
};
use kiln_functions::registry::Registry;
use kiln_krm::image::with_prefix;
use kiln_krm::kptfile::Function;
use kiln_package::available_threads;
use kiln_render::{
    Builtins, FunctionOptions, RenderCompat, Tags, TouchedResources, resolved_image,
};
use kiln_runtime::{
    CancelToken, DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Evaluator, EvaluatorChain, FunctionSpec,
    Limits, Network, RunContext,
};

use kiln_wasm::{WasmImageEvaluator, WasmStep};

use super::cache::{CacheFlags, KeptResults};
use super::flags::FunctionFlags;
use super::image_runtime::{ImageEvaluators, ImageRuntimeFlags, ImageSettings};
use super::mounted_files::MountedFiles;
use super::registry_tags::RegistryTags;
use super::wasm::{WasmContext, WasmFlags, WasmSteps};
use crate::compat::Compat;
use crate::image_store::FunctionPulls;
use crate::interrupt::on_interrupt;
use crate::ui::Ui;

/// Flags of `fn render` and `fn eval`.
#[derive(Args, Debug)]
pub(crate) struct EvaluatorFlags {
    #[command(flatten)]
    functions: FunctionFlags,
    /// When to pull images: Always, IfNotPresent or Never
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = pull_policy)]
    image_pull_policy: PullPolicy,
    #[command(flatten)]
    image_runtime: ImageRuntimeFlags,
    #[command(flatten)]
    wasm: WasmFlags,
    #[command(flatten)]
    cache: CacheFlags,
}

/// The container flags of `fn eval`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContainerFlags {
    pub(crate) mounts: Vec<Mount>,
    /// `uid:gid`. Default: the user `nobody`.
    pub(crate) user: Option<String>,
    /// The network of containers and of programs in a sandbox.
    pub(crate) network: Network,
}

/// The flags, checked.
pub(crate) struct EvaluatorSetup {
    prefix: String,
    evaluators: EvaluatorChain,
    images: ImageEvaluators,
    wasm_images: Option<WasmImageEvaluator>,
    wasm_steps: WasmSteps,
    /// Whether built-in versions can be selected.
    native_tags: bool,
    /// Whether images can be pulled, so that tags in registries can be selected.
    may_pull: bool,
    registry_tags: RegistryTags,
    render_compat: RenderCompat,
    timeout: Option<Duration>,
    limits: Limits,
    threads: NonZeroUsize,
    cancel: CancelToken,
    kept: Option<KeptResults>,
    /// Whether functions can run only here and with the permission of no policy.
    is_self_contained: bool,
}

impl EvaluatorFlags {
    /// Whether a function runner runs the images.
    pub(crate) fn has_runner(&self) -> bool {
        self.functions.has_runner()
    }

    /// The flags that can change the output of a function, in any form.
    pub(crate) fn fingerprint(&self) -> String {
        let EvaluatorFlags {
            functions,
            image_pull_policy,
            image_runtime,
            wasm,
            // It does not change what a function returns.
            cache: _,
        } = self;
        format!("{functions:?} {image_pull_policy:?} {image_runtime:?} {wasm:?}")
    }

    pub(crate) fn check(
        &self,
        ui: &Ui,
        container: ContainerFlags,
        kpt_wasm_programs: WasmPrograms,
    ) -> Result<EvaluatorSetup> {
        self.check_as(ui, container, kpt_wasm_programs, self.image_pull_policy)
    }

    /// The same with another pull policy than that of the flag.
    pub(crate) fn check_as(
        &self,
        ui: &Ui,
        container: ContainerFlags,
        kpt_wasm_programs: WasmPrograms,
        pull_policy: PullPolicy,
    ) -> Result<EvaluatorSetup> {
        let prefix = self.functions.prefix()?;
        let timeout = self.functions.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let render_compat = match ui.compat() {
            Compat::Kiln => RenderCompat::Kiln,
            Compat::Kpt | Compat::KptV039 => RenderCompat::Kpt,
        };
        let exec = self.functions.exec(container.network)?;
        let native = self.functions.native().map(|native| NativeOptions {
            // The exact output of kpt requires that every item is encoded and parsed again.
            form: match render_compat {
                RenderCompat::Kiln => NativeForm::Trees,
                RenderCompat::Kpt => NativeForm::Wire,
            },
            files: Some(Arc::new(MountedFiles::new(&container.mounts))),
            ..native
        });
        let own: Vec<(_, Arc<dyn Evaluator>)> = vec![("builtin", Arc::new(Builtins))];
        let wasm = self.wasm.check(&WasmContext {
            compat: ui.compat(),
            programs: match ui.compat() {
                Compat::Kiln => WasmPrograms::ByContent,
                Compat::Kpt | Compat::KptV039 => kpt_wasm_programs,
            },
            pull_policy,
            has_runner: self.functions.has_runner(),
        })?;
        let native_tags = native.is_some();
        let images = self.image_runtime.check(
            ui.compat(),
            ImageSettings {
                pull_policy,
                mounts: container.mounts,
                user: container.user,
                style: match render_compat {
                    RenderCompat::Kiln => CommandStyle::Kiln,
                    RenderCompat::Kpt => CommandStyle::Kpt,
                },
                variables: Vec::new(),
                pulls: Arc::new(FunctionPulls(ui.clone())),
            },
        )?;
        let kept = self.cache.open(ui)?;
        let policy = self.functions.policy(ui, pull_policy)?;
        let is_self_contained = policy.is_none() && !self.functions.has_runner();
        let evaluators = ChainOptions {
            own,
            exec: Some(exec),
            native,
            wasm: wasm.chain,
            remote: self.functions.remote()?,
            image: images.image(),
            container: images.container(),
            answers: kept.as_ref().map(|kept| kept.answers(ui)),
            policy,
            ..ChainOptions::default()
        };
        let cancel = on_interrupt();
        Ok(EvaluatorSetup {
            prefix,
            evaluators: evaluators.chain(),
            images,
            wasm_images: wasm.images,
            wasm_steps: wasm.steps,
            native_tags,
            // kpt asks registries even then.
            may_pull: pull_policy != PullPolicy::Never || render_compat == RenderCompat::Kpt,
            registry_tags: RegistryTags::new(cancel.clone()),
            render_compat,
            timeout: (!timeout.is_zero()).then_some(timeout),
            limits: Limits {
                max_output: self.functions.max_output.unwrap_or(DEFAULT_MAX_OUTPUT),
                memory: None,
            },
            threads: available_threads(),
            cancel,
            kept,
            is_self_contained,
        })
    }
}

impl EvaluatorSetup {
    pub(crate) fn options(&self, network: Network) -> FunctionOptions<'_> {
        FunctionOptions {
            compat: self.render_compat,
            evaluator: &self.evaluators,
            image_prefix: &self.prefix,
            tags: self,
            pins: None,
            network,
            timeout: self.timeout,
            limits: self.limits,
            threads: self.threads,
            cancel: self.cancel.clone(),
            touched: TouchedResources::Ignore,
            wants_identity: false,
        }
    }

    /// The image of a function, if only a container engine can run it.
    pub(crate) fn image_for_engine(&self, function: &Function) -> Option<String> {
        if function.image.is_empty() {
            return None;
        }
        let resolved = resolved_image(function, &self.options(Network::None));
        let Ok(image) = resolved else {
            let image = with_prefix(&self.prefix, &function.image);
            return Some(format!("{image} ({})", function.tag));
        };
        let found = self.evaluators.search(&FunctionSpec::image(image.as_str()));
        let needs_engine = found.is_ok_and(|(search, _)| match search.evaluator() {
            IMAGE | CONTAINER => true,
            // An image that may be a module, and else is left to the next evaluator.
            WASM => {
                let images = self.wasm_images.as_ref();
                !images.is_some_and(|images| images.is_known_module(&image))
            }
            _ => false,
        });
        needs_engine.then_some(image)
    }

    /// The built-in function that runs in place of an image, as lock files name it.
    pub(crate) fn built_in(&self, image: &str) -> Option<String> {
        let identity = Registry::builtin().identity(image)?;
        let native = identity.as_str().strip_prefix("native:")?;
        self.native_tags.then(|| native.to_owned())
    }

    /// The digest of the module that an image is, as lock files name it.
    pub(crate) fn module_digest(&self, image: &str) -> Option<String> {
        let ctx = RunContext {
            cancel: self.cancel.clone(),
            ..RunContext::default()
        };
        let digest = self.wasm_images.as_ref()?.module_digest(image, &ctx)?;
        Some(format!("sha256:{digest}"))
    }

    /// The same, if it is known without a request.
    pub(crate) fn known_module_digest(&self, image: &str) -> Option<String> {
        let images = self.wasm_images.as_ref()?;
        let digest = images.known_module_digest(image)?;
        Some(format!("sha256:{digest}"))
    }

    /// Whether registries may be asked.
    pub(crate) fn may_pull(&self) -> bool {
        self.may_pull
    }

    /// The chain of evaluators.
    pub(crate) fn evaluators(&self) -> &EvaluatorChain {
        &self.evaluators
    }

    /// The level of isolation by which an image ran, if kiln itself ran it.
    pub(crate) fn isolation(&self, image: &str) -> Option<String> {
        let level = self.images.image.as_ref()?.level_used(image)?;
        Some(level.to_string())
    }

    /// The errors of registries that were asked for tags.
    pub(crate) fn registry_problems(&self) -> Vec<String> {
        self.registry_tags.problems()
    }

    /// How long the steps of functions in WebAssembly took, since the last call.
    pub(crate) fn wasm_steps(&self) -> Vec<(WasmStep, Duration)> {
        self.wasm_steps.take()
    }

    /// Where the results of whole renders are kept. A policy is asked each time, and another program may answer differently.
    pub(crate) fn kept_renders(&self) -> Option<&KeptResults> {
        self.kept.as_ref().filter(|_| self.is_self_contained)
    }

    /// The prefix for image names without a registry.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The token that Ctrl-C cancels.
    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    pub(crate) fn render_compat(&self) -> RenderCompat {
        self.render_compat
    }
}

impl Tags for EvaluatorSetup {
    /// The versions of a built-in function.
    fn of(&self, image: &str) -> Vec<String> {
        match self.native_tags {
            true => Registry::builtin().tags(image),
            false => Vec::new(),
        }
    }

    /// The tags of local images and of the registry; kpt asks for both.
    fn elsewhere(&self, image: &str) -> Vec<String> {
        let ctx = RunContext::default();
        let local = self.images.container.local_tags(image, &ctx);
        let mut tags = local.unwrap_or_default();
        if self.may_pull {
            tags.extend(self.registry_tags.of(image));
        }
        tags
    }
}

pub(crate) fn pull_policy(text: &str) -> Result<PullPolicy, String> {
    let names = PullPolicy::NAMES.map(|(name, _)| name);
    PullPolicy::parse(text).ok_or_else(|| format!("must be one of: {}", names.join(", ")))
}
