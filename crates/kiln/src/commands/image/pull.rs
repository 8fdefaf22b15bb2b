//! `kiln image pull`

use anyhow::Result;
use clap::Args;
use kiln_oci::{ImageReference, PullPolicy};
use kiln_store::{PullOrigin, PullRequest};

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
        let request = PullRequest {
            reference: reference.clone(),
            platform: args.platform.platform(),
            policy: args.image_pull_policy,
        };
        let pulled = pull(ui, &store, &request)?;
        if let PullOrigin::Registry | PullOrigin::Confirmed = pulled.origin {
            keep_signatures(ui, &store, &request);
        }
        let named = reference.with_digest(pulled.digest);
        ui.write_data(format!("{named}\n").as_bytes())?;
    }
    Ok(())
}
