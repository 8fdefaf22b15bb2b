//! What is done to the contents of revisions: tasks, the builtin, metadata, functions.

use std::time::Duration;

use kiln_go::error_chain;
use kiln_krm::kptfile::Condition;
use kiln_task::git::RepositoryLocation;
use kiln_task::{
    ApproveOverwrite, ChangeError, CloneTask, CreateError, FileMode, GitUpstream, InitTask,
    Lifecycle, OnRenderFailure, PackageFile, PackageMetadata, PackagePath, RepositoryConfig,
    RunnerOptions, Task, Upstream,
};

use crate::fixture::{fixture, names, new, pull, refs, text};
use crate::steps::{clone_of, draft, edit_of, publish, push, update};

const KPTFILE: &str = "# our package
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app # the name
  labels:
    team: a
pipeline:
  mutators:
    - image: blue:v1
";
const RED: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  color: red # a color\n";

fn clone_git(repo: &str, git_ref: &str, directory: &str) -> Task {
    let git = GitUpstream {
        repo: repo.to_owned(),
        git_ref: git_ref.to_owned(),
        directory: directory.to_owned(),
        ..GitUpstream::default()
    };
    let upstream = Upstream {
        kind: "git".to_owned(),
        git: Some(git),
        ..Upstream::default()
    };
    Task::Clone(CloneTask { upstream })
}

fn deployment(name: &str, location: RepositoryLocation) -> RepositoryConfig {
    RepositoryConfig {
        deployment: true,
        ..RepositoryConfig::new(name, location)
    }
}

#[test]
fn a_package_is_cloned_from_any_repository() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    fixture.write("upstream", "dir/app/Kptfile", KPTFILE);
    fixture.write("upstream", "dir/app/cm.yaml", RED);
    let commit = fixture.commit("upstream", "a package");
    fixture.git("upstream", &["tag", "dir/app/v1"]);
    let address = fixture.path("upstream").display().to_string();
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    for (workspace, git_ref) in [
        ("tag", "v1"),
        ("branch", "main"),
        ("whole", "dir/app/v1"),
        ("id", &commit),
        ("short", &commit[..10]),
    ] {
        let package = format!("clone-{workspace}");
        let task = clone_git(&address, git_ref, "/dir/app/");
        engine
            .create(&new("git", &package, "v1", Some(task)))
            .expect(git_ref);
        let (contents, _) = pull(&engine, &format!("git.{package}.v1"));
        let kptfile = text(&contents, "Kptfile");
        let expected = format!(
            "# our package\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {package} # the name\n  labels:\n    team: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: 'kpt.dev|Kptfile|default|{package}'\nupstream:\n  type: git\n  git:\n    repo: {address}\n    directory: dir/app\n    ref: {git_ref}\nupstreamLock:\n  type: git\n  git:\n    repo: {address}\n    directory: dir/app\n    ref: {git_ref}\n    commit: {commit}\npipeline:\n"
        );
        assert!(kptfile.replace('"', "").starts_with(&expected), "{kptfile}");
        assert!(
            text(&contents, "cm.yaml").contains("color: blue # a color"),
            "the functions ran"
        );
    }
    for (git_ref, directory, expected) in [
        (
            "v7",
            "dir/app",
            "cannot find git reference (tried [refs/tags/dir/app/v7 refs/heads/dir/app/v7 refs/tags/v7 refs/heads/v7])",
        ),
        ("main", "elsewhere", "cannot find package elsewhere@main"),
        ("--output=x", "dir/app", "cannot find git reference"),
        ("a\nb", "dir/app", "cannot find git reference"),
    ] {
        let task = clone_git(&address, git_ref, directory);
        let error = engine
            .create(&new("git", "no", "v1", Some(task)))
            .expect_err("it is not there");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert!(
            source.unwrap_or_default().starts_with(expected),
            "{error:?}"
        );
    }
}

