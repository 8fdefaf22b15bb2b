//! A revision from its first task to its deletion, and what git has of it at each step.

use kiln_task::git::RevisionNumber;
use kiln_task::{
    ApproveError, ApproveOverwrite, DeleteError, InitTask, Lifecycle, OnRenderFailure,
    RepositoryConfig, Task,
};

use crate::fixture::{fixture, names, new, pull, refs, text, url};
use crate::steps::{draft, edit_of, proposal, publish, push};

/// The message of a commit, whole.
fn message(fixture: &crate::fixture::Fixture, repository: &str, commit: &str) -> String {
    let object = fixture.git(repository, &["cat-file", "commit", commit]);
    let (_, message) = object.split_once("\n\n").expect("commits have messages");
    message.to_owned()
}

#[test]
fn from_init_to_deletion_in_a_bare_repository() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    walk(&fixture, &repositories);
}

#[test]
fn from_init_to_deletion_through_an_address() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let location = url(&fixture.path("repo"));
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    walk(&fixture, &repositories);
}

fn walk(fixture: &crate::fixture::Fixture, repositories: &kiln_task::Repositories) {
    let engine = fixture.engine(repositories);
    let repository = repositories.get("git").expect("it can be opened");
    let base = fixture
        .git("repo", &["rev-parse", "main"])
        .trim()
        .to_owned();
    let task = Task::Init(InitTask {
        description: "a <test>".to_owned(),
        ..InitTask::default()
    });

    // A draft is one commit on a branch of its own, on top of main.
    let created = engine
        .create(&new("git", "apps/web", "v1", Some(task)))
        .expect("it can be made");
    assert_eq!(created.name.to_string(), "git.apps.web.v1");
    let draft = fixture.git("repo", &["rev-parse", "refs/heads/drafts/apps/web/v1"]);
    assert_eq!(draft.trim(), created.commit.as_str());
    let object = fixture.git("repo", &["cat-file", "commit", draft.trim()]);
    let lines: Vec<&str> = object.lines().collect();
    assert_eq!(lines[1], format!("parent {base}"));
    assert!(
        lines[2].starts_with("author An Author <author@example.com> "),
        "{object}"
    );
    assert!(lines[3].starts_with("committer Package Orchestration Service <porch@kpt.dev> "));
    assert_eq!(
        message(fixture, "repo", draft.trim()),
        "Creating new empty revision\n\n\nkpt:{\"package\":\"apps/web\",\"workspaceName\":\"v1\",\"revision\":\"0\",\"task\":{\"type\":\"init\",\"init\":{\"description\":\"a \\u003ctest\\u003e\"}}}\n"
    );
    assert_eq!(
        fixture.git("repo", &["ls-tree", "-r", "--name-only", draft.trim()]),
        "README\napps/web/Kptfile\napps/web/README.md\napps/web/package-context.yaml\n"
    );
    assert_eq!(names(&repository), ["git.apps.web.v1 0 Draft"]);

    // A push replaces everything.
    let (mut contents, version) = pull(&engine, "git.apps.web.v1");
    assert!(
        text(&contents, "Kptfile").contains("name: web\n"),
        "the last segment is the name"
    );
    contents
        .insert_text(
            "cm.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n",
        )
        .expect("a good path");
    contents.remove("README.md");
    let change = push(
        &engine,
        "git.apps.web.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    );
    let change = change.expect("it can be pushed");
    assert_eq!(
        message(fixture, "repo", change.commit.as_str()),
        "Rendering package\n\n\nkpt:{\"package\":\"apps/web\",\"workspaceName\":\"v1\",\"revision\":\"0\",\"task\":{\"type\":\"render\"}}\n"
    );
    let late = push(
        &engine,
        "git.apps.web.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    );
    assert_eq!(
        late.expect_err("the draft has changed").to_string(),
        "Operation cannot be fulfilled on packagerevisionresources.porch.kpt.dev \"git.apps.web.v1\": the object has been modified; please apply your changes to the latest version and try again"
    );

    // Proposing moves the branch, with one commit more.
    let error = engine
        .approve("git.apps.web.v1", ApproveOverwrite::Refuse)
        .expect_err("not proposed");
    assert_eq!(
        error.to_string(),
        "cannot change approval from Draft to Published"
    );
    engine
        .propose("git.apps.web.v1")
        .expect("it can be proposed");
    assert_eq!(names(&repository), ["git.apps.web.v1 0 Proposed"]);
    assert_eq!(
        engine
            .reject("git.apps.web.v1")
            .expect("it can be rejected"),
        Lifecycle::Proposed
    );
    assert_eq!(names(&repository), ["git.apps.web.v1 0 Draft"]);
    engine
        .propose("git.apps.web.v1")
        .expect("it can be proposed");
    let proposed = fixture.git("repo", &["rev-parse", "refs/heads/proposed/apps/web/v1"]);

    // Approval is a commit with two parents, and a tag on it.
    let number = engine
        .approve("git.apps.web.v1", ApproveOverwrite::Refuse)
        .expect("it can be approved");
    assert_eq!(number, RevisionNumber::Published(1));
    let main = fixture.git("repo", &["rev-parse", "main"]);
    assert_eq!(
        fixture.git("repo", &["rev-parse", "refs/tags/apps/web/v1"]),
        main
    );
    let parents = fixture.git("repo", &["rev-parse", "main^1", "main^2"]);
    assert_eq!(parents, format!("{base}\n{proposed}"));
    assert_eq!(
        message(fixture, "repo", "main"),
        "Approving package revision apps/web/1\n\nkpt:{\"package\":\"apps/web\",\"workspaceName\":\"v1\",\"revision\":\"1\"}\n"
    );
    assert_eq!(
        refs(fixture, "repo")
            .lines()
            .map(|line| line.split(' ').next().unwrap_or_default())
            .collect::<Vec<_>>(),
        ["refs/heads/main", "refs/tags/apps/web/v1"]
    );
    assert_eq!(
        names(&repository),
        [
            "git.apps.web.main -1 Published",
            "git.apps.web.v1 1 Published latest"
        ]
    );

    // A copy becomes the next revision.
    let edit = edit_of("git.apps.web.v1");
    engine
        .create(&new("git", "apps/web", "second", Some(edit.clone())))
        .expect("it can be copied");
    engine
        .propose("git.apps.web.second")
        .expect("it can be proposed");
    let number = engine
        .approve("git.apps.web.second", ApproveOverwrite::Refuse)
        .expect("it can be approved");
    assert_eq!(number, RevisionNumber::Published(2));
    assert_eq!(
        names(&repository),
        [
            "git.apps.web.main -1 Published",
            "git.apps.web.v1 1 Published",
            "git.apps.web.second 2 Published latest"
        ]
    );

    // What is published goes in two steps, and its number never comes back.
    let error = engine
        .delete("git.apps.web.second")
        .expect_err("it is published");
    assert!(matches!(error, DeleteError::Published), "{error}");
    engine
        .propose_delete("git.apps.web.second")
        .expect("it can be proposed");
    assert!(
        names(&repository).contains(&"git.apps.web.second 2 DeletionProposed latest".to_owned())
    );
    assert!(refs(fixture, "repo").contains("refs/heads/deletionProposed/apps/web/v2 "));
    engine
        .reject("git.apps.web.second")
        .expect("it can be kept");
    assert!(!refs(fixture, "repo").contains("deletionProposed"));
    engine
        .propose_delete("git.apps.web.second")
        .expect("it can be proposed");
    engine
        .delete("git.apps.web.second")
        .expect("it can be deleted");
    assert_eq!(
        names(&repository),
        [
            "git.apps.web.main -1 Published",
            "git.apps.web.v1 1 Published latest"
        ]
    );
    engine
        .create(&new("git", "apps/web", "third", Some(edit)))
        .expect("it can be copied");
    engine
        .propose("git.apps.web.third")
        .expect("it can be proposed");
    let number = engine
        .approve("git.apps.web.third", ApproveOverwrite::Refuse)
        .expect("it can be approved");
    assert_eq!(number, RevisionNumber::Published(3), "two was given away");

    // The package itself goes with its placeholder.
    engine
        .propose_delete("git.apps.web.main")
        .expect("it can be proposed");
    engine
        .delete("git.apps.web.main")
        .expect("it can be deleted");
    assert_eq!(message(fixture, "repo", "main"), "Delete apps/web");
    assert_eq!(
        fixture.git("repo", &["ls-tree", "-r", "--name-only", "main"]),
        "README\n"
    );
    fixture.git("repo", &["fsck", "--strict"]);
}

#[test]
fn a_draft_that_would_overwrite_newer_content_is_not_approved() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    publish(&engine, "git.p.v1");
    let edit = |workspace: &str| new("git", "p", workspace, Some(edit_of("git.p.v1")));
    for workspace in ["a", "b"] {
        engine.create(&edit(workspace)).expect("it can be copied");
        let name = format!("git.p.{workspace}");
        let (mut contents, version) = pull(&engine, &name);
        contents
            .insert_text("note.txt", workspace)
            .expect("a good path");
        push(&engine, &name, &contents, &version, OnRenderFailure::Refuse)
            .expect("it can be pushed");
        engine.propose(&name).expect("it can be proposed");
    }
    engine
        .approve("git.p.a", ApproveOverwrite::Refuse)
        .expect("it can be approved");
    let before = refs(&fixture, "repo");
    let error = engine
        .approve("git.p.b", ApproveOverwrite::Refuse)
        .expect_err("a would be lost");
    assert!(matches!(error, ApproveError::Overwrites { .. }), "{error}");
    assert_eq!(refs(&fixture, "repo"), before);
    let number = engine
        .approve("git.p.b", ApproveOverwrite::Force)
        .expect("it is forced");
    assert_eq!(number, RevisionNumber::Published(3));
}

#[test]
fn changes_of_other_packages_do_not_block_an_approval() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    for package in ["a/x", "b/x"] {
        draft(&engine, "git", package, "v1");
    }
    for package in ["a", "b"] {
        let name = format!("git.{package}.x.v1");
        engine.propose(&name).expect("it can be proposed");
        let number = engine
            .approve(&name, ApproveOverwrite::Refuse)
            .expect("it can be approved");
        assert_eq!(
            number,
            RevisionNumber::Published(1),
            "packages of the same last name have numbers of their own"
        );
    }
    let repository = repositories.get("git").expect("it is open");
    let latest = names(&repository)
        .iter()
        .filter(|line| line.ends_with("latest"))
        .count();
    assert_eq!(latest, 2);
}

