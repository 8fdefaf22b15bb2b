//! A git that is too old is refused before it is used.

use std::os::unix::fs::PermissionsExt;

use kiln_go::error_chain;
use kiln_task::git::{GitError, OpenError, RepositoryLocation};
use kiln_task::{Repositories, Repository, RepositoryConfig, RepositoryError};

use crate::fixture::{Fixture, fixture, url};

/// Opens a repository with a git that prints a version and logs all other commands.
fn open(
    fixture: &Fixture,
    version: &str,
    location: RepositoryLocation,
) -> Result<Repository, RepositoryError> {
    let program = fixture.path(&format!("git-{}", version.replace(' ', "-")));
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo \"git version {version}\"; exit; fi\necho \"$1\" >> {}\nexec git \"$@\"\n",
        fixture.path("log").display()
    );
    std::fs::write(&program, script).expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut options = fixture.options();
    options.program = fixture.git_program(&program);
    Repository::open(RepositoryConfig::new("git", location), &options)
}

#[test]
fn an_old_git_is_refused() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let path = fixture.path("repo");
    for location in [RepositoryLocation::Path(path.clone()), url(&path)] {
        let error = open(&fixture, "2.30.9", location).expect_err("it is too old");
        let text = error_chain(&error);
        let expected = ": git 2.30.9 is too old: kiln needs git 2.31 or newer; install a newer git";
        assert!(
            text.starts_with("cannot open repository ") && text.ends_with(expected),
            "{text}"
        );
        let RepositoryError::Open(OpenError::Git { error, .. }) = error else {
            panic!("another error: {error:?}");
        };
        assert!(matches!(error, GitError::TooOld { .. }), "{error:?}");
    }
    assert!(!fixture.path("log").exists(), "git was used");
}

#[test]
fn a_new_or_unknown_git_is_used() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    for version in ["2.31.0", "2.39.5 (Apple Git-154)", "3.0.0", "of the future"] {
        let location = RepositoryLocation::Path(fixture.path("repo"));
        open(&fixture, version, location).expect("it is new enough");
    }
}

/// The version is read once, not for each repository.
#[test]
fn the_version_is_read_once() {
    let Some(fixture) = fixture() else { return };
    let log = fixture.path("versions");
    let program = fixture.path("counting-git");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != version ] || echo >> {}\nexec git \"$@\"\n",
        log.display()
    );
    std::fs::write(&program, script).expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let configs = ["a", "b"].map(|name| RepositoryConfig::new(name, fixture.bare(name)));
    let mut options = fixture.options();
    options.program = fixture.git_program(&program);
    let repositories = Repositories::new(configs, options);
    for name in ["a", "b"] {
        repositories.get(name).expect("it can be opened");
    }
    assert_eq!(std::fs::read_to_string(log).expect("a log"), "\n");
}
