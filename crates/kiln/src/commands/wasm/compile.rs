//! `kiln wasm compile`

use anyhow::Result;
use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\x20 kiln wasm compile function.wasm")]
pub(super) struct CompileArgs {
    /// A file with a module, or an image
    module: String,
}

#[cfg(feature = "wasm-jit")]
pub(super) fn cmd_compile(args: &CompileArgs) -> Result<()> {
    use anyhow::Context as _;
    use kiln_wasm::{WasmEvaluator, WasmOptions, read_module_file};

    use crate::functions::wasm::cache_directory;

    let path = std::path::Path::new(&args.module);
    let module = match path.exists() {
        true => read_module_file(path)?,
        false => super::images()?.module(&args.module, &super::context())?,
    };
    let options = WasmOptions {
        cache: Some(
            cache_directory()
                .context("there is no directory for compiled code: set HOME or XDG_CACHE_HOME")?,
        ),
        ..WasmOptions::default()
    };
    Ok(WasmEvaluator::new(options).compile(&args.module, module)?)
}

#[cfg(not(feature = "wasm-jit"))]
pub(super) fn cmd_compile(args: &CompileArgs) -> Result<()> {
    anyhow::bail!(
        "cannot compile {}: this kiln has no compiler and interprets functions in WebAssembly; \
         build it with --features wasm-jit",
        args.module
    )
}
