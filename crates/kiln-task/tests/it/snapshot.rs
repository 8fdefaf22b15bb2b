//! Snapshots of repositories that Porch and users have written.

use kiln_task::git::{RepositoryLocation, RevisionNumber};
use kiln_task::{RepositoryConfig, Task};

use crate::fixture::{Fixture, fixture, names};

fn kptfile(name: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n")
}

fn open(fixture: &Fixture, location: RepositoryLocation) -> kiln_task::Repositories {
    fixture.repositories([RepositoryConfig::new("git", location)])
}

#[test]
fn tags_of_porch_and_of_users_are_read() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    fixture.write("repo", "a/pkg/Kptfile", &kptfile("pkg"));
    let line = r#"kpt:{"package":"a/pkg","workspaceName":"first","revision":"1"}"#;
    fixture.commit(
        "repo",
        &format!("Approving package revision a/pkg/1\n\n{line}"),
    );
    fixture.git("repo", &["tag", "a/pkg/v1"]);
    // Another package's annotation says nothing about this one.
    let other = r#"kpt:{"package":"pkg","workspaceName":"other","revision":"2"}"#;
    fixture.commit("repo", &format!("by hand\n\n{other}"));
    fixture.git(
        "repo",
        &["tag", "-a", "-m", "a tag with a message", "a/pkg/v2"],
    );
    fixture.git("repo", &["tag", "a/pkg/3"]);
    fixture.git("repo", &["tag", "a/pkg/v1.2.3"]);
    for ignored in ["v9", "nothing/v1", "a/v1"] {
        fixture.git("repo", &["tag", ignored]);
    }
    fixture.git("repo", &["branch", "drafts/nothing/ws"]);
    let repositories = open(&fixture, location);
    let repository = repositories.get("git").expect("it can be opened");
    assert_eq!(
        names(&repository),
        [
            "git.a.pkg.main -1 Published",
            "git.a.pkg.v1.2.3 -1 Published",
            "git.a.pkg.first 1 Published",
            "git.a.pkg.v2 2 Published",
            "git.a.pkg.v3 3 Published latest",
        ]
    );
    let snapshot = repository.snapshot().expect("it can be read");
    let manual = snapshot.find("git.a.pkg.v1.2.3").expect("it is found");
    assert_eq!(
        manual.number,
        RevisionNumber::Unnumbered,
        "it is not a placeholder"
    );
    let annotated = snapshot.find("git.a.pkg.v2").expect("it is found");
    let commit = fixture.git("repo", &["rev-parse", "a/pkg/v2^{commit}"]);
    assert_eq!(annotated.commit.as_str(), commit.trim());
    assert_eq!(annotated.kptfile().metadata.name, "pkg");
    // Tags are there for many things, drafts are not.
    assert_eq!(
        snapshot.warnings,
        ["skipping refs/heads/drafts/nothing/ws: Kptfile not found"]
    );
}

#[test]
fn packages_inside_packages_are_ignored() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    for path in ["a/Kptfile", "a/sub/Kptfile", "b/c/Kptfile"] {
        fixture.write("repo", path, &kptfile("x"));
    }
    fixture.write("repo", "d/Kptfile/not-a-file", "");
    fixture.commit("repo", "packages");
    let repositories = open(&fixture, location);
    let repository = repositories.get("git").expect("it can be opened");
    assert_eq!(
        names(&repository),
        ["git.a.main -1 Published", "git.b.c.main -1 Published"]
    );
}

#[test]
fn directory_and_branch_limit_what_is_found() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    for path in ["in/a/Kptfile", "inside/b/Kptfile", "c/Kptfile"] {
        fixture.write("repo", path, &kptfile("x"));
    }
    fixture.commit("repo", "packages");
    fixture.git("repo", &["branch", "release/one"]);
    for tag in ["in/a/v1", "inside/b/v1", "c/v1"] {
        fixture.git("repo", &["tag", tag]);
    }
    for branch in ["drafts/in/a/x", "drafts/c/x", "proposed/in/a/y"] {
        fixture.git("repo", &["branch", branch]);
    }
    fixture.git("repo", &["branch", "deletionProposed/in/a/v1"]);
    let config = RepositoryConfig {
        branch: "release/one".to_owned(),
        directory: "/in/".to_owned(),
        ..RepositoryConfig::new("git", RepositoryLocation::Path(fixture.path("repo")))
    };
    let repositories = fixture.repositories([config]);
    let repository = repositories.get("git").expect("it can be opened");
    assert_eq!(
        names(&repository),
        [
            "git.a.release/one -1 Published",
            "git.a.x 0 Draft",
            "git.a.y 0 Proposed",
            "git.a.v1 1 DeletionProposed latest",
        ]
    );
    // The directory is part of the lock, so that git alone finds the package.
    let snapshot = repository.snapshot().expect("it can be read");
    let (upstream, lock) = repository.locks(snapshot.find("git.a.v1").expect("it is found"));
    let upstream = upstream.git.expect("it is git");
    assert_eq!(
        (upstream.directory.as_str(), upstream.git_ref.as_str()),
        ("in/a", "in/a/v1")
    );
    assert_eq!(
        upstream.repo,
        fixture.path("repo").display().to_string(),
        "a path gets no suffix"
    );
    let lock = lock.git.expect("it is git");
    let shown = fixture.git(
        "repo",
        &[
            "show",
            &format!("{}:{}/Kptfile", lock.commit, lock.directory),
        ],
    );
    assert_eq!(shown, kptfile("x"));
}

#[test]
fn first_tasks_are_found_in_the_history() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    fixture.git("repo", &["checkout", "--quiet", "-b", "drafts/p/v1"]);
    fixture.write("repo", "p/Kptfile", &kptfile("p"));
    // As older versions of Porch wrote it: the workspace as revision, and tasks that are no more.
    for line in [
        r#"kpt:{"package":"p","revision":"v1","task":{"type":"init","init":{"description":"old"}}}"#,
        r#"kpt:{"package":"p","revision":"v1","task":{"type":"eval","eval":{"image":"x"}}}"#,
        r#"kpt:{"package":"p","revision":"v1","task":{"type":"clone","clone":{"upstreamRef":{}}}}"#,
        "kpt:{this is not JSON",
        r#"kpt:{"package":"q","workspaceName":"v1","task":{"type":"init","init":{}}}"#,
        r#"kpt:{"package":"p","workspaceName":"v1","revision":"0","task":{"type":"render"}}"#,
    ] {
        fixture.commit("repo", &format!("Intermediate commit\n\n{line}"));
    }
    let repositories = open(&fixture, RepositoryLocation::Path(fixture.path("repo")));
    let repository = repositories.get("git").expect("it can be opened");
    let snapshot = repository.snapshot().expect("it can be read");
    let tasks = repository
        .tasks(&snapshot.revisions)
        .expect("the history can be read");
    // The newest beginning ends the search.
    assert!(matches!(tasks.first("p", "v1"), Some(Task::Clone(_))));
    assert_eq!(tasks.first("p", "v2"), None);
}

#[test]
fn an_empty_repository_has_no_packages() {
    let Some(fixture) = fixture() else { return };
    let path = fixture.empty_bare("repo");
    for location in [
        RepositoryLocation::Path(path.clone()),
        crate::fixture::url(&path),
    ] {
        let repositories = open(&fixture, location);
        let repository = repositories.get("git").expect("it can be opened");
        assert_eq!(names(&repository), Vec::<String>::new());
    }
}
