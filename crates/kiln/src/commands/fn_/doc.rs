//! `kiln fn doc`: prints the documentation of a built-in function, or runs an image with `--help`.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use kiln_container::{CommandStyle, PullPolicy};
use kiln_evaluators::PolicyGuard;
use kiln_functions::registry::{FunctionInfo, Registry};
use kiln_krm::image::with_prefix;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_policy::RunWay;
use kiln_runtime::process::FinishedProcess;
use kiln_runtime::{FunctionSpec, NotFoundThenUnavailable, RunContext, RunError};

use crate::commands::function::print_doc;
use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass, bail_usage};
use crate::functions::container_functions;
use crate::functions::flags::checked_prefix;
use crate::functions::image_runtime::{ImageEvaluators, ImageRuntimeFlags, ImageSettings};
use crate::functions::policy::{self, PolicyFlags};
use crate::functions::unknown_function::{image_hint, unknown_image};
use crate::image_store::FunctionPulls;
use crate::interrupt::on_interrupt;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln fn doc --image set-labels:v0.2.0\n  kiln fn doc --image example.com/set-name:v1"
)]
#[command(override_usage = "kiln fn doc --image IMAGE [--image-prefix PREFIX]")]
pub(crate) struct DocArgs {
    /// Image whose documentation to print
    #[arg(
        short,
        long,
        value_name = "IMAGE",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    image: String,
    /// Prefix for image names without a registry [env: KPT_IMAGE_PREFIX]
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    image_prefix: Option<String>,
    #[command(flatten)]
    image_runtime: ImageRuntimeFlags,
    // Refused with kpt's message.
    #[arg(hide = true)]
    others: Vec<String>,
}

pub(crate) fn cmd_doc(ui: &Ui, args: &DocArgs) -> Result<()> {
    if !args.others.is_empty() {
        bail_usage!("accepts at most 0 arg(s), received {}", args.others.len());
    }
    let prefix = checked_prefix(args.image_prefix.as_deref())?;
    if args.image.is_empty() {
        bail_usage!("image must be specified");
    }
    let image = with_prefix(&prefix, &args.image);
    if let Some(info) = built_in(ui, &image) {
        return print_doc(ui, info);
    }
    let settings = ImageSettings {
        pull_policy: PullPolicy::IfNotPresent,
        mounts: Vec::new(),
        user: None,
        style: match ui.compat() {
            Compat::Kiln => CommandStyle::Kiln,
            Compat::Kpt | Compat::KptV039 => CommandStyle::Kpt,
        },
        variables: Vec::new(),
        pulls: Arc::new(FunctionPulls(ui.clone())),
    };
    let images = args.image_runtime.check(ui.compat(), settings)?;
    let policy = PolicyFlags::default().guard(ui, PullPolicy::IfNotPresent)?;
    // Some functions read their input before their arguments.
    let empty_list = write_list(&Wrapper::resource_list(Dialect::Current), &[], None, None);
    let ctx = RunContext {
        cancel: on_interrupt(),
        ..RunContext::default()
    };
    let finished = help(&images, policy.as_ref(), &image, &empty_list, &ctx);
    let finished = finished.map_err(|error| help_error(ui, &image, error))?;
    if finished.exit_code != 0 {
        if let Some(error) = unknown_function(ui, &image)
            && finished.exit_code == NOT_RUN_BY_ENGINE
        {
            return Err(error.into());
        }
        ui.print_stderr(&image, &finished.stderr);
        return Err(anyhow!(
            "please ensure the container has an entrypoint and it supports --help flag: {}",
            finished.exit_text()
        ));
    }
    let mut text = finished.stdout;
    text.push(b'\n');
    ui.write_data(&text)
}

/// What container engines return if they cannot run an image.
const NOT_RUN_BY_ENGINE: i32 = 125;

/// The built-in function that a render runs in place of the image. kpt runs every image.
fn built_in(ui: &Ui, image: &str) -> Option<&'static FunctionInfo> {
    let registry = Registry::builtin();
    let info = registry.function_of_image(image)?;
    let is_built_in = registry.find_image(image).is_some();
    (ui.compat() == Compat::Kiln && is_built_in).then_some(info)
}

fn help_error(ui: &Ui, image: &str, error: RunError) -> CommandError {
    let (RunError::Unavailable(cause) | RunError::NotFound(cause)) = &error else {
        return CommandError::from(anyhow::Error::from(error));
    };
    if let Some(error) = unknown_function(ui, image) {
        return error;
    }
    let functions = [(None, image.to_owned())];
    let hint = container_functions::unavailable(&**cause, &functions);
    let hint = image_hint(image, hint);
    let error = CommandError::from(anyhow::Error::from(error));
    match hint.filter(|_| ui.compat() == Compat::Kiln) {
        Some(hint) => CommandError {
            class: ErrorClass::Unavailable,
            hint: Some(hint),
            ..error
        },
        None => error,
    }
}

/// The error for a misspelt name or version.
fn unknown_function(ui: &Ui, image: &str) -> Option<CommandError> {
    let unknown = unknown_image(image).filter(|_| ui.compat() == Compat::Kiln)?;
    let suggestion = unknown.suggestion.as_ref()?;
    Some(CommandError {
        class: ErrorClass::Unavailable,
        hint: Some(suggestion.clone()),
        ..CommandError::new(format!("error: {}", unknown.message()))
    })
}

/// The documentation of an image, by kiln itself or else by an engine.
fn help(
    images: &ImageEvaluators,
    policy: Option<&Arc<PolicyGuard>>,
    image: &str,
    empty_list: &str,
    ctx: &RunContext,
) -> Result<FinishedProcess, RunError> {
    let function = FunctionSpec::image(image);
    let allowed = |way| policy::check(policy, &function, way, ctx);
    let left = match images.image.as_ref().zip(allowed(RunWay::Image).ok()) {
        None => None,
        Some((evaluator, allowed)) => match evaluator.help(allowed.name(), empty_list, ctx) {
            Err(RunError::NotFound(error)) => Some(error),
            finished => return finished,
        },
    };
    let by_engine = allowed(RunWay::Engine)?;
    let finished = images.container.help(by_engine.name(), empty_list, ctx);
    match (finished, left) {
        (Err(RunError::Unavailable(error)), Some(not_found)) => {
            let not_found = not_found.into();
            let both = NotFoundThenUnavailable { not_found, error };
            Err(RunError::Unavailable(Box::new(both)))
        }
        (finished, _) => finished,
    }
}
