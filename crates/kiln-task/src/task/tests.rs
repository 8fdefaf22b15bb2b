//! The JSON of tasks, byte for byte.

use super::{
    CloneTask, EditTask, GitUpstream, InitTask, RevisionRef, Strategy, Task, UpgradeTask, Upstream,
    to_go_json,
};

#[track_caller]
fn check(task: Task, json: &str) {
    assert_eq!(to_go_json(&task).expect("tasks can be written"), json);
    let read: Task = serde_json::from_str(json).expect("what was written can be read");
    assert_eq!(read, task);
}

fn named(name: &str) -> RevisionRef {
    RevisionRef {
        name: name.to_owned(),
    }
}

#[test]
fn tasks_equal_those_of_porch() {
    check(
        Task::Init(InitTask {
            description: "a <b> & \u{2028}c".to_owned(),
            keywords: vec!["k".to_owned()],
            ..InitTask::default()
        }),
        r#"{"type":"init","init":{"description":"a \u003cb\u003e \u0026 \u2028c","keywords":["k"]}}"#,
    );
    let git = GitUpstream {
        repo: "https://example.com/r.git".to_owned(),
        git_ref: "main".to_owned(),
        directory: "d".to_owned(),
        ..GitUpstream::default()
    };
    check(
        Task::Clone(CloneTask {
            upstream: Upstream {
                kind: "git".to_owned(),
                git: Some(git),
                ..Upstream::default()
            },
        }),
        r#"{"type":"clone","clone":{"upstreamRef":{"type":"git","git":{"repo":"https://example.com/r.git","ref":"main","directory":"d","secretRef":{"name":""}}}}}"#,
    );
    check(
        Task::Clone(CloneTask {
            upstream: Upstream {
                revision: Some(named("git.p.v1")),
                ..Upstream::default()
            },
        }),
        r#"{"type":"clone","clone":{"upstreamRef":{"upstreamRef":{"name":"git.p.v1"}}}}"#,
    );
    check(
        Task::Edit(EditTask {
            source: Some(named("git.p.v1")),
        }),
        r#"{"type":"edit","edit":{"sourceRef":{"name":"git.p.v1"}}}"#,
    );
    check(
        Task::Upgrade(UpgradeTask {
            old_upstream: named("o"),
            new_upstream: named("n"),
            local: named("l"),
            strategy: Some(Strategy::CopyMerge),
        }),
        r#"{"type":"upgrade","upgrade":{"oldUpstreamRef":{"name":"o"},"newUpstreamRef":{"name":"n"},"localPackageRevisionRef":{"name":"l"},"strategy":"copy-merge"}}"#,
    );
    check(Task::Render, r#"{"type":"render"}"#);
    check(Task::Nothing, r#"{"type":""}"#);
}

#[test]
fn old_tasks_are_read() {
    let read = |json: &str| serde_json::from_str::<Task>(json).expect("it is JSON");
    let patch = r#"{"type":"patch","patch":{"patches":[{"file":"f"}]}}"#;
    assert_eq!(read(patch), Task::Other("patch".to_owned()));
    assert_eq!(read(r#"{"type":"init"}"#), Task::Init(InitTask::default()));
    let upgrade = r#"{"type":"upgrade","upgrade":{"strategy":"unheard-of"}}"#;
    assert_eq!(read(upgrade), Task::Upgrade(UpgradeTask::default()));
}

#[test]
fn strategies_are_known_by_their_names() {
    assert_eq!("copy-merge".parse(), Ok(Strategy::CopyMerge));
    let error = "merge".parse::<Strategy>().expect_err("no strategy");
    assert_eq!(
        error.to_string(),
        r#"invalid strategy "merge"; must be one of: [resource-merge fast-forward force-delete-replace copy-merge]"#
    );
}
