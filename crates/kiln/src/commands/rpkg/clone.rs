//! `kiln rpkg clone`

use anyhow::{Result, anyhow, bail};
use clap::Args;
use kiln_task::{
    CloneTask, GitUpstream, NewRevision, OciUpstream, PackageMetadata, PackageName, RevisionRef,
    SecretRef, Task, Upstream,
};

use super::done;
use super::place::ChangeArgs;
use super::rendering::RenderFlags;
use crate::ui::Ui;

/// Begin a package as a copy of one from elsewhere
#[derive(Args, Debug)]
pub(super) struct CloneArgs {
    /// What to copy: the name of a revision, REPOSITORY.git[/DIRECTORY][@REF], any git repository with a slash in it, or
    /// oci://IMAGE
    #[arg(value_name = "SOURCE_PACKAGE")]
    source: Option<String>,
    /// The new package: its directory in the repository
    #[arg(value_name = "NAME")]
    package: Option<String>,
    /// The repository of the new package, by name; the only one there is if not given
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// What tells the revision from others of the package
    #[arg(long, value_name = "NAME", default_value = "v1")]
    workspace: String,
    /// The branch, tag or commit to copy from; main if not given
    #[arg(long, value_name = "REF", default_value = "")]
    r#ref: String,
    /// The directory to copy
    #[arg(long, value_name = "DIRECTORY", default_value = "")]
    directory: String,
    /// A secret of the cluster, noted for Porch; git's own credentials are used here
    #[arg(long, value_name = "NAME", default_value = "")]
    secret_ref: String,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    render: RenderFlags,
}

pub(super) fn cmd_clone(ui: &Ui, args: &CloneArgs) -> Result<()> {
    let (Some(source), Some(package)) = (&args.source, &args.package) else {
        let given = usize::from(args.source.is_some());
        bail!("SOURCE_PACKAGE and NAME are required positional arguments; {given} provided");
    };
    let mut session = args.change.open()?;
    if source.starts_with("oci://") {
        session = session.with_images()?;
    }
    let repository = args.repository.as_deref().or(session.only_repository());
    let repository = repository
        .ok_or_else(|| anyhow!("--repository is required to specify downstream repository"))?;
    if args.workspace.is_empty() {
        bail!("--workspace is required to specify downstream workspace name");
    }
    let new = NewRevision {
        name: PackageName::new(repository, package).revision(&args.workspace),
        task: Some(Task::Clone(CloneTask {
            upstream: upstream(source, args)?,
        })),
        metadata: PackageMetadata::default(),
    };
    let rendering = args.render.check()?;
    let log = args.render.log(ui);
    let created = session.engine(&rendering, &log).create(&new)?;
    done(ui, &created.name.to_string(), "created")
}

/// What a source means.
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
    let directory = agreed("directory", &args.directory, directory)?;
    let git_ref = agreed("ref", &args.r#ref, git_ref)?;
    let or = |text: String, usual: &str| match text.as_str() {
        "" => usual.to_owned(),
        _ => text,
    };
    // Porch reads this elsewhere, and so do we, from wherever an upgrade is made.
    let repo = match std::path::Path::new(&repo).is_dir() {
        true => std::fs::canonicalize(&repo)?.display().to_string(),
        false => repo,
    };
    Ok(Upstream {
        kind: "git".to_owned(),
        git: Some(GitUpstream {
            repo,
            git_ref: or(git_ref, "main"),
            directory: or(directory, "/"),
            secret: SecretRef {
                name: args.secret_ref.clone(),
            },
        }),
        ..Upstream::default()
    })
}

/// Repository, directory and ref of `REPOSITORY.git[/DIRECTORY][@REF]`; what has no `.git` in it is all repository.
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

/// What the flag and the source agree on.
fn agreed(what: &str, flag: &str, source: &str) -> Result<String> {
    let trimmed = |text: &str| text.trim_matches('/').to_owned();
    match (flag, source) {
        ("", source) => Ok(source.to_owned()),
        (flag, "") => Ok(flag.to_owned()),
        (flag, source) if trimmed(flag) == trimmed(source) => Ok(flag.to_owned()),
        (flag, source) => bail!(
            "{what} {flag} specified by --{what} contradicts {what} {source} specified by SOURCE_PACKAGE"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn sources_are_taken_apart() {
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
