//! `kiln fn doc`: runs an image with `--help`.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kiln_container::{CommandStyle, ContainerEvaluator, ContainerOptions, PullPolicy};
use kiln_krm::image::with_prefix;
use kiln_krm::{Dialect, Wrapper, write_list};
use kiln_runtime::{RunContext, RunError};

use crate::compat::Compat;
use crate::environment::{KRM_FN_RUNTIME, PATH};
use crate::error::{CommandError, ErrorClass};
use crate::functions::container_functions;
use crate::functions::flags::checked_prefix;
use crate::interrupt::on_interrupt;
use crate::ui::Ui;

#[derive(Args, Debug)]
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
    // Refused with kpt's message.
    #[arg(hide = true)]
    others: Vec<String>,
}

pub(crate) fn cmd_doc(ui: &Ui, args: &DocArgs) -> Result<()> {
    if !args.others.is_empty() {
        bail!("accepts at most 0 arg(s), received {}", args.others.len());
    }
    let prefix = checked_prefix(args.image_prefix.as_deref())?;
    if args.image.is_empty() {
        bail!("image must be specified");
    }
    let image = with_prefix(&prefix, &args.image);
    let runtime = ContainerEvaluator::new(ContainerOptions {
        engine: std::env::var(KRM_FN_RUNTIME).unwrap_or_default(),
        search_path: std::env::var_os(PATH).unwrap_or_default(),
        style: CommandStyle::Kpt,
        pull_policy: PullPolicy::IfNotPresent,
        mounts: Vec::new(),
        user: None,
    });
    // Some functions read their input before their arguments.
    let empty_list = write_list(&Wrapper::resource_list(Dialect::Current), &[], None, None);
    let ctx = RunContext {
        cancel: on_interrupt(),
        ..RunContext::default()
    };
    let finished = runtime.help(&image, &empty_list, &ctx).map_err(|error| {
        let is_unavailable = matches!(error, RunError::Unavailable(_));
        let error = CommandError::from(anyhow::Error::from(error));
        match is_unavailable && ui.compat() == Compat::Kiln {
            true => CommandError {
                class: ErrorClass::Unavailable,
                hint: Some(container_functions::hint(&[(None, image.clone())])),
                ..error
            },
            false => error,
        }
    })?;
    if finished.exit_code != 0 {
        ui.forward_stderr(&image, &finished.stderr, &mut Vec::new());
        return Err(anyhow!(
            "please ensure the container has an entrypoint and it supports --help flag: {}",
            finished.exit_text()
        ));
    }
    let mut text = finished.stdout;
    text.push(b'\n');
    ui.write_data(&text)
}
