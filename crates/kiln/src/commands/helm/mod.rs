//! `kiln helm`: kiln as a part of Helm.

mod post_render;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

#[derive(Args, Debug)]
pub(crate) struct HelmArgs {
    #[command(subcommand)]
    command: HelmCommand,
}

#[derive(Subcommand, Debug)]
enum HelmCommand {
    /// Run a pipeline on the manifests of a chart, from standard input to standard output
    PostRender(post_render::PostRenderArgs),
}

pub(crate) fn cmd_helm(ui: &Ui, args: &HelmArgs) -> Result<()> {
    match &args.command {
        HelmCommand::PostRender(args) => post_render::cmd_post_render(ui, args),
    }
}

/// The name of the link by which kiln is a post-renderer, for versions of Helm that take a program without arguments.
const LINK: &str = "kiln-post";

/// The whole command line, if kiln was called by that link.
pub(crate) fn called_by_link(args: &[OsString]) -> Option<Vec<OsString>> {
    let (program, rest) = args.split_first()?;
    if Path::new(program).file_name() != Some(OsStr::new(LINK)) {
        return None;
    }
    let words = ["kiln", "helm", "post-render"].map(OsString::from);
    Some(words.into_iter().chain(rest.iter().cloned()).collect())
}
