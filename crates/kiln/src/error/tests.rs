//! Classes and hints of errors by their types.

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
    CommandError::from(error).hint
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
        assert_eq!(hint, Some(hints::git_timeout()), "{text}");
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

#[test]
fn a_closed_output_is_not_a_failure() {
    let closed = io::Error::from(io::ErrorKind::BrokenPipe);
    let error = CommandError::from(anyhow::Error::from(closed).context("cannot write"));
    assert_eq!(error.class, ErrorClass::OutputClosed);
    assert_eq!(error.text(), None);
}
