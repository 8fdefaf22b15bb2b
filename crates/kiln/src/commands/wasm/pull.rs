//! `kiln wasm pull`, `kiln alpha wasm pull`

use std::path::Path;

use anyhow::{Context as _, Error, Result};
use clap::Args;
use kiln_wasm::WasmImageError;

use super::{context, images};
use crate::error::bail_usage;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n\x20 kiln wasm pull registry.example.com/functions/set-labels:v1 set-labels.wasm"
)]
pub(super) struct WasmPullArgs {
    /// The image
    image: String,
    /// The file to write the module to
    file: String,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n\x20 kiln alpha wasm pull registry.example.com/functions/set-labels:v1 set-labels.wasm"
)]
pub(super) struct KptPullArgs {
    /// The image, then the file to write the module to
    #[arg(value_names = ["IMAGE", "LOCAL_PATH"])]
    arguments: Vec<String>,
}

pub(super) fn cmd_pull(args: &WasmPullArgs) -> Result<()> {
    let module = images()?.fetch(&args.image, &context())?;
    write(&args.file, &module)
}

pub(super) fn cmd_kpt_pull(args: &KptPullArgs) -> Result<()> {
    let [image, file] = args.arguments.as_slice() else {
        bail_usage!("2 positional arguments (a OCI image and a local path) required");
    };
    let module = images()?.fetch(image, &context());
    let module = module.map_err(|error| match error {
        error @ (WasmImageError::Registry(_) | WasmImageError::NotWasm(_)) => {
            Error::new(error).context("unable to get remote image")
        }
        error => error.into(),
    })?;
    write(file, &module)
}

fn write(file: &str, module: &[u8]) -> Result<()> {
    let path = Path::new(file);
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot create directory {}", parent.display()))?;
    }
    std::fs::write(path, module).with_context(|| format!("cannot write {file}"))
}
