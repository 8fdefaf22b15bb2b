//! Errors with a hint.

use std::error::Error;

use kiln_task::ChangeError;
use kiln_task::git::NoResponse;

use crate::environment::KILN_GIT_TIMEOUT;
use crate::ui::{Details, Failed};

pub(crate) fn with_hint(error: &anyhow::Error, hint: impl Into<String>) -> anyhow::Error {
    Failed {
        message: Some(format!("error: {error:#}")),
        details: Details {
            hint: Some(hint.into()),
            ..Details::default()
        },
    }
    .into()
}

/// If git has timed out, adds how to wait longer.
pub(crate) fn with_timeout_hint(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Failed>() || !is_timeout(&error) {
        return error;
    }
    with_hint(&error, timeout_hint())
}

pub(crate) fn timeout_hint() -> String {
    format!("to wait longer, set {KILN_GIT_TIMEOUT}, for example {KILN_GIT_TIMEOUT}=1h")
}

pub(crate) fn is_timeout(error: &anyhow::Error) -> bool {
    error.chain().any(is_timeout_in_chain)
}

fn is_timeout_in_chain(error: &(dyn Error + 'static)) -> bool {
    // This one has its cause in the middle of its text and so not as its source.
    if let Some(ChangeError::CommitAfterRender { commit, .. }) = error.downcast_ref() {
        let commit: &(dyn Error + 'static) = commit;
        let mut causes = std::iter::successors(Some(commit), |&error| error.source());
        return causes.any(|cause| cause.is::<NoResponse>());
    }
    error.is::<NoResponse>()
}

pub(crate) fn no_repository() -> anyhow::Error {
    with_hint(
        &anyhow::anyhow!("no repository found"),
        "run this command inside a git repository, pass --repo, or register one with `kiln repo register`",
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::Context;
    use kiln_task::git::{GitError, OpenError, PublishError};
    use kiln_task::{AccessError, CommitError, RepositoryError};

    use super::*;

    fn timed_out() -> GitError {
        GitError::TimedOut {
            command: "fetch",
            timeout: Duration::from_secs(900),
            cause: NoResponse,
        }
    }

    fn hint_of(error: anyhow::Error) -> Option<String> {
        let error = with_timeout_hint(error);
        error.downcast_ref::<Failed>()?.details.hint.clone()
    }

    #[test]
    fn a_timeout_gets_its_hint_through_every_error_type() {
        let open = OpenError::Git {
            location: "https://example.com/r.git".to_owned(),
            error: timed_out(),
        };
        let commit = || CommitError::Publish(PublishError::Unknown(timed_out()));
        let errors: [anyhow::Error; 5] = [
            timed_out().into(),
            AccessError::Repository(RepositoryError::Open(open)).into(),
            ChangeError::Access(AccessError::Git(timed_out())).into(),
            ChangeError::Commit(commit()).into(),
            ChangeError::CommitAfterRender {
                commit: commit(),
                render: "it broke".to_owned(),
            }
            .into(),
        ];
        for error in errors {
            let text = format!("{error:#}");
            let timeout = "git fetch timed out after 900s: no response from the remote";
            assert!(text.contains(timeout), "{text}");
            let hint = hint_of(
                Err::<(), _>(error)
                    .context("repository r")
                    .expect_err("an error"),
            );
            assert_eq!(hint, Some(timeout_hint()), "{text}");
        }
    }

    /// Regression: a timeout was recognised by its text, which a remote can print as well.
    #[test]
    fn the_words_of_a_remote_are_not_a_timeout() {
        for words in [
            "no response from the remote",
            "the other side does not answer",
        ] {
            let message = format!("remote: {words}");
            let error = GitError::Failed {
                command: "fetch",
                message,
            };
            assert_eq!(hint_of(error.into()), None);
        }
    }
}
