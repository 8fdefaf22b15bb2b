//! The errors of `kiln pkg`: kpt's lines, or in kiln's own mode a hint besides.

use std::fmt::Display;

use anyhow::Error;
use kiln_krm::kptfile::KptfileError;
use kiln_task::git::{GitError, NoGit, UpstreamCommandError, UpstreamError, UpstreamProblem};
use kiln_task::pkg::FetchError;

use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass};
use crate::ui::Ui;

/// An error that kpt prints as `Error: TEXT `.
pub(super) fn typed(ui: &Ui, text: impl Display) -> Error {
    typed_with(ui, text, ErrorClass::Other, None)
}

/// The same for an invalid command line.
pub(super) fn usage(ui: &Ui, text: impl Display) -> Error {
    typed_with(ui, text, ErrorClass::Usage, None)
}

fn typed_with(ui: &Ui, text: impl Display, class: ErrorClass, hint: Option<String>) -> Error {
    let text = text.to_string();
    let error = match ui.compat() {
        Compat::Kiln => CommandError {
            class,
            hint,
            ..CommandError::new(format!("error: {}", text.trim_end()))
        },
        Compat::Kpt | Compat::KptV039 => CommandError {
            class,
            ..CommandError::new(format!("Error: {text} "))
        },
    };
    error.into()
}

/// A Kptfile that cannot be used.
pub(super) fn kptfile(ui: &Ui, error: &KptfileError) -> Error {
    typed_with(ui, error.message(), ErrorClass::Input, None)
}

/// A package that cannot be fetched.
pub(super) fn fetch(ui: &Ui, error: &FetchError) -> Error {
    match error {
        FetchError::Upstream(error) => upstream(ui, error),
        FetchError::Image { error: cause, .. } => {
            let text = format!("{error}: {}", kiln_go::error_chain(&**cause));
            typed_with(ui, text, ErrorClass::Unavailable, None)
        }
        FetchError::NoDirectory {
            directory,
            repo,
            git_ref,
        } if ui.compat() == Compat::Kiln => {
            let [directory, repo, git_ref] =
                [directory, repo, git_ref].map(|text| kiln_go::quote(text));
            let text = format!("path {directory} does not exist in repository {repo} at {git_ref}");
            let hint = "check the directory: it may have another name in this version";
            typed_with(ui, text, ErrorClass::Other, Some(hint.to_owned()))
        }
        FetchError::Kptfile(error) => typed_with(ui, error, ErrorClass::Input, None),
        error => typed(ui, error),
    }
}

fn upstream(ui: &Ui, error: &UpstreamError) -> Error {
    match error {
        UpstreamError::Command(error) if ui.compat() == Compat::Kiln => command(ui, error),
        UpstreamError::Git(GitError::Missing(_)) => no_git(ui),
        UpstreamError::NoDefaultBranch => {
            let hint =
                "the repository may be empty: push a branch, or name a version (ADDRESS@VERSION)";
            typed_with(ui, error, ErrorClass::Other, Some(hint.to_owned()))
        }
        UpstreamError::Owner(error) => {
            let hint = "remove it, or name a directory of your own in XDG_CACHE_HOME".to_owned();
            typed_with(ui, error, ErrorClass::Other, Some(hint))
        }
        UpstreamError::Git(error) => {
            let text = kiln_go::error_chain(error);
            typed_with(ui, text, ErrorClass::Unavailable, None)
        }
        error => typed(ui, error),
    }
}

/// There is no git. kpt's text ends with a line break, because git's output would follow.
fn no_git(ui: &Ui) -> Error {
    let text = match ui.compat() {
        Compat::Kiln => NoGit.to_string(),
        Compat::Kpt | Compat::KptV039 => {
            "No git executable found. kpt requires git to be installed and available in the path.\n"
                .to_owned()
        }
    };
    let hint = "install git; packages in images (oci://) need none".to_owned();
    typed_with(ui, text, ErrorClass::Unavailable, Some(hint))
}

/// A failed git command with what to do about it.
fn command(ui: &Ui, error: &UpstreamCommandError) -> Error {
    let quote = kiln_go::quote;
    let repo = quote(&error.repo);
    let (text, hint) = match error.problem {
        UpstreamProblem::UnknownRef => {
            let git_ref = quote(error.git_ref.as_deref().unwrap_or_default());
            let hint = format!("`git ls-remote {}` lists its branches and tags", error.repo);
            (format!("repository {repo} has no branch, tag or commit {git_ref}"), hint)
        }
        UpstreamProblem::AuthenticationRequired => (
            format!("repository {repo} requires authentication"),
            "set up a credential helper of git (`git config --global credential.helper …`), or use an SSH address".to_owned(),
        ),
        UpstreamProblem::Unavailable => (
            format!("repository {repo} cannot be reached: {}", first_line(&error.output)),
            "check the address and the network connection".to_owned(),
        ),
        UpstreamProblem::NotFound | UpstreamProblem::Other => (
            format!("git failed on repository {repo}: {}", first_line(&error.output)),
            format!("run `git ls-remote {}` to see whether git can read it", error.repo),
        ),
    };
    typed_with(ui, text, ErrorClass::Unavailable, Some(hint))
}

fn first_line(output: &str) -> &str {
    let line = output
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    line.strip_prefix("fatal: ").unwrap_or(line)
}
