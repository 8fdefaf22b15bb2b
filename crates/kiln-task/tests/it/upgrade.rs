//! Packages that follow their upstream.

use kiln_task::{
    CloneTask, CreateError, Engine, GitUpstream, OnRenderFailure, RepositoryConfig, RevisionRef,
    Strategy, Task, TaskError, UpgradeError, UpgradeTask, Upstream,
};

use crate::fixture::{fixture, new, pull, text};
use crate::steps::{draft, edit_of, publish, push};

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n";

fn config_map(name: &str, color: &str, size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  color: {color} # of it\n  size: {size}\n"
    )
}

/// Replaces files of a draft, and publishes it.
fn publish_with(engine: &Engine<'_>, name: &str, files: &[(&str, Option<String>)]) {
    let (mut contents, version) = pull(engine, name);
    for (path, text) in files {
        match text {
            Some(text) => contents.insert_text(path, text).expect("a good path"),
            None => {
                contents.remove(path);
            }
        }
    }
    push(engine, name, &contents, &version, OnRenderFailure::Refuse).expect("it can be pushed");
    publish(engine, name);
}

fn copy(engine: &Engine<'_>, package: (&str, &str), from: &str, to: &str) {
    let (repository, path) = package;
    let task = edit_of(&format!("{repository}.{path}.{from}"));
    engine
        .create(&new(repository, path, to, Some(task)))
        .expect("it can be copied");
}

fn upgrade(old: &str, strategy: Strategy) -> Task {
    let name = |name: &str| RevisionRef {
        name: name.to_owned(),
    };
    Task::Upgrade(UpgradeTask {
        old_upstream: name(old),
        new_upstream: name("up.base.v2"),
        local: name("git.app.v1"),
        strategy: Some(strategy),
    })
}

#[test]
fn a_package_is_upgraded() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([
        RepositoryConfig::new("up", fixture.bare("up")),
        RepositoryConfig::new("git", fixture.bare("repo")),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "up", "base", "v1");
    publish_with(
        &engine,
        "up.base.v1",
        &[
            ("Kptfile", Some(KPTFILE.to_owned())),
            ("cm.yaml", Some(config_map("cm", "red", "1"))),
            ("gone.yaml", Some(config_map("gone", "red", "1"))),
        ],
    );
    let upstream = Upstream {
        revision: Some(RevisionRef {
            name: "up.base.v1".to_owned(),
        }),
        ..Upstream::default()
    };
    engine
        .create(&new(
            "git",
            "app",
            "v1",
            Some(Task::Clone(CloneTask { upstream })),
        ))
        .expect("it can be cloned");
    let (cloned, _) = pull(&engine, "git.app.v1");
    let cm = text(&cloned, "cm.yaml");
    assert!(cm.contains("metadata: # kpt-merge: /cm\n"), "{cm}");
    assert!(
        cm.contains("internal.kpt.dev/upstream-identifier: '|ConfigMap|default|cm'\n"),
        "{cm}"
    );
    let local = cm
        .replace("color: red", "color: green")
        .replace("size: 1", "size: 5");
    publish_with(
        &engine,
        "git.app.v1",
        &[
            ("cm.yaml", Some(local)),
            ("own.txt", Some("mine".to_owned())),
        ],
    );
    copy(&engine, ("up", "base"), "v1", "v2");
    publish_with(
        &engine,
        "up.base.v2",
        &[
            ("cm.yaml", Some(config_map("cm", "blue", "1"))),
            ("gone.yaml", None),
            ("new.yaml", Some(config_map("new", "red", "1"))),
        ],
    );

    let revision = new(
        "git",
        "app",
        "v2",
        Some(upgrade("up.base.v1", Strategy::ResourceMerge)),
    );
    let created = engine.create(&revision).expect("it can be upgraded");
    let conflicts: Vec<String> = created.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert!(conflicts[0].contains("data.color"), "{conflicts:?}");
    let (merged, _) = pull(&engine, "git.app.v2");
    let cm = text(&merged, "cm.yaml");
    assert!(
        cm.contains("color: blue # of it\n") && cm.contains("size: 5\n"),
        "{cm}"
    );
    assert!(
        merged.get("gone.yaml").is_none(),
        "an unchanged file is removed with the upstream"
    );
    assert!(text(&merged, "new.yaml").contains("# kpt-merge: /new"));
    assert_eq!(text(&merged, "own.txt"), "mine");
    let kptfile = text(&merged, "Kptfile");
    assert!(
        kptfile.contains("  name: app") && kptfile.contains("ref: base/v2\n"),
        "{kptfile}"
    );

    // A copy of an upgrade still comes from where that came from.
    publish_with(&engine, "git.app.v2", &[]);
    copy(&engine, ("git", "app"), "v2", "copy");
    for (name, upstream) in [("git.app.v1", "up.base.v1"), ("git.app.copy", "up.base.v2")] {
        let located = engine.find(name).expect("it is there");
        let found = engine.upstream_of(&located).expect("it can be found out");
        assert_eq!(
            found.map(|found| found.revision.name.to_string()),
            Some(upstream.to_owned())
        );
    }
    let located = engine.find("git.app.v2").expect("it is there");
    let log = located
        .repository
        .log(&located.revision)
        .expect("it can be read");
    let subjects: Vec<&str> = log.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!(
        subjects,
        [
            "Approving package revision app/2",
            "Rendering package",
            "Rendering package",
            "Upgrading revision"
        ]
    );
    assert!(matches!(log[3].task, Some(Task::Upgrade(_))));

    // What has been changed is not simply replaced.
    let revision = new(
        "git",
        "app",
        "v3",
        Some(upgrade("up.base.v1", Strategy::FastForward)),
    );
    let error = engine.create(&revision).expect_err("it was changed");
    assert_eq!(
        error.to_string(),
        "error updating the package \"app\" to revision \"up.base.v2\""
    );
    // Without the name of the old upstream its place is in the Kptfile.
    let revision = new(
        "git",
        "app",
        "v3",
        Some(upgrade("", Strategy::ResourceMerge)),
    );
    engine.create(&revision).expect("the lock leads to it");
    let (again, _) = pull(&engine, "git.app.v3");
    assert_eq!(again.get("cm.yaml"), merged.get("cm.yaml"));
    // Only what is published is upgraded.
    let mut task = upgrade("up.base.v1", Strategy::ResourceMerge);
    if let Task::Upgrade(task) = &mut task {
        task.local.name = "git.app.copy".to_owned();
    }
    let error = engine
        .create(&new("git", "app", "v4", Some(task)))
        .expect_err("it is a draft");
    assert_eq!(
        error.to_string(),
        "all source PackageRevisions of upgrade task must be published, \"git.app.copy\" is not"
    );
}