#[test]
fn a_checked_out_branch_follows_its_approval() {
    let Some(fixture) = fixture() else { return };
    let repositories =
        fixture.repositories([RepositoryConfig::new("git", fixture.checked_out("repo"))]);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    // A file of the user in the directory of the package.
    fixture.write("repo", "p/Kptfile", "mine");
    let before = refs(&fixture, "repo");
    let error = engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect_err("it would be overwritten");
    assert!(format!("{error:?}").contains("WorkTree"), "{error:?}");
    assert_eq!(refs(&fixture, "repo"), before);
    std::fs::remove_file(fixture.path("repo/p/Kptfile")).expect("it is there");
    fixture.write("repo", "untracked", "stays");
    fixture.write("repo", "README", "changed\n");
    engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect("it can be approved");
    assert_eq!(
        fixture.git("repo", &["status", "--porcelain"]),
        " M README\n?? untracked\n"
    );
    assert!(fixture.path("repo/p/Kptfile").exists());
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_follows_too() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    fixture.git("repo", &["worktree", "add", "--quiet", "../linked", "main"]);
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    publish(&engine, "git.p.v1");
    assert_eq!(fixture.git("linked", &["status", "--porcelain"]), "");
    assert!(fixture.path("linked/p/Kptfile").exists());
}