#[test]
fn a_revision_is_cloned_and_copied_by_the_rules() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([
        RepositoryConfig::new("up", fixture.bare("up")),
        RepositoryConfig::new("git", fixture.bare("repo")),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "up", "base", "v1");
    // A draft can be cloned, but not copied.
    engine
        .create(&new("git", "app", "v1", Some(clone_of("up.base.v1"))))
        .expect("it can be cloned");
    let (contents, _) = pull(&engine, "git.app.v1");
    let kptfile = text(&contents, "Kptfile");
    assert!(kptfile.contains("ref: drafts/base/v1\n"), "{kptfile}");
    let error = |package: &str, workspace: &str, task: Task| {
        let created = engine.create(&new("git", package, workspace, Some(task)));
        created.expect_err("it is against the rules").to_string()
    };
    assert_eq!(
        error("app", "v2", edit_of("git.app.v1")),
        "source revision must be published"
    );
    assert_eq!(
        error("app", "v1", edit_of("git.app.v1")),
        "package revision workspaceNames must be unique; package revision with name app in repo git with workspaceName v1 already exists"
    );
    assert_eq!(
        error("app", "v2", clone_of("up.base.v1")),
        "`clone` cannot create a new revision for package \"app\" that already exists in repo \"git\"; make subsequent revisions using `copy`"
    );
    assert_eq!(
        error("app", "v2", Task::Init(InitTask::default())),
        "package \"app\" already exists in repository \"git\""
    );
    assert_eq!(
        error("app/inner", "v1", Task::Init(InitTask::default())),
        "package path \"app/inner\" conflicts with existing package \"app\": packages cannot be nested"
    );
    assert_eq!(
        error("b", "v1", clone_of("up.base.v9")),
        "failed to fetch package revision \"up.base.v9\""
    );
    assert_eq!(
        error("b", "v1", Task::Render),
        "task of type \"render\" not supported"
    );
    assert_eq!(
        error("b", "v1", Task::Clone(CloneTask::default())),
        "invalid clone source (neither of git, oci, nor upstream were specified)"
    );
    let named = engine.create(&new("git", "b", "V1", None));
    assert!(error_chain(&named.expect_err("it has a bad name")).starts_with(
        "failed to create packagerevision: package revision kubernetes resource name invalid:\nworkspace name part \"V1\" of package revision name invalid\n"
    ));
    // The same last segment elsewhere is another package.
    engine
        .create(&new("git", "x/app", "v1", None))
        .expect("it is another package");
    publish(&engine, "up.base.v1");
    assert_eq!(
        error("b", "v1", clone_of("up.base.main")),
        "upstream revision may not be the placeholder package revision up/up.base.main"
    );
    assert_eq!(
        error("app", "v2", edit_of("up.base.v1")),
        "source revision must be from same package git/app"
    );
    // A revision with downstream packages is not deleted.
    engine
        .propose_delete("up.base.v1")
        .expect("it can be proposed");
    let deleted = engine
        .delete("up.base.v1")
        .expect_err("git.app comes from it");
    assert_eq!(
        deleted.to_string(),
        "cannot delete package revision, it is referenced as upstream by: git.app.v1"
    );
    engine.delete("git.app.v1").expect("a draft can be deleted");
    engine
        .delete("up.base.v1")
        .expect("it has no downstream packages any more");
}

#[test]
fn every_first_task_writes_the_package_context() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("prod");
    let repositories = fixture.repositories([
        RepositoryConfig::new("up", fixture.bare("up")),
        deployment("prod", location),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "up", "base", "v1");
    let (contents, _) = pull(&engine, "up.base.v1");
    assert!(text(&contents, "package-context.yaml").ends_with("data:\n  name: example\n"));
    let data = |name: &str, path: &str| {
        format!(
            "data:\n  name: {name}\n  deployment: \"true\"\n  namespace: default\n  package-path: {path}\n  repository: prod\n"
        )
    };
    draft(&engine, "prod", "apps/new", "v1");
    engine
        .create(&new(
            "prod",
            "apps/copy",
            "v1",
            Some(clone_of("up.base.v1")),
        ))
        .expect("it can be cloned");
    for (name, revision) in [("new", "prod.apps.new.v1"), ("copy", "prod.apps.copy.v1")] {
        let (contents, _) = pull(&engine, revision);
        let context = text(&contents, "package-context.yaml");
        assert!(
            context.ends_with(&data(name, &format!("apps/{name}"))),
            "{context}"
        );
    }
    publish(&engine, "prod.apps.new.v1");
    engine
        .create(&new(
            "prod",
            "apps/new",
            "v2",
            Some(edit_of("prod.apps.new.v1")),
        ))
        .expect("it can be copied");
    let (first, _) = pull(&engine, "prod.apps.new.v1");
    let (second, _) = pull(&engine, "prod.apps.new.v2");
    assert_eq!(
        first.get("package-context.yaml"),
        second.get("package-context.yaml"),
        "twice is once"
    );
    // The builtin is not a task.
    let repository = repositories.get("prod").expect("it is open");
    let snapshot = repository.snapshot().expect("it can be read");
    let tasks = repository
        .tasks(&snapshot.revisions)
        .expect("the history can be read");
    assert!(matches!(tasks.first("apps/new", "v2"), Some(Task::Edit(_))));
}

