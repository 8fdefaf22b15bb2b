//! What pods say of themselves, and what it means.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(status: Value, expected: Option<(&str, &str)>) {
    let pod: PodView =
        serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
    let found = trouble(&pod);
    let found = found
        .as_ref()
        .map(|found| (found.reason.as_str(), found.message.as_str()));
    assert_eq!(found, expected);
}

fn waiting(reason: &str) -> Value {
    json!({"phase": "Pending", "containerStatuses": [
        {"name": "function", "state": {"waiting": {"reason": reason, "message": "what it says"}}},
    ]})
}

#[test]
fn pods_that_are_starting_are_fine() {
    check(json!({}), None);
    check(
        json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}),
        None,
    );
    check(waiting("ContainerCreating"), None);
    check(waiting("PodInitializing"), None);
    check(
        json!({"phase": "Running", "containerStatuses": [{"name": "function", "state": {"running": {}}}]}),
        None,
    );
    let gated = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "m"},
    ]});
    check(gated, None);
}

#[test]
fn what_kubernetes_would_try_for_ever_is_trouble() {
    for reason in [
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    ] {
        check(waiting(reason), Some((reason, "what it says")));
    }
    let init = json!({"phase": "Pending", "initContainerStatuses": [
        {"name": "copy-wrapper-server", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}},
    ], "containerStatuses": [
        {"name": "function", "state": {"waiting": {"reason": "PodInitializing"}}},
    ]});
    check(init, Some(("ErrImagePull", "no")));
    let unschedulable = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"},
    ]});
    check(
        unschedulable,
        Some(("Unschedulable", "0/1 nodes are available")),
    );
}

#[test]
fn crashes_say_how_they_ended() {
    let crash = |reason: &str, code: i64| {
        json!({"phase": "Running", "containerStatuses": [{
            "name": "function",
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
            "lastState": {"terminated": {"exitCode": code, "reason": reason}},
        }]})
    };
    check(
        crash("Error", 3),
        Some((
            "CrashLoopBackOff",
            "back-off 10s; container function ended before: Error, exit code 3",
        )),
    );
    check(
        crash("OOMKilled", 137),
        Some((
            "OOMKilled",
            "back-off 10s; container function ended before: OOMKilled, exit code 137",
        )),
    );
    let killed = json!({"phase": "Running", "containerStatuses": [
        {"name": "function", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    ]});
    check(
        killed,
        Some(("OOMKilled", "container function ended with exit code 137")),
    );
}

#[test]
fn pods_that_ended_say_why() {
    check(
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}),
        Some(("Evicted", "The node was low on resource: memory.")),
    );
    let failed = json!({"phase": "Failed", "containerStatuses": [
        {"name": "function", "state": {"terminated": {"exitCode": 2, "reason": "Error", "message": "bad"}}},
    ]});
    check(
        failed,
        Some(("Error", "container function ended with exit code 2: bad")),
    );
    check(json!({"phase": "Failed"}), Some(("Failed", "")));
    check(
        json!({"phase": "Succeeded"}),
        Some(("Completed", "the wrapper ended")),
    );
}

#[test]
fn only_faults_of_the_pod_itself_may_pass() {
    let lasts = |status: Value| {
        let pod = serde_json::from_value(json!({"status": status})).unwrap();
        trouble(&pod).map(|found| found.lasts)
    };
    assert_eq!(lasts(waiting("ErrImagePull")), Some(Lasts::Yes));
    assert_eq!(
        lasts(json!({"phase": "Failed", "reason": "Evicted"})),
        Some(Lasts::No)
    );
}

#[test]
fn pods_on_their_way_out_are_no_trouble() {
    let of = |object: Value| serde_json::from_value::<PodView>(object).unwrap();
    let deleted = of(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let drained = of(json!({"status": {"phase": "Running", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "m"},
    ]}}));
    for pod in [deleted, drained] {
        assert!(is_terminating(&pod));
        assert_eq!(trouble(&pod), None);
    }
    assert!(!is_terminating(&PodView::default()));
}

#[test]
fn ready_is_running_with_an_address() {
    let pod = |phase: &str, ip: &str, ready: &str| -> PodView {
        serde_json::from_value(json!({"status": {
            "phase": phase, "podIP": ip, "conditions": [{"type": "Ready", "status": ready}],
        }}))
        .unwrap()
    };
    assert!(is_ready(&pod("Running", "10.0.0.1", "True")));
    assert!(!is_ready(&pod("Running", "10.0.0.1", "False")));
    assert!(!is_ready(&pod("Running", "", "True")));
    assert!(!is_ready(&pod("Pending", "10.0.0.1", "True")));
}

#[test]
fn what_becomes_of_a_pod_during_a_call_is_told() {
    let of = |object: Value| serde_json::from_value::<PodView>(object).unwrap();
    #[track_caller]
    fn check(pod: &PodView, known: &[Terminated], expected: Option<&str>) {
        let told = fate(pod, known).map(|fault| fault.to_string());
        assert_eq!(told.as_deref(), expected);
    }
    let restarted = |at: &str| {
        let ended = json!({"reason": "OOMKilled", "exitCode": 137, "finishedAt": at});
        let container = json!({"name": "function", "state": {"running": {}}, "lastState": {"terminated": ended}});
        of(json!({"status": {"phase": "Running", "containerStatuses": [container]}}))
    };
    let first = restarted("2026-01-01T00:00:00Z");
    let oom = Some("OOMKilled: container function ended with exit code 137");
    check(&first, &[], oom);
    // What happened before the call is not its fate.
    let known: Vec<Terminated> = endings(&first).map(|(_, ended)| ended.clone()).collect();
    check(&first, &known, None);
    check(&restarted("2026-01-01T00:01:00Z"), &known, oom);

    let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    check(
        &of(json!({"status": evicted})),
        &[],
        Some("Evicted: low on memory"),
    );
    let deleted = of(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    check(&deleted, &[], Some("Deleted: somebody has deleted the pod"));
    let drained = of(json!({"status": {"phase": "Running", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"},
    ]}}));
    check(&drained, &[], Some("PreemptionByScheduler: m"));
}