#[test]
fn the_first_approval_creates_the_branch_of_an_empty_repository() {
    let Some(fixture) = fixture() else { return };
    fixture.git("", &["init", "--quiet", "-b", "main", "repo"]);
    let location = kiln_task::git::RepositoryLocation::Path(fixture.path("repo"));
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    publish(&engine, "git.p.v1");
    assert_eq!(fixture.git("repo", &["status", "--porcelain"]), "");
    assert!(fixture.path("repo/p/Kptfile").exists());
    let other = RepositoryConfig {
        branch: "release".to_owned(),
        ..RepositoryConfig::new(
            "git",
            kiln_task::git::RepositoryLocation::Path(fixture.path("repo")),
        )
    };
    let repositories = fixture.repositories([other]);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "q", "v1");
    let error = engine
        .approve("git.q.v1", ApproveOverwrite::Refuse)
        .expect_err("there is no such branch");
    assert_eq!(error.to_string(), "branch \"release\" doesn't exist");
    repositories
        .get("git")
        .expect("it is open")
        .create_branch()
        .expect("it can be made");
    assert_eq!(
        fixture.git("repo", &["show", "release:README.md"]),
        "Created by porch"
    );
    assert_eq!(
        fixture
            .git("repo", &["log", "--format=%B", "release"])
            .trim_end(),
        "Initial commit: Creating main branch"
    );
    engine
        .approve("git.q.v1", ApproveOverwrite::Refuse)
        .expect("now it can be approved");
}