#[test]
fn a_package_from_an_address_is_upgraded_by_its_lock() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("up");
    let repositories = fixture.repositories([
        RepositoryConfig::new("up", location),
        RepositoryConfig::new("git", fixture.bare("repo")),
    ]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "up", "base", "v1");
    publish_with(
        &engine,
        "up.base.v1",
        &[("cm.yaml", Some(config_map("cm", "red", "1")))],
    );
    copy(&engine, ("up", "base"), "v1", "v2");
    publish_with(
        &engine,
        "up.base.v2",
        &[("cm.yaml", Some(config_map("cm", "blue", "1")))],
    );
    let git = GitUpstream {
        repo: format!("file://{}", fixture.path("up").display()),
        git_ref: "v1".to_owned(),
        directory: "base".to_owned(),
        ..GitUpstream::default()
    };
    let upstream = Upstream {
        kind: "git".to_owned(),
        git: Some(git),
        ..Upstream::default()
    };
    engine
        .create(&new(
            "git",
            "app",
            "v1",
            Some(Task::Clone(CloneTask { upstream })),
        ))
        .expect("it can be cloned");
    let located = engine.find("git.app.v1").expect("it is there");
    let found = engine.upstream_of(&located).expect("it can be found out");
    assert_eq!(
        found.map(|found| found.revision.name.to_string()),
        Some("up.base.v1".to_owned())
    );
    publish_with(&engine, "git.app.v1", &[]);
    let created = engine.create(&new(
        "git",
        "app",
        "v2",
        Some(upgrade("", Strategy::FastForward)),
    ));
    created.expect("nothing was changed, the marks of clone do not count");
    let (merged, _) = pull(&engine, "git.app.v2");
    assert!(text(&merged, "cm.yaml").contains("color: blue"));
    // Without a lock there is nothing to start from.
    draft(&engine, "git", "new", "v1");
    publish_with(&engine, "git.new.v1", &[]);
    let mut task = upgrade("", Strategy::ResourceMerge);
    if let Task::Upgrade(task) = &mut task {
        task.local.name = "git.new.v1".to_owned();
    }
    let error = engine
        .create(&new("git", "new", "v2", Some(task)))
        .expect_err("it has no upstream");
    let CreateError::Task(TaskError::Upgrade(UpgradeError::NoLock(_))) = error else {
        panic!("another error: {error}");
    };
}
