//! `kiln wasm compile`

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Args;
use kiln_wasm::{HAS_COMPILER, WasmEvaluator, WasmOptions, read_module_file};

use crate::error::CommandError;
use crate::functions::wasm::cache_directory;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\x20 kiln wasm compile function.wasm")]
pub(super) struct CompileArgs {
    /// A file with a module, or an image
    module: String,
}

pub(super) fn cmd_compile(args: &CompileArgs) -> Result<()> {
    let name = &args.module;
    if !HAS_COMPILER {
        let error = anyhow::anyhow!(
            "cannot compile {name}: this kiln has no compiler and interprets functions in WebAssembly"
        );
        return Err(CommandError::with_hint(error, "build it with --features wasm-jit").into());
    }
    let path = Path::new(name);
    let module = match path.exists() {
        true => read_module_file(path)?,
        false => super::images()?.module(name, &super::context())?,
    };
    let options = WasmOptions {
        cache: Some(
            cache_directory()
                .context("there is no directory for compiled code: set HOME or XDG_CACHE_HOME")?,
        ),
        ..WasmOptions::default()
    };
    Ok(WasmEvaluator::new(options).compile(name, module)?)
}
