//! `kiln image remove`

use anyhow::{Result, bail};
use clap::Args;
use kiln_oci::{Digest, ImageReference};
use kiln_store::{Removed, Store};

use crate::image_store::StoreArgs;
use crate::ui::Ui;

/// Remove images from the store
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln image remove example.com/functions/set-name:v1")]
pub(super) struct RemoveArgs {
    /// References or manifest digests of images
    #[arg(value_name = "IMAGE")]
    images: Vec<String>,
    /// Remove all images that are not in use
    #[arg(long, conflicts_with = "images")]
    all: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_remove(ui: &Ui, args: &RemoveArgs) -> Result<()> {
    if args.images.is_empty() && !args.all {
        bail!("an image is required unless --all is set");
    }
    let store = args.store.open()?;
    for digest in digests(&store, args)? {
        store.remove(&digest)?;
        report(ui, &Removed::Image(digest))?;
    }
    for image in &args.images {
        if image.parse::<Digest>().is_err() {
            let reference: ImageReference = image.parse()?;
            for removed in store.remove_reference(&reference)? {
                report(ui, &removed)?;
            }
        }
    }
    Ok(())
}

/// The images that the arguments name by digest.
fn digests(store: &Store, args: &RemoveArgs) -> Result<Vec<Digest>> {
    if args.all {
        let images = store.list()?.into_iter();
        return Ok(images.map(|image| image.meta.manifest_digest).collect());
    }
    let digests = args.images.iter().filter_map(|image| image.parse().ok());
    Ok(digests.collect())
}

fn report(ui: &Ui, removed: &Removed) -> Result<()> {
    let line = match removed {
        Removed::Reference(reference) => format!("removed reference {reference}\n"),
        Removed::Image(digest) => format!("removed image {digest}\n"),
    };
    ui.write_data(line.as_bytes())
}
