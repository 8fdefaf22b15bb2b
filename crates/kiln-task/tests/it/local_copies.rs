//! Local copies of remote repositories: locks of killed processes, remotes that do not respond, and packages that are too large.

use std::net::TcpListener;
use std::time::Duration;

use kiln_task::git::{GitError, PublishError, ReadPackageError, RepositoryLocation};
use kiln_task::{
    AccessError, ChangeError, CommitError, CreateError, OnRenderFailure, Repositories,
    RepositoryConfig,
};

use crate::fixture::{Fixture, fixture, names, new, pull, refs, url};
use crate::steps::{draft, push};

/// The only local copy.
fn copy_in(fixture: &Fixture) -> String {
    let entries = std::fs::read_dir(fixture.path("cache")).expect("it is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut copies = names.filter_map(|name| {
        let name = name.to_str()?.to_owned();
        name.ends_with(".git").then(|| format!("cache/{name}"))
    });
    copies.next().expect("a copy")
}

#[test]
fn locks_that_a_killed_git_has_left_in_a_copy_are_removed() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let config = || [RepositoryConfig::new("git", url(&fixture.path("repo")))];
    let repositories = fixture.repositories(config());
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let copy = copy_in(&fixture);
    let tracked = format!("{copy}/refs/remotes/origin/drafts/p/v1");
    fixture.write("", &format!("{tracked}.lock"), "");
    fixture.write("", &format!("{copy}/packed-refs.lock"), "");
    // Another process changes the draft and creates another.
    let here = RepositoryConfig::new("git", RepositoryLocation::Path(fixture.path("repo")));
    let here = fixture.repositories([here]);
    let other = fixture.engine(&here);
    let (contents, version) = pull(&other, "git.p.v1");
    push(
        &other,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect("it can be pushed");
    draft(&other, "git", "q", "v1");
    let repository = repositories.get("git").expect("it is open");
    assert_eq!(names(&repository), ["git.p.v1 0 Draft", "git.q.v1 0 Draft"]);
    assert!(!fixture.path(&format!("{tracked}.lock")).exists());
    engine.propose("git.p.v1").expect("it can be proposed");
}

#[test]
fn an_unfinished_copy_is_created_again() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let config = || [RepositoryConfig::new("git", url(&fixture.path("repo")))];
    draft(
        &fixture.engine(&fixture.repositories(config())),
        "git",
        "p",
        "v1",
    );
    let copy = copy_in(&fixture);
    std::fs::remove_dir_all(fixture.path(&copy)).expect("it is there");
    // Git was killed after its first file.
    fixture.write("", &format!("{copy}.new/HEAD"), "ref: refs/heads/main\n");
    let repositories = fixture.repositories(config());
    let repository = repositories.get("git").expect("it can be opened");
    assert_eq!(names(&repository), ["git.p.v1 0 Draft"]);
    assert!(!fixture.path(&format!("{copy}.new")).exists());
}

/// The operating system accepts the connection, and nothing responds.
#[test]
fn a_remote_that_does_not_respond_times_out() {
    let Some(fixture) = fixture() else { return };
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    for scheme in ["git", "http"] {
        let address = format!("{scheme}://127.0.0.1:{port}/repo.git");
        let mut options = fixture.options();
        let timeout = Duration::from_millis(200);
        options.program = options.program.with_timeout(Some(timeout));
        let config = RepositoryConfig::new("git", RepositoryLocation::Address(address));
        let repositories = Repositories::new([config], options);
        let error = fixture
            .engine(&repositories)
            .create(&new("git", "p", "v1", None))
            .expect_err("the remote does not respond");
        assert!(
            matches!(
                error,
                CreateError::Access(AccessError::Git(GitError::TimedOut { .. }))
            ),
            "{error:?}"
        );
    }
}

/// A package above the limit could never be read again.
#[test]
fn a_package_that_is_too_large_is_not_written() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let before = refs(&fixture, "repo");
    let (contents, version) = pull(&engine, "git.p.v1");
    let refused = |contents| {
        let pushed = push(
            &engine,
            "git.p.v1",
            contents,
            &version,
            OnRenderFailure::Refuse,
        );
        let error = pushed.expect_err("it is too much");
        assert_eq!(refs(&fixture, "repo"), before);
        match error {
            ChangeError::Commit(CommitError::TooMuch(error)) => error,
            error => panic!("another error: {error:?}"),
        }
    };
    let mut large = contents.clone();
    for part in ["a", "b"] {
        let half = vec![b'x'; 600 * 1024];
        large.insert_text(part, half).expect("a good path");
    }
    let error = refused(&large);
    assert!(
        matches!(error, ReadPackageError::TooLarge { .. }),
        "{error}"
    );
    // Directories count: they have to be read as well.
    let mut many = contents.clone();
    for number in 0..400 {
        let path = format!("a/{number}/b/c");
        many.insert_text(&path, "x").expect("a good path");
    }
    let error = refused(&many);
    assert!(matches!(error, ReadPackageError::TooMany { .. }), "{error}");
    push(
        &engine,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect("what fits is taken");
}

/// Conflicting ref names and locks of other processes are not reported as concurrent changes.
#[test]
fn the_reason_for_a_refused_ref_update_is_reported() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    for location in [
        RepositoryLocation::Path(fixture.path("repo")),
        url(&fixture.path("repo")),
    ] {
        let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
        let engine = fixture.engine(&repositories);
        let refusal = |package: &str| {
            let created = engine.create(&new("git", package, "v1", None));
            match created.expect_err("it cannot be made") {
                CreateError::Commit(CommitError::Publish(error)) => error,
                error => panic!("another error: {error:?}"),
            }
        };
        fixture.git("repo", &["branch", "drafts/p", "main"]);
        let error = refusal("p");
        assert!(matches!(error, PublishError::Rejected(_)), "{error:?}");
        let text = error.to_string();
        let reason = "cannot lock ref 'refs/heads/drafts/p/v1': 'refs/heads/drafts/p' exists; cannot create 'refs/heads/drafts/p/v1'";
        assert!(text.ends_with(reason), "{text}");
        fixture.git("repo", &["branch", "-D", "drafts/p"]);
        fixture.write("repo", "refs/heads/drafts/q/v1.lock", "");
        let error = refusal("q");
        let is_locked = matches!(error, PublishError::Locked(_) | PublishError::Busy(_));
        assert!(is_locked, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("v1.lock': File exists ("), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let lock = fixture.path("repo/refs/heads/drafts/q/v1.lock");
        std::fs::remove_file(lock).expect("it is there");
    }
}
