//! `kiln wasm`, and kpt's `alpha wasm`.

mod compile;
mod pull;
mod push;

use anyhow::Result;
use clap::{Args, Subcommand};
use kiln_runtime::RunContext;
use kiln_wasm::{WasmImageOptions, WasmImages};

use crate::functions::registry_tags::registry_options;
use crate::functions::wasm::cache_directory;
use crate::interrupt::on_interrupt;
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct WasmArgs {
    #[command(subcommand)]
    command: WasmCommand,
}

#[derive(Subcommand, Debug)]
enum WasmCommand {
    /// Push a WebAssembly function to a registry
    Push(push::PushArgs),
    /// Pull a WebAssembly function from a registry into a file
    Pull(pull::WasmPullArgs),
    /// Compile a WebAssembly function, so that its first call is fast
    Compile(compile::CompileArgs),
}

/// kpt's `alpha`
#[derive(Args, Debug)]
pub(crate) struct AlphaArgs {
    #[command(subcommand)]
    command: AlphaCommand,
}

#[derive(Subcommand, Debug)]
enum AlphaCommand {
    /// Push and pull WebAssembly functions, as kpt does
    Wasm(AlphaWasmArgs),
}

#[derive(Args, Debug)]
struct AlphaWasmArgs {
    #[command(subcommand)]
    command: AlphaWasmCommand,
}

#[derive(Subcommand, Debug)]
enum AlphaWasmCommand {
    /// Push a WebAssembly function to a registry
    Push(push::KptPushArgs),
    /// Pull a WebAssembly function from a registry into a file
    Pull(pull::KptPullArgs),
}

pub(crate) fn cmd_wasm(ui: &Ui, args: &WasmArgs) -> Result<()> {
    match &args.command {
        WasmCommand::Push(args) => push::cmd_push(ui, args),
        WasmCommand::Pull(args) => pull::cmd_pull(args),
        WasmCommand::Compile(args) => compile::cmd_compile(args),
    }
}

pub(crate) fn cmd_alpha(ui: &Ui, args: &AlphaArgs) -> Result<()> {
    let AlphaCommand::Wasm(args) = &args.command;
    match &args.command {
        AlphaWasmCommand::Push(args) => push::cmd_kpt_push(ui, args),
        AlphaWasmCommand::Pull(args) => pull::cmd_kpt_pull(args),
    }
}

/// Images that are modules, as commands that name one see them.
fn images() -> Result<WasmImages> {
    let options = WasmImageOptions {
        prefers_modules: true,
        pull: kiln_oci::PullPolicy::Always,
        registry: registry_options()?,
        ..WasmImageOptions::default()
    };
    Ok(WasmImages::new(options, cache_directory().as_deref()))
}

/// A context that Ctrl-C cancels.
fn context() -> RunContext {
    RunContext {
        cancel: on_interrupt(),
        ..RunContext::default()
    }
}