/// The branch that says that a package is to go ends in the name of the registered one, slashes and all.
#[test]
fn a_placeholder_on_a_branch_with_slashes_is_deleted() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    fixture.git("repo", &["branch", "release/v1", "main"]);
    let config = RepositoryConfig {
        branch: "release/v1".to_owned(),
        ..RepositoryConfig::new("git", location)
    };
    let repositories = fixture.repositories([config]);
    let repository = repositories.get("git").expect("it can be opened");
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "w1");
    publish(&engine, "git.p.w1");
    let name = "git.p.release/v1";
    engine.propose_delete(name).expect("it is published");
    assert_eq!(
        names(&repository),
        [
            "git.p.release/v1 -1 DeletionProposed",
            "git.p.w1 1 Published latest"
        ]
    );
    engine.reject(name).expect("it is proposed for deletion");
    engine.propose_delete(name).expect("it is published");
    engine.delete(name).expect("it is proposed for deletion");
    assert_eq!(names(&repository), ["git.p.w1 1 Published latest"]);
    assert!(!refs(&fixture, "repo").contains("deletionProposed"));
}

#[test]
fn nothing_is_deleted_while_a_repository_cannot_be_read() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    fixture.bare("other");
    let repositories = fixture.repositories([
        RepositoryConfig::new("git", location),
        RepositoryConfig::new("other", url(&fixture.path("other"))),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    std::fs::rename(fixture.path("other"), fixture.path("gone")).expect("it can be moved");
    let error = engine.delete("git.p.v1").expect_err("it may be needed");
    assert_eq!(
        error.to_string(),
        "cannot check whether packages of repository \"other\" have it as upstream"
    );
    std::fs::rename(fixture.path("gone"), fixture.path("other")).expect("it can be moved back");
    engine
        .delete("git.p.v1")
        .expect("it has no downstream packages");
}

/// Without functions, rendering does not notice the interrupt.
#[test]
fn an_interrupted_command_publishes_nothing() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    engine
        .create(&new("git", "app", "v1", None))
        .expect("a draft");
    let (mut contents, version) = pull(&engine, "git.app.v1");
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n";
    contents.insert_text("new.yaml", resource).expect("a file");
    let before = refs(&fixture, "repo");
    engine.render.cancel.cancel();
    let interrupted = "interrupted; nothing was pushed";
    for on_failure in [OnRenderFailure::Refuse, OnRenderFailure::Push] {
        let pushed = push(&engine, "git.app.v1", &contents, &version, on_failure);
        assert_eq!(pushed.expect_err("interrupted").to_string(), interrupted);
    }
    let created = engine.create(&new("git", "other", "v1", None));
    let error = kiln_go::error_chain(&created.expect_err("interrupted"));
    assert!(error.contains(interrupted), "{error}");
    assert_eq!(refs(&fixture, "repo"), before);
}
