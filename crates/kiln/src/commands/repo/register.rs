//! `kiln repo register`

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_task::git::Location;
use kiln_task::{PackagePath, Repository, check_repository_name};

use super::registry::{ContextStyle, Entry, Registry, Runner};
use crate::cli::go_bool;
use crate::commands::rpkg::place::{git_options, location, name_of};
use crate::ui::Ui;

/// Give a git repository a name
#[derive(Args, Debug)]
pub(super) struct RegisterArgs {
    /// The repository: a path or an address
    #[arg(value_name = "REPOSITORY")]
    repo: Option<String>,
    /// The name; the last part of its path or address if not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The directory that packages are in
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    directory: String,
    /// The branch of published packages
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    branch: String,
    /// Make the branch if it is not there
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    create_branch: Option<bool>,
    /// Packages of this repository are deployed, and get to know where
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    deployment: Option<bool>,
    /// What package-context.yaml holds in packages of a deployment repository
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    package_context: ContextStyle,
    /// A sentence about the repository
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
    /// The namespace it belongs to
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Not stored: git's own credentials are used
    #[arg(long, hide = true, value_name = "NAME")]
    repo_basic_username: Option<String>,
    /// Not stored: git's own credentials are used
    #[arg(long, hide = true, value_name = "PASSWORD")]
    repo_basic_password: Option<String>,
    /// Without effect: a repository is read whenever it is needed
    #[arg(long, hide = true, value_name = "SCHEDULE")]
    sync_schedule: Option<String>,
    /// The function runner for its packages: HOST:PORT, https://HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    runner_address: Option<String>,
    /// A secret that images are pulled with. It is only noted: function runners pull with the secrets of their own
    /// configuration, so that nobody who calls one can use those of others
    #[arg(long = "runner-pull-secret", value_name = "NAME")]
    runner_pull_secrets: Vec<String>,
    /// How long each function may run, wherever it runs: 90s, 5m, 1h30m; 0 for as long as it likes
    #[arg(long, value_name = "TIME")]
    runner_timeout: Option<String>,
    /// The memory that each function has that runs on this machine, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE")]
    runner_memory: Option<String>,
    /// How much each function may write, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE")]
    runner_max_output: Option<String>,
}

pub(super) fn cmd_register(ui: &Ui, args: &RegisterArgs) -> Result<()> {
    let Some(repo) = &args.repo else {
        bail!("repository is required positional argument");
    };
    if repo.starts_with("oci://") {
        bail!(
            "{repo} is no git repository; `kiln rpkg clone oci://IMAGE` takes a package from an image"
        );
    }
    if args.repo_basic_username.is_some() || args.repo_basic_password.is_some() {
        ui.warn("credentials are not stored: git asks its own credential helpers for them");
    }
    if args.sync_schedule.is_some() {
        ui.warn("--sync-schedule has no effect: a repository is read whenever it is needed");
    }
    if args.package_context != ContextStyle::default() && !args.deployment.unwrap_or(false) {
        ui.warn(
            "--package-context has no effect without --deployment: only packages of deployment repositories get a package context",
        );
    }
    let place = location(repo)?;
    let name = args.name.clone().unwrap_or_else(|| name_of(&place));
    check_repository_name(&name)?;
    let directory = args.directory.trim_matches('/');
    if !directory.is_empty() {
        PackagePath::new(directory)?;
    }
    Registry::read()?.check_new(&name)?;
    let entry = Entry {
        repo: match &place {
            Location::Path(path) => path.display().to_string(),
            Location::Address(address) => without_password(address)?,
        },
        name,
        branch: args.branch.clone(),
        directory: directory.to_owned(),
        deployment: args.deployment.unwrap_or(false),
        package_context: args.package_context,
        namespace: args.namespace.clone(),
        description: args.description.clone(),
        runner: Runner {
            address: args.runner_address.clone(),
            pull_secrets: args.runner_pull_secrets.clone(),
            timeout: args.runner_timeout.clone(),
            memory: args.runner_memory.clone(),
            max_output: args.runner_max_output.clone(),
        },
    };
    let repository = Repository::open(entry.config()?, &git_options()?)?;
    let name = repository.config.name.clone();
    let context = || format!("repository {name}");
    if args.create_branch.unwrap_or(false) {
        repository.create_branch().with_context(context)?;
    }
    // Whoever registers a repository wants to know now that it cannot be read.
    let snapshot = repository.snapshot().with_context(context)?;
    if snapshot.head.is_none() && !snapshot.refs.is_empty() {
        bail!(
            "branch {:?} doesn't exist; --create-branch makes it",
            args.branch
        );
    }
    if !entry.runner.pull_secrets.is_empty() {
        ui.warn(
            "--runner-pull-secret is noted and not used: whose secrets images are pulled with is not for callers to say; give the secret to the function runner itself (--registry-auth-secret-name)",
        );
    }
    if entry.runner.memory.is_some() && entry.runner.address.is_some() {
        ui.warn(
            "--runner-memory holds for functions that run on this machine (--allow-exec); the function runner has limits of its own",
        );
    }
    Registry::change(|registry| {
        registry.check_new(&entry.name)?;
        registry.repositories.push(entry);
        registry.repositories.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    })
}

/// Credentials come from git's helpers and are never stored.
fn without_password(address: &str) -> Result<String> {
    let authority = address.split_once("://").map(|(_, rest)| rest);
    let authority = authority.and_then(|rest| rest.split('/').next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    match user {
        Some((user, _)) if user.contains(':') => bail!(
            "the address has a password in it, which would be stored; leave it out and let git's credential helpers find it"
        ),
        _ => Ok(address.to_owned()),
    }
}
