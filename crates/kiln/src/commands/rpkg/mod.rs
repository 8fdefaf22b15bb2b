//! `kiln rpkg`: package revisions on git, with the verbs of porchctl.
//!
//! One file for each verb. Data goes to standard output in porchctl's words, so that scripts find it; what happens on the
//! way, conflicts included, is told on standard error.

mod approve;
mod clone;
mod copy;
mod del;
mod diff;
mod directory;
mod discover;
mod each;
mod get;
mod images;
mod init;
mod log;
mod object;
pub(crate) mod output;
pub(crate) mod place;
mod propose;
mod propose_delete;
mod pull;
mod push;
mod reject;
mod rendering;
mod revision_file;
pub(crate) mod table;
mod update;
mod upgrade;
mod upstreams;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::Ui;

/// `kiln rpkg`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct RpkgArgs {
    #[command(subcommand)]
    command: RpkgCommand,
}

#[derive(Subcommand, Debug)]
enum RpkgCommand {
    /// List package revisions
    #[command(visible_alias = "list")]
    Get(get::GetArgs),
    /// Begin a new package
    Init(Box<init::InitArgs>),
    /// Begin a package as a copy of one from elsewhere
    Clone(Box<clone::CloneArgs>),
    /// Begin a new revision of a package as a copy of a published one
    #[command(visible_alias = "edit")]
    Copy(Box<copy::CopyArgs>),
    /// Begin a new revision of a package with a newer revision of its upstream merged in
    Upgrade(Box<upgrade::UpgradeArgs>),
    /// Get the files of a revision
    #[command(visible_aliases = ["source", "read"])]
    Pull(pull::PullArgs),
    /// Replace the files of a draft
    #[command(visible_aliases = ["sink", "write"])]
    Push(Box<push::PushArgs>),
    /// Change what a draft says about itself: labels, annotations, readiness gates and conditions
    Update(Box<update::UpdateArgs>),
    /// Propose drafts for approval
    Propose(Box<propose::ProposeArgs>),
    /// Publish what was proposed
    Approve(approve::ApproveArgs),
    /// Make drafts of proposals again, or keep what was proposed for deletion
    Reject(reject::RejectArgs),
    /// Propose published revisions for deletion
    #[command(visible_alias = "propose-del")]
    ProposeDelete(propose_delete::ProposeDeleteArgs),
    /// Delete drafts, proposals and what was proposed for deletion
    #[command(visible_alias = "delete")]
    Del(del::DelArgs),
    /// Show how the files of two revisions differ
    Diff(diff::DiffArgs),
    /// Show the commits behind a revision
    Log(log::LogArgs),
}

/// Does what `kiln rpkg` was asked for.
pub(crate) fn cmd_rpkg(ui: &Ui, args: &RpkgArgs) -> Result<()> {
    let done = match &args.command {
        RpkgCommand::Get(args) => get::cmd_get(ui, args),
        RpkgCommand::Init(args) => init::cmd_init(ui, args),
        RpkgCommand::Clone(args) => clone::cmd_clone(ui, args),
        RpkgCommand::Copy(args) => copy::cmd_copy(ui, args),
        RpkgCommand::Upgrade(args) => upgrade::cmd_upgrade(ui, args),
        RpkgCommand::Pull(args) => pull::cmd_pull(ui, args),
        RpkgCommand::Push(args) => push::cmd_push(ui, args),
        RpkgCommand::Update(args) => update::cmd_update(ui, args),
        RpkgCommand::Propose(args) => propose::cmd_propose(ui, args),
        RpkgCommand::Approve(args) => approve::cmd_approve(ui, args),
        RpkgCommand::Reject(args) => reject::cmd_reject(ui, args),
        RpkgCommand::ProposeDelete(args) => propose_delete::cmd_propose_delete(ui, args),
        RpkgCommand::Del(args) => del::cmd_del(ui, args),
        RpkgCommand::Diff(args) => diff::cmd_diff(ui, args),
        RpkgCommand::Log(args) => log::cmd_log(ui, args),
    };
    done.map_err(place::explained)
}

/// Tells that something was done to a revision.
fn done(ui: &Ui, name: &str, what: &str) -> Result<()> {
    ui.write_data(format!("{name} {what}\n").as_bytes())
}
