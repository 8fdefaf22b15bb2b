//! `kiln image pull`

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use kiln_oci::{ImageReference, PullPolicy, RegistryError};
use kiln_store::{PullError, PullOrigin, PullRequest, PulledImage, Store};

use crate::functions::evaluators::pull_policy;
use crate::image_store::{PlatformArgs, StoreArgs, keep_signatures, pull};
use crate::ui::Ui;

/// Pull images from registries into the store
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln image pull example.com/functions/set-name:v1")]
pub(super) struct PullArgs {
    /// Images to pull
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<ImageReference>,
    /// When to ask the registry: Always, IfNotPresent or Never
    #[arg(long, value_name = "POLICY", default_value = "Always", value_parser = pull_policy)]
    image_pull_policy: PullPolicy,
    #[command(flatten)]
    platform: PlatformArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_pull(ui: &Ui, args: &PullArgs) -> Result<()> {
    let store = args.store.open()?;
    for reference in &args.images {
        let (request, pulled) = pull_first(ui, &store, reference, args)?;
        if let PullOrigin::Registry | PullOrigin::Confirmed = pulled.origin {
            keep_signatures(ui, &store, &request);
        }
        let named = reference.with_digest(pulled.digest);
        ui.write_data(format!("{named}\n").as_bytes())?;
    }
    Ok(())
}

/// Pulls the image for the first platform that it is for. If it is for none, the error is that of the first one.
fn pull_first(
    ui: &Ui,
    store: &Store,
    reference: &ImageReference,
    args: &PullArgs,
) -> Result<(PullRequest, PulledImage)> {
    let mut first_error = None;
    for platform in args.platform.to_add() {
        let request = PullRequest {
            reference: reference.clone(),
            platform,
            policy: args.image_pull_policy,
        };
        match pull(ui, store, &request) {
            Ok(pulled) => return Ok((request, pulled)),
            Err(error) if is_for_others(&error) => _ = first_error.get_or_insert(error),
            Err(error) => return Err(first_error.unwrap_or(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| anyhow::anyhow!("there is no platform")))
}

/// Whether an image is not there for the platform, and may be for another.
fn is_for_others(error: &anyhow::Error) -> bool {
    let pull = error.downcast_ref::<Arc<PullError>>();
    pull.is_some_and(|error| {
        matches!(
            **error,
            PullError::NotInStore(_) | PullError::Registry(RegistryError::NoPlatform { .. })
        )
    })
}