#[test]
fn a_failing_package_context_generator_leaves_nothing_behind() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    fixture.write(
        "upstream",
        "p/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n",
    );
    fixture.write(
        "upstream",
        "p/package-context.yaml",
        "name: kptfile.kpt.dev\n: [\n",
    );
    fixture.commit("upstream", "a package");
    let repositories = fixture.repositories([deployment("prod", fixture.bare("prod"))]);
    let engine = fixture.engine(&repositories);
    let before = refs(&fixture, "prod");
    let task = clone_git(&fixture.path("upstream").display().to_string(), "main", "p");
    let error = engine
        .create(&new("prod", "p", "v1", Some(task)))
        .expect_err("it is not YAML");
    assert!(matches!(error, CreateError::Context(_)), "{error}");
    assert_eq!(refs(&fixture, "prod"), before);
}

#[test]
fn a_package_that_fails_to_render_is_not_pushed() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    for (package, image) in [("broken", "fail:v1"), ("lying", "error:v1")] {
        fixture.write(
            "upstream",
            &format!("{package}/Kptfile"),
            &KPTFILE.replace("blue:v1", image),
        );
        fixture.write("upstream", &format!("{package}/cm.yaml"), RED);
    }
    fixture.commit("upstream", "packages");
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    let before = refs(&fixture, "repo");
    let address = fixture.path("upstream").display().to_string();
    let sentence = "Error rendering package in kpt function pipeline. Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry. Details: ";
    for (package, exit_code, stderr, message) in [
        ("broken", 3, "it broke", "very bad"),
        ("lying", 1, "", "bad"),
    ] {
        let task = clone_git(&address, "main", package);
        let error = engine
            .create(&new("git", package, "v1", Some(task)))
            .expect_err("it fails");
        assert!(error.to_string().starts_with(sentence), "{error}");
        let CreateError::Render(failure) = error else {
            panic!("another error: {error}");
        };
        let item = failure.status.result.items.first().expect("a function ran");
        assert!(item.image.ends_with(if package == "broken" {
            "fail:v1"
        } else {
            "error:v1"
        }));
        assert_eq!((item.exit_code, item.stderr.trim()), (exit_code, stderr));
        assert_eq!(
            item.results.first().map(|result| result.message.as_str()),
            Some(message)
        );
        assert!(!failure.status.error.is_empty());
    }
    assert_eq!(refs(&fixture, "repo"), before);

    // The same for what is already there.
    draft(&engine, "git", "good", "v1");
    let (good, version) = pull(&engine, "git.good.v1");
    let before = refs(&fixture, "repo");
    let mut bad = good.clone();
    bad.insert_text("Kptfile", KPTFILE.replace("blue:v1", "fail:v1"))
        .expect("a good path");
    bad.insert_text("cm.yaml", RED).expect("a good path");
    let error = push(
        &engine,
        "git.good.v1",
        &bad,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect_err("it fails");
    assert!(error.to_string().starts_with(sentence), "{error}");
    assert_eq!(refs(&fixture, "repo"), before);

    // With the flag it is pushed, and the Kptfile has the render status.
    let error = push(
        &engine,
        "git.good.v1",
        &bad,
        &version,
        OnRenderFailure::Push,
    )
    .expect_err("it fails");
    let pushed = "Error rendering package in kpt function pipeline. Package pushed to remote despite render failure. Details: ";
    assert!(error.to_string().starts_with(pushed), "{error}");
    let (contents, version) = pull(&engine, "git.good.v1");
    let kptfile = text(&contents, "Kptfile");
    assert!(kptfile.contains("reason: RenderFailed"), "{kptfile}");
    assert!(
        kptfile.starts_with("# our package\n"),
        "comments stay: {kptfile}"
    );
    assert!(
        engine.propose("git.good.v1").is_err(),
        "what fails is not proposed"
    );

    // Or the Kptfile asks for it; and for what the functions before the failing one did.
    let both = KPTFILE
        .replace("    - image: blue:v1\n", "    - image: blue:v1\n    - image: fail:v1\n")
        .replace("  labels:\n", "  annotations:\n    porch.kpt.dev/push-on-render-failure: \"true\"\n    kpt.dev/save-on-render-failure: \"true\"\n  labels:\n");
    bad.insert_text("Kptfile", both).expect("a good path");
    let error = push(
        &engine,
        "git.good.v1",
        &bad,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect_err("it fails");
    assert!(error.to_string().starts_with(pushed), "{error}");
    let (contents, _) = pull(&engine, "git.good.v1");
    assert!(
        text(&contents, "cm.yaml").contains("color: blue"),
        "{}",
        text(&contents, "cm.yaml")
    );
}

#[test]
fn programs_of_a_package_are_not_run() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    let marker = fixture.path("marker");
    let kptfile = KPTFILE.replace(
        "image: blue:v1",
        &format!("exec: touch {}", marker.display()),
    );
    fixture.write("upstream", "p/Kptfile", &kptfile);
    fixture.write("upstream", "p/cm.yaml", RED);
    fixture.commit("upstream", "a hostile package");
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    let task = clone_git(&fixture.path("upstream").display().to_string(), "main", "p");
    let error = engine
        .create(&new("git", "p", "v1", Some(task)))
        .expect_err("it is refused");
    assert!(error.to_string().contains("allow-exec"), "{error}");
    assert!(!marker.exists());

    // Where they are allowed, the status names the one that failed.
    let mut engine = fixture.engine(&repositories);
    engine.render.allow_exec = true;
    let task = clone_git(&fixture.path("upstream").display().to_string(), "main", "p");
    let error = engine
        .create(&new("git", "p", "v1", Some(task)))
        .expect_err("it fails");
    let CreateError::Render(failure) = error else {
        panic!("another error: {error}");
    };
    let item = failure.status.result.items.first().expect("a function ran");
    assert_eq!((item.image.as_str(), item.exit_code), ("", 3));
    assert!(item.exec.starts_with("touch "), "{}", item.exec);
}

