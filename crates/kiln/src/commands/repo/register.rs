//! `kiln repo register`

use anyhow::{Context, Result, bail};
use clap::Args;
use kiln_task::git::RepositoryLocation;
use kiln_task::{PackagePath, Repository, check_repository_name};

use crate::error::bail_usage;
use crate::flag_values::go_bool;
use crate::rpkg::discovery::{default_name, parse_location};
use crate::rpkg::git_environment::git_options;
use crate::rpkg::repositories_file::{
    ContextStyle, RegisteredRepository, RepositoriesFile, RunnerEntry,
};
use crate::ui::Ui;

/// Register a git repository under a name
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln repo register https://example.com/blueprints.git\n\
    \x20 kiln repo register ../deploy.git --name deployments --deployment --create-branch")]
pub(super) struct RegisterArgs {
    /// Path or URL of the repository (required)
    #[arg(value_name = "REPOSITORY")]
    repo: Option<String>,
    /// Name of the repository. Default: the last part of its path or URL
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Directory that contains the packages
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    directory: String,
    /// Branch of published packages
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    branch: String,
    /// Create the branch if it does not exist
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    create_branch: Option<bool>,
    /// Mark as a deployment repository (adds package-context.yaml to packages)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    deployment: Option<bool>,
    /// Keys of package-context.yaml in packages of a deployment repository
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    package_context: ContextStyle,
    /// Description of the repository
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
    /// Namespace of the repository
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// Ignored: git uses its own credentials
    #[arg(long, hide = true, value_name = "NAME")]
    repo_basic_username: Option<String>,
    /// Ignored: git uses its own credentials
    #[arg(long, hide = true, value_name = "PASSWORD")]
    repo_basic_password: Option<String>,
    /// Ignored: repositories are read whenever they are needed
    #[arg(long, hide = true, value_name = "SCHEDULE")]
    sync_schedule: Option<String>,
    /// Function runner for its packages: HOST:PORT, https://HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    runner_address: Option<String>,
    /// Image pull secret to record. It is not used: function runners pull images with their own secrets, so that a caller
    /// cannot use the secrets of another
    #[arg(long = "runner-pull-secret", value_name = "NAME")]
    runner_pull_secrets: Vec<String>,
    /// Time limit for each function, here and in the runner: 90s, 5m, 1h30m; 0 means no limit
    #[arg(long, value_name = "TIME")]
    runner_timeout: Option<String>,
    /// Memory limit for each function that runs on this machine, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE")]
    runner_memory: Option<String>,
    /// Output limit for each function, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE")]
    runner_max_output: Option<String>,
}

pub(super) fn cmd_register(ui: &Ui, args: &RegisterArgs) -> Result<()> {
    let Some(repo) = &args.repo else {
        bail_usage!("repository is required positional argument");
    };
    if repo.starts_with("oci://") {
        bail_usage!(
            "{repo} is not a git repository; to clone a package from an image, run `kiln rpkg clone oci://IMAGE`"
        );
    }
    if args.repo_basic_username.is_some() || args.repo_basic_password.is_some() {
        ui.warn("credentials are not stored: git gets them from its credential helpers");
    }
    if args.sync_schedule.is_some() {
        ui.warn("--sync-schedule has no effect: repositories are read whenever they are needed");
    }
    if args.package_context != ContextStyle::default() && !args.deployment.unwrap_or(false) {
        ui.warn(
            "--package-context has no effect without --deployment: only packages of deployment repositories get a package context",
        );
    }
    let location = parse_location(repo)?;
    let name = args.name.clone().unwrap_or_else(|| default_name(&location));
    check_repository_name(&name)?;
    let directory = args.directory.trim_matches('/');
    if !directory.is_empty() {
        PackagePath::new(directory)?;
    }
    RepositoriesFile::read()?.check_unused(&name)?;
    let entry = RegisteredRepository {
        repo: match &location {
            RepositoryLocation::Path(path) => path.display().to_string(),
            RepositoryLocation::Address(address) => check_no_password(address)?,
        },
        name,
        branch: args.branch.clone(),
        directory: directory.to_owned(),
        deployment: args.deployment.unwrap_or(false),
        package_context: args.package_context,
        namespace: args.namespace.clone(),
        description: args.description.clone(),
        runner: RunnerEntry {
            address: args.runner_address.clone(),
            pull_secrets: args.runner_pull_secrets.clone(),
            timeout: args.runner_timeout.clone(),
            memory: args.runner_memory.clone(),
            max_output: args.runner_max_output.clone(),
        },
    };
    let repository = Repository::open(entry.config()?, &git_options(ui)?)?;
    let name = repository.config.name.clone();
    let context = || format!("repository {name}");
    if args.create_branch.unwrap_or(false) {
        repository.create_branch().with_context(context)?;
    }
    // Fail now if the repository cannot be read, not at its first use.
    let snapshot = repository.snapshot().with_context(context)?;
    if snapshot.head.is_none() && !snapshot.refs.is_empty() {
        bail!(
            "branch {:?} doesn't exist; create it with --create-branch",
            args.branch
        );
    }
    if !entry.runner.pull_secrets.is_empty() {
        ui.warn(
            "--runner-pull-secret is recorded but not used: function runners pull images with their own secrets; configure the secret in the function runner (--registry-auth-secret-name)",
        );
    }
    if entry.runner.memory.is_some() && entry.runner.address.is_some() {
        ui.warn(
            "--runner-memory applies only to functions that run on this machine (--allow-exec); the function runner has its own limits",
        );
    }
    let message = format!(
        "registered {} as repository {} (branch {}, {} package revision(s))",
        entry.repo,
        entry.name,
        entry.branch,
        snapshot.revisions.len(),
    );
    RepositoriesFile::change(|file| {
        file.check_unused(&entry.name)?;
        file.repositories.push(entry);
        file.repositories.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    })?;
    ui.print_message(&message);
    Ok(())
}

/// Refuses an address with a password: the file of repositories stores no credentials.
fn check_no_password(address: &str) -> Result<String> {
    let authority = address.split_once("://").map(|(_, rest)| rest);
    let authority = authority.and_then(|rest| rest.split('/').next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    match user {
        Some((user, _)) if user.contains(':') => bail_usage!(
            "the address contains a password, which would be stored; remove it and use git's credential helpers"
        ),
        _ => Ok(address.to_owned()),
    }
}
