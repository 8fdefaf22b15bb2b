//! Copies of other machines' repositories: what the dead leave in them, machines that do not answer, and packages that nobody
//! could read again.

use std::net::TcpListener;
use std::time::Duration;

use kiln_task::git::{GitError, Location, PublishError, ReadPackageError};
use kiln_task::{
    AccessError, ChangeError, CommitError, CreateError, OnRenderFailure, Repositories,
    RepositoryConfig,
};

use crate::steps::draft;
use crate::world::{World, names, new, pull, refs, url, world};

/// The copy that a world has, of which there is one.
fn copy_in(world: &World) -> String {
    let entries = std::fs::read_dir(world.path("cache")).expect("it is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut copies = names.filter_map(|name| {
        let name = name.to_str()?.to_owned();
        name.ends_with(".git").then(|| format!("cache/{name}"))
    });
    copies.next().expect("a copy")
}

#[test]
fn locks_that_a_killed_git_has_left_in_a_copy_are_removed() {
    let Some(world) = world() else { return };
    world.bare("repo");
    let config = || [RepositoryConfig::new("git", url(&world.path("repo")))];
    let repositories = world.repositories(config());
    let engine = world.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let copy = copy_in(&world);
    let tracked = format!("{copy}/refs/remotes/origin/drafts/p/v1");
    world.write("", &format!("{tracked}.lock"), "");
    world.write("", &format!("{copy}/packed-refs.lock"), "");
    // Somebody else moves the draft, and makes another.
    let here = RepositoryConfig::new("git", Location::Path(world.path("repo")));
    let here = world.repositories([here]);
    let other = world.engine(&here);
    let (contents, version) = pull(&other, "git.p.v1");
    other
        .push("git.p.v1", &contents, &version, OnRenderFailure::Refuse)
        .expect("it can be pushed");
    draft(&other, "git", "q", "v1");
    let repository = repositories.get("git").expect("it is open");
    assert_eq!(names(&repository), ["git.p.v1 0 Draft", "git.q.v1 0 Draft"]);
    assert!(!world.path(&format!("{tracked}.lock")).exists());
    engine.propose("git.p.v1").expect("it can be proposed");
}

#[test]
fn a_copy_that_was_not_finished_is_made_again() {
    let Some(world) = world() else { return };
    world.bare("repo");
    let config = || [RepositoryConfig::new("git", url(&world.path("repo")))];
    draft(
        &world.engine(&world.repositories(config())),
        "git",
        "p",
        "v1",
    );
    let copy = copy_in(&world);
    std::fs::remove_dir_all(world.path(&copy)).expect("it is there");
    // Git was killed after its first file.
    world.write("", &format!("{copy}.new/HEAD"), "ref: refs/heads/main\n");
    let repositories = world.repositories(config());
    let repository = repositories.get("git").expect("it can be opened");
    assert_eq!(names(&repository), ["git.p.v1 0 Draft"]);
    assert!(!world.path(&format!("{copy}.new")).exists());
}

/// The connection is accepted by the operating system, and that is all.
#[test]
fn a_machine_that_does_not_answer_is_not_waited_for() {
    let Some(world) = world() else { return };
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    for scheme in ["git", "http"] {
        let address = format!("{scheme}://127.0.0.1:{port}/repo.git");
        let mut options = world.options();
        let patience = Duration::from_millis(200);
        options.program = options.program.with_patience(Some(patience));
        let config = RepositoryConfig::new("git", Location::Address(address));
        let repositories = Repositories::new([config], options);
        let error = world
            .engine(&repositories)
            .create(&new("git", "p", "v1", None))
            .expect_err("nobody answers");
        assert!(
            matches!(
                error,
                CreateError::Access(AccessError::Git(GitError::TimedOut { .. }))
            ),
            "{error:?}"
        );
    }
}

/// A package that is larger than what is read would be there for ever, and nobody could get at it.
#[test]
fn what_could_not_be_read_again_is_not_written() {
    let Some(world) = world() else { return };
    let location = world.bare("repo");
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let engine = world.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let before = refs(&world, "repo");
    let (contents, version) = pull(&engine, "git.p.v1");
    let refused = |contents| {
        let pushed = engine.push("git.p.v1", contents, &version, OnRenderFailure::Refuse);
        let error = pushed.expect_err("it is too much");
        assert_eq!(refs(&world, "repo"), before);
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
    engine
        .push("git.p.v1", &contents, &version, OnRenderFailure::Refuse)
        .expect("what fits is taken");
}

/// Refs that leave no room, and locks of others: neither is somebody who was faster.
#[test]
fn why_refs_do_not_change_is_told_as_it_is() {
    let Some(world) = world() else { return };
    world.bare("repo");
    for location in [Location::Path(world.path("repo")), url(&world.path("repo"))] {
        let repositories = world.repositories([RepositoryConfig::new("git", location)]);
        let engine = world.engine(&repositories);
        let refusal = |package: &str| {
            let created = engine.create(&new("git", package, "v1", None));
            match created.expect_err("it cannot be made") {
                CreateError::Commit(CommitError::Publish(error)) => error,
                error => panic!("another error: {error:?}"),
            }
        };
        world.git("repo", &["branch", "drafts/p", "main"]);
        let error = refusal("p");
        assert!(matches!(error, PublishError::Rejected(_)), "{error:?}");
        let text = error.to_string();
        let reason = "cannot lock ref 'refs/heads/drafts/p/v1': 'refs/heads/drafts/p' exists; cannot create 'refs/heads/drafts/p/v1'";
        assert!(text.ends_with(reason), "{text}");
        world.git("repo", &["branch", "-D", "drafts/p"]);
        world.write("repo", "refs/heads/drafts/q/v1.lock", "");
        let error = refusal("q");
        let is_locked = matches!(error, PublishError::Locked(_) | PublishError::Busy(_));
        assert!(is_locked, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("v1.lock': File exists ("), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let lock = world.path("repo/refs/heads/drafts/q/v1.lock");
        std::fs::remove_file(lock).expect("it is there");
    }
}
