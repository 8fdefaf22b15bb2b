//! `kiln image import`

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use kiln_oci::ImageReference;

use crate::image_store::{PlatformArgs, StoreArgs};
use crate::ui::Ui;

/// Add the images of an OCI or Docker archive to the store
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln image import set-name.tar")]
pub(super) struct ImportArgs {
    /// Archive to read, also compressed with gzip or zstd; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the image, instead of the name in the archive
    #[arg(long, value_name = "IMAGE")]
    name: Option<ImageReference>,
    #[command(flatten)]
    platform: PlatformArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_import(ui: &Ui, args: &ImportArgs) -> Result<()> {
    let store = args.store.open()?;
    let platforms = args.platform.to_add();
    let imported = if args.file == Path::new("-") {
        let mut stdin = BufReader::new(io::stdin().lock());
        store.import(&mut stdin, &platforms, args.name.as_ref())
    } else {
        let file = File::open(&args.file);
        let file = file.with_context(|| format!("cannot open {}", args.file.display()))?;
        store.import(&mut BufReader::new(file), &platforms, args.name.as_ref())
    };
    let imported = imported.with_context(|| format!("cannot import {}", args.file.display()))?;
    for image in imported {
        let digest = &image.image.meta().manifest_digest;
        let line = match image.reference {
            Some(reference) => format!("{reference} {digest}\n"),
            None => format!("{digest}\n"),
        };
        ui.write_data(line.as_bytes())?;
    }
    Ok(())
}
