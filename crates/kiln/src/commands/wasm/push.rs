//! `kiln wasm push`, `kiln alpha wasm push`

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use kiln_wasm::{ImageFormat, PushedModule, read_wasm_file};

use super::{context, images};
use crate::error::bail_usage;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n\x20 kiln wasm push set-labels.wasm registry.example.com/functions/set-labels:v1"
)]
pub(super) struct PushArgs {
    /// The module, or component
    file: String,
    /// The image to push it to
    image: String,
    /// Form of the image: `kpt`, which kpt runs, or `oci`, which WebAssembly runtimes run
    #[arg(long, value_enum, default_value = "oci")]
    format: PushFormat,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum PushFormat {
    Kpt,
    Oci,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n\x20 kiln alpha wasm push set-labels.wasm registry.example.com/functions/set-labels:v1"
)]
pub(super) struct KptPushArgs {
    /// The module, then the image to push it to
    #[arg(value_names = ["LOCAL_PATH", "IMAGE"])]
    arguments: Vec<String>,
}

pub(super) fn cmd_push(ui: &Ui, args: &PushArgs) -> Result<()> {
    let format = match args.format {
        PushFormat::Kpt => ImageFormat::Kpt,
        PushFormat::Oci => ImageFormat::Oci,
    };
    let path = Path::new(&args.file);
    let module = read_wasm_file(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pushed = images()?.push(&args.image, &name, &module, format, &context())?;
    print(ui, &args.image, &pushed)
}

pub(super) fn cmd_kpt_push(ui: &Ui, args: &KptPushArgs) -> Result<()> {
    let [file, image] = args.arguments.as_slice() else {
        bail_usage!("2 positional arguments (local wasm file and OCI image) are required");
    };
    let pushed = images()?.push_as_kpt(image, Path::new(file), &context())?;
    print(ui, image, &pushed)
}

fn print(ui: &Ui, image: &str, pushed: &PushedModule) -> Result<()> {
    let mut text = format!("digest of the image: {}\n", pushed.image);
    if let Some(index) = &pushed.index {
        text.push_str(&format!("digest of the image index: {index}\n"));
    }
    text.push_str(&format!("image has been pushed to {image}\n"));
    ui.write_data(text.as_bytes())
}
