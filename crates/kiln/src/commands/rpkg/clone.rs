//! `kiln rpkg clone`

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_task::{
    CloneTask, GitUpstream, NewRevision, OciUpstream, PackageMetadata, PackageName, RevisionRef,
    SecretRef, Task, Upstream,
};

use super::print_status;
use crate::complete;
use crate::error::{CommandError, bail_usage};
use crate::rpkg::flags::WriteFlags;
use crate::rpkg::render_flags::RenderFlags;
use crate::ui::Ui;

/// Create a package from a revision, a git repository or an image
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln rpkg clone blueprints.app.v1 web --repository deployments\n\
    \x20 kiln rpkg clone https://example.com/catalog.git/app@v1 web --repository deployments")]
pub(super) struct CloneArgs {
    /// Package to clone: a revision name, REPOSITORY.git[/DIRECTORY][@REF], any git address that contains a slash, or
    /// oci://IMAGE (required)
    #[arg(value_name = "SOURCE_PACKAGE", add = ArgValueCompleter::new(complete::revisions))]
    source: Option<String>,
    /// Path of the new package in the repository (required)
    #[arg(value_name = "NAME")]
    package: Option<String>,
    /// Name of the repository for the new package. Default: the only repository
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::repositories))]
    repository: Option<String>,
    /// Workspace name of the new revision, unique within the package
    #[arg(long, value_name = "NAME", default_value = "v1")]
    workspace: String,
    /// Branch, tag or commit to clone. Default: main
    #[arg(long, value_name = "REF", default_value = "")]
    r#ref: String,
    /// Directory to clone
    #[arg(long, value_name = "DIRECTORY", default_value = "")]
    directory: String,
    /// Cluster secret to record for Porch. kiln itself uses git's credentials
    #[arg(long, value_name = "NAME", default_value = "")]
    secret_ref: String,
    #[command(flatten)]
    write: WriteFlags,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_clone(ui: &Ui, args: &CloneArgs) -> Result<()> {
    let (Some(source), Some(package)) = (&args.source, &args.package) else {
        let given = usize::from(args.source.is_some());
        bail_usage!("SOURCE_PACKAGE and NAME are required positional arguments; {given} provided");
    };
    let mut session = args.write.open(&args.render.ui(ui))?;
    if source.starts_with("oci://") {
        session = session.with_images()?;
    }
    let repository = args.repository.as_deref().or(session.only_repository());
    let repository = repository.ok_or_else(|| {
        CommandError::usage("--repository is required to specify downstream repository")
    })?;
    if args.workspace.is_empty() {
        bail_usage!("--workspace is required to specify downstream workspace name");
    }
    let new = NewRevision {
        name: PackageName::new(repository, package).revision(&args.workspace),
        task: Some(Task::Clone(CloneTask {
            upstream: upstream(source, args)?,
        })),
        metadata: PackageMetadata::default(),
    };
    let setup = args.render.check(ui)?;
    let log = args.render.log(ui);
    let created = session.engine(&setup, &log).create(&new);
    let created = created.map_err(|error| session.explain(error))?;
    print_status(ui, &created.name.to_string(), "created")
}

/// Parses SOURCE_PACKAGE.
fn upstream(source: &str, args: &CloneArgs) -> Result<Upstream> {
    if source.starts_with("oci://") {
        return Ok(Upstream {
            kind: "oci".to_owned(),
            oci: Some(OciUpstream {
                image: source.to_owned(),
            }),
            ..Upstream::default()
        });
    }
    if !source.contains('/') {
        return Ok(Upstream {
            revision: Some(RevisionRef {
                name: source.to_owned(),
            }),
            ..Upstream::default()
        });
    }
    let (repo, directory, git_ref) = split(source);
    let directory = without_contradiction("directory", &args.directory, directory)?;
    let git_ref = without_contradiction("ref", &args.r#ref, git_ref)?;
    let or_default = |text: String, default: &str| match text.as_str() {
        "" => default.to_owned(),
        _ => text,
    };
    // An upgrade reads this path later, from another directory.
    let repo = match std::path::Path::new(&repo).is_dir() {
        true => std::fs::canonicalize(&repo)?.display().to_string(),
        false => repo,
    };
    Ok(Upstream {
        kind: "git".to_owned(),
        git: Some(GitUpstream {
            repo,
            git_ref: or_default(git_ref, "main"),
            directory: or_default(directory, "/"),
            secret: SecretRef {
                name: args.secret_ref.clone(),
            },
        }),
        ..Upstream::default()
    })
}

/// Splits `REPOSITORY.git[/DIRECTORY][@REF]`. Without `.git`, all of it is the repository.
fn split(source: &str) -> (String, &str, &str) {
    let Some((repo, rest)) = source.split_once(".git") else {
        return (source.to_owned(), "", "");
    };
    if !(rest.is_empty() || rest.starts_with('/') || rest.starts_with('@')) {
        return (source.to_owned(), "", "");
    }
    let (directory, git_ref) = rest.split_once('@').unwrap_or((rest, ""));
    let directory = directory.trim_matches('/');
    (format!("{repo}.git"), directory, git_ref)
}

/// The value of the flag or of the source, which must not contradict each other.
fn without_contradiction(what: &str, flag: &str, source: &str) -> Result<String> {
    let trimmed = |text: &str| text.trim_matches('/').to_owned();
    match (flag, source) {
        ("", source) => Ok(source.to_owned()),
        (flag, "") => Ok(flag.to_owned()),
        (flag, source) if trimmed(flag) == trimmed(source) => Ok(flag.to_owned()),
        (flag, source) => bail_usage!(
            "{what} {flag} specified by --{what} contradicts {what} {source} specified by SOURCE_PACKAGE"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn sources_are_split() {
        let url = "https://x/y.git";
        let check = |source: &str, repo: &str, directory: &str, git_ref: &str| {
            assert_eq!(split(source), (repo.to_owned(), directory, git_ref));
        };
        check("https://x/y.git/a/b@v1", url, "a/b", "v1");
        check("https://x/y.git", url, "", "");
        check("https://x/y.git@main", url, "", "main");
        check("https://x/y", "https://x/y", "", "");
        check("https://x.github.io/y", "https://x.github.io/y", "", "");
    }
}
