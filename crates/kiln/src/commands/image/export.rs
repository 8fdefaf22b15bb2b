//! `kiln image export`

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use kiln_oci::ImageReference;

use crate::image_store::{NewFile, PlatformArgs, StoreArgs};
use crate::ui::Ui;

/// Write an image of the store to an OCI archive
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln image export example.com/functions/set-name:v1 set-name.tar"
)]
pub(super) struct ExportArgs {
    /// Image to export
    #[arg(value_name = "IMAGE")]
    image: ImageReference,
    /// Archive to write, - for standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    platform: PlatformArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn cmd_export(_: &Ui, args: &ExportArgs) -> Result<()> {
    let store = args.store.open()?;
    let platform = args.platform.of_stored(&store, &args.image)?;
    if args.file == Path::new("-") {
        let mut stdout = BufWriter::new(io::stdout().lock());
        return Ok(store.export(&args.image, &platform, &mut stdout)?);
    }
    let new = NewFile::create(&args.file)?;
    let mut writer = BufWriter::new(new.file());
    store.export(&args.image, &platform, &mut writer)?;
    drop(writer);
    new.rename()
}