#[test]
fn credentials_are_not_stored() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    fixture.write("upstream", "p/Kptfile", KPTFILE);
    fixture.commit("upstream", "a package");
    // The user's settings redirect the address, so that the test needs no server.
    let address = "https://me:hunter2@example.com/r";
    let upstream = fixture.path("upstream").display().to_string();
    fixture.git(
        "",
        &[
            "config",
            "--global",
            &format!("url.{upstream}.insteadOf"),
            address,
        ],
    );
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    engine
        .create(&new(
            "git",
            "p",
            "v1",
            Some(clone_git(address, "main", "p")),
        ))
        .expect("it can be cloned");
    let kept = fixture.git("repo", &["log", "-p", "drafts/p/v1"]);
    assert!(
        kept.contains("https://example.com/r") && !kept.contains("hunter2"),
        "{kept}"
    );
    let mut directories = vec![fixture.path("cache")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)
            .expect("it can be read")
            .flatten()
        {
            let path = entry.path();
            assert!(!path.to_string_lossy().contains("hunter2"), "{path:?}");
            match path.is_dir() {
                true => directories.push(path),
                false => {
                    let bytes = std::fs::read(&path).expect("it can be read");
                    assert!(
                        !String::from_utf8_lossy(&bytes).contains("hunter2"),
                        "{path:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn metadata_is_added_first_and_replaced_later() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    fixture.write("upstream", "p/Kptfile", KPTFILE);
    fixture.commit("upstream", "a package");
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    let pairs = |list: &[(&str, &str)]| -> Option<Vec<(String, String)>> {
        Some(
            list.iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        )
    };
    let gates = |list: &[&str]| {
        Some(
            list.iter()
                .map(|gate| (*gate).to_owned())
                .collect::<Vec<String>>(),
        )
    };
    let task = clone_git(&fixture.path("upstream").display().to_string(), "main", "p");
    let mut revision = new("git", "p", "v1", Some(task));
    revision.metadata = PackageMetadata {
        labels: pairs(&[("tier", "web")]),
        readiness_gates: gates(&["tested", "reviewed"]),
        ..PackageMetadata::default()
    };
    engine.create(&revision).expect("it can be made");
    let kptfile = || {
        engine
            .find("git.p.v1")
            .expect("it is there")
            .revision
            .kptfile()
    };
    assert_eq!(kptfile().metadata.labels.len(), 2, "labels are added");

    // Nothing is proposed before it is ready.
    assert!(matches!(
        engine.propose("git.p.v1"),
        Err(ChangeError::NotReady { .. })
    ));
    let condition = |kind: &str, status: &str| Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        ..Condition::default()
    };
    let conditions = |status: &str| PackageMetadata {
        labels: pairs(&[("tier", "db")]),
        conditions: Some(vec![
            condition("tested", "True"),
            condition("reviewed", status),
        ]),
        ..PackageMetadata::default()
    };
    update(&engine, "git.p.v1", &conditions("False")).expect("it can be updated");
    assert!(matches!(
        engine.propose("git.p.v1"),
        Err(ChangeError::NotReady { .. })
    ));
    assert!(matches!(
        update(&engine, "git.p.v1", &conditions("Maybe")),
        Err(ChangeError::Kptfile(_))
    ));
    update(&engine, "git.p.v1", &conditions("True")).expect("it can be updated");
    let found = kptfile();
    assert_eq!(found.metadata.labels.len(), 1, "labels are replaced");
    let kinds: Vec<String> = found
        .status
        .expect("there is one")
        .conditions
        .into_iter()
        .map(|found| found.kind)
        .collect();
    assert_eq!(
        kinds,
        ["tested", "reviewed", "Rendered"],
        "in the order of the request, the renderer's last"
    );
    engine.propose("git.p.v1").expect("it is ready");
    let error = update(&engine, "git.p.v1", &conditions("True")).expect_err("it is not a draft");
    assert_eq!(
        error.to_string(),
        "cannot update a package revision with lifecycle value \"Proposed\"; package must be Draft"
    );
    engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect("it is ready");
}

#[test]
fn modes_links_and_bytes_survive() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([
        RepositoryConfig::new("git", fixture.bare("repo")),
        deployment("prod", fixture.bare("prod")),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let (mut contents, version) = pull(&engine, "git.p.v1");
    let path = |path: &str| PackagePath::new(path).expect("a good path");
    let file = |bytes: &[u8], mode| PackageFile {
        bytes: bytes.into(),
        mode,
    };
    let binary: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    let added = [
        ("bin/run.sh", file(b"#!/bin/sh\n", FileMode::Executable)),
        ("link.yaml", file(b"cm.yaml", FileMode::Symlink)),
        ("out", file(b"../../etc/passwd", FileMode::Symlink)),
        ("data.bin", file(&binary, FileMode::Regular)),
        ("empty.yaml", file(b"", FileMode::Regular)),
        ("comment.yaml", file(b"# nothing\n", FileMode::Regular)),
        (
            "crlf.yaml",
            file(
                b"apiVersion: v1\r\nkind: X\r\nmetadata: {name:  x}\r\n",
                FileMode::Regular,
            ),
        ),
        ("template.txt", file(b"{{ oops", FileMode::Regular)),
    ];
    for (name, file) in &added {
        contents
            .insert(path(name), file.clone())
            .expect("there is room");
    }
    push(
        &engine,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect("it can be pushed");
    publish(&engine, "git.p.v1");
    engine
        .create(&new("prod", "q", "v1", Some(clone_of("git.p.v1"))))
        .expect("it can be cloned");
    for name in ["git.p.v1", "git.p.main", "prod.q.v1"] {
        let (found, _) = pull(&engine, name);
        for (path, file) in &added {
            let found = found.get(path).expect(path);
            assert_eq!(found.mode, file.mode, "{name} {path}");
            // Clone may mark resources, and nothing else.
            if name != "prod.q.v1" || *path != "crlf.yaml" {
                assert_eq!(found.bytes, file.bytes, "{name} {path}");
            }
        }
    }
    let tree = fixture.git("repo", &["ls-tree", "-r", "main", "p/bin/run.sh", "p/out"]);
    assert!(
        tree.starts_with("100755 blob") && tree.contains("\n120000 blob"),
        "{tree}"
    );
}

#[test]
fn each_repository_has_a_runner_of_its_own() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("upstream");
    fixture.write(
        "upstream",
        "p/Kptfile",
        &KPTFILE.replace("blue:v1", "where:v1"),
    );
    fixture.write(
        "upstream",
        "p/cm.yaml",
        &RED.replace("color: red", "runner: none"),
    );
    fixture.commit("upstream", "a package");
    let address = fixture.path("upstream").display().to_string();
    let config = |name: &str, seconds: u64| RepositoryConfig {
        runner: RunnerOptions {
            endpoint: Some(format!("{name}.example.com:9445")),
            pull_secrets: vec![format!("{name}-secret")],
            timeout: Some(Duration::from_secs(seconds)),
            memory: Some(seconds * 1000),
            max_output: None,
        },
        ..RepositoryConfig::new(name, fixture.bare(name))
    };
    let repositories = fixture.repositories([config("one", 10), config("two", 20)]);
    let engine = fixture.engine(&repositories);
    for (name, seconds) in [("one", 10), ("two", 20)] {
        let task = clone_git(&address, "main", "p");
        engine
            .create(&new(name, "p", "v1", Some(task)))
            .expect("it can be cloned");
        let (contents, _) = pull(&engine, &format!("{name}.p.v1"));
        let expected = format!("runner: {name}.example.com:9445");
        assert!(text(&contents, "cm.yaml").contains(&expected));
        let contexts = std::mem::take(&mut *fixture.runners.contexts.lock().expect("not poisoned"));
        let context = contexts.last().expect("a function ran");
        assert_eq!(
            context.deadline.map(|deadline| deadline.timeout),
            Some(Duration::from_secs(seconds))
        );
        assert_eq!(context.limits.memory, Some(seconds * 1000));
        let requested =
            std::mem::take(&mut *fixture.runners.requested.lock().expect("not poisoned"));
        assert_eq!(
            requested
                .last()
                .map(|config| config.runner.pull_secrets.clone()),
            Some(vec![format!("{name}-secret")])
        );
    }
    assert_eq!(
        names(&repositories.get("one").expect("it is open")),
        ["one.p.v1 0 Draft"]
    );
    assert_eq!(
        engine
            .find("one.p.v1")
            .expect("it is there")
            .revision
            .lifecycle,
        Lifecycle::Draft
    );
}

/// kpt renders no such package, and a misspelt field that is passed over would be worse; everything else takes it.
#[test]
fn unknown_fields_are_kept() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    fixture.write("repo", "p/Kptfile", &format!("{KPTFILE}future: x\n"));
    fixture.commit("repo", "from the future");
    fixture.git("repo", &["branch", "drafts/p/v1"]);
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    let (contents, version) = pull(&engine, "git.p.v1");
    assert!(text(&contents, "Kptfile").ends_with("future: x\n"));
    let found = engine
        .find("git.p.v1")
        .expect("it is there")
        .revision
        .kptfile();
    assert_eq!(
        found.metadata.labels.get("team").map(String::as_str),
        Some("a")
    );
    push(
        &engine,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect("they do not prevent it");
    let (contents, _) = pull(&engine, "git.p.v1");
    assert!(text(&contents, "Kptfile").contains("\nfuture: x\n"));
}
