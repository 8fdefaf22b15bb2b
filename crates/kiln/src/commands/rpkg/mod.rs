//! `kiln rpkg`: package revisions on git, with the verbs of porchctl.
//!
//! One file for each verb; what they share is in `crate::rpkg`. Data goes to standard output in porchctl's words, because
//! scripts read it; warnings, conflicts included, go to standard error.

mod approve;
mod clone;
mod copy;
mod del;
mod diff;
mod get;
mod init;
mod log;
mod propose;
mod propose_delete;
mod pull;
mod push;
mod reject;
mod update;
mod upgrade;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::deferred::Deferred;
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
    Get(Deferred<get::GetArgs>),
    /// Create an empty package
    Init(Box<Deferred<init::InitArgs>>),
    /// Create a package from a revision, a git repository or an image
    Clone(Box<Deferred<clone::CloneArgs>>),
    /// Create a revision of a package as a copy of a published one
    #[command(visible_alias = "edit")]
    Copy(Box<Deferred<copy::CopyArgs>>),
    /// Create a revision of a package with a newer upstream revision merged in
    Upgrade(Box<Deferred<upgrade::UpgradeArgs>>),
    /// Write the files of a revision to a directory, or print them
    #[command(visible_aliases = ["source", "read"])]
    Pull(Deferred<pull::PullArgs>),
    /// Replace the files of a draft
    #[command(visible_aliases = ["sink", "write"])]
    Push(Box<Deferred<push::PushArgs>>),
    /// Change labels, annotations, readiness gates and conditions of a draft
    Update(Box<Deferred<update::UpdateArgs>>),
    /// Propose drafts for approval
    Propose(Box<Deferred<propose::ProposeArgs>>),
    /// Approve and publish proposals
    Approve(Deferred<approve::ApproveArgs>),
    /// Turn proposals back into drafts, or withdraw proposals for deletion
    Reject(Deferred<reject::RejectArgs>),
    /// Propose published revisions for deletion
    #[command(visible_alias = "propose-del")]
    ProposeDelete(Deferred<propose_delete::ProposeDeleteArgs>),
    /// Delete drafts, proposals and revisions proposed for deletion
    #[command(visible_alias = "delete")]
    Del(Deferred<del::DelArgs>),
    /// Print the differences between the files of two revisions
    Diff(Deferred<diff::DiffArgs>),
    /// Print the commits of a revision
    Log(Deferred<log::LogArgs>),
}

pub(crate) fn cmd_rpkg(ui: &Ui, args: &RpkgArgs) -> Result<()> {
    match &args.command {
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
    }
}

/// Prints porchctl's line `NAME STATUS`.
fn print_status(ui: &Ui, name: &str, status: &str) -> Result<()> {
    ui.write_data(format!("{name} {status}\n").as_bytes())
}
