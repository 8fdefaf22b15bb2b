//! How the status of a pod is interpreted.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(status: Value, expected: Option<(&str, &str)>) {
    let pod: PodView =
        serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
    let found = problem(&pod);
    let found = found
        .as_ref()
        .map(|found| (found.reason.as_str(), found.message.as_str()));
    assert_eq!(found, expected);
}

fn waiting(reason: &str) -> Value {
    json!({"phase": "Pending", "containerStatuses": [
        {"name": "function", "state": {"waiting": {"reason": reason, "message": "details"}}},
    ]})
}

#[test]
fn starting_pods_have_no_problem() {
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
fn what_kubernetes_retries_forever_is_a_problem() {
    for reason in [
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    ] {
        check(waiting(reason), Some((reason, "details")));
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
fn crashes_report_the_termination() {
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
            "back-off 10s; container function previously exited: Error, exit code 3",
        )),
    );
    check(
        crash("OOMKilled", 137),
        Some((
            "OOMKilled",
            "back-off 10s; container function previously exited: OOMKilled, exit code 137",
        )),
    );
    let killed = json!({"phase": "Running", "containerStatuses": [
        {"name": "function", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    ]});
    check(
        killed,
        Some(("OOMKilled", "container function exited with code 137")),
    );
}

#[test]
fn terminated_pods_report_the_reason() {
    check(
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}),
        Some(("Evicted", "The node was low on resource: memory.")),
    );
    let failed = json!({"phase": "Failed", "containerStatuses": [
        {"name": "function", "state": {"terminated": {"exitCode": 2, "reason": "Error", "message": "bad"}}},
    ]});
    check(
        failed,
        Some(("Error", "container function exited with code 2: bad")),
    );
    check(json!({"phase": "Failed"}), Some(("Failed", "")));
    check(
        json!({"phase": "Succeeded"}),
        Some(("Completed", "the wrapper server has exited")),
    );
}

#[test]
fn only_some_reasons_concern_a_single_pod() {
    let scope = |status: Value| {
        let pod = serde_json::from_value(json!({"status": status})).unwrap();
        problem(&pod).map(|found| found.scope)
    };
    assert_eq!(scope(waiting("ErrImagePull")), Some(FaultScope::Image));
    assert_eq!(
        scope(json!({"phase": "Failed", "reason": "Evicted"})),
        Some(FaultScope::Pod)
    );
}

#[test]
fn terminating_pods_have_no_problem() {
    let of = |object: Value| serde_json::from_value::<PodView>(object).unwrap();
    let deleted = of(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let drained = of(json!({"status": {"phase": "Running", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "m"},
    ]}}));
    for pod in [deleted, drained] {
        assert!(is_terminating(&pod));
        assert_eq!(problem(&pod), None);
    }
    assert!(!is_terminating(&PodView::default()));
}

#[test]
fn ready_pods_are_running_and_have_an_ip() {
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
fn the_reason_of_a_lost_call_is_found() {
    let of = |object: Value| serde_json::from_value::<PodView>(object).unwrap();
    #[track_caller]
    fn check(pod: &PodView, known: &[ContainerTerminated], expected: Option<&str>) {
        let reason = lost_call_reason(pod, known).map(|fault| fault.to_string());
        assert_eq!(reason.as_deref(), expected);
    }
    let restarted = |at: &str| {
        let ended = json!({"reason": "OOMKilled", "exitCode": 137, "finishedAt": at});
        let container = json!({"name": "function", "state": {"running": {}}, "lastState": {"terminated": ended}});
        of(json!({"status": {"phase": "Running", "containerStatuses": [container]}}))
    };
    let first = restarted("2026-01-01T00:00:00Z");
    let oom = Some("OOMKilled: container function exited with code 137");
    check(&first, &[], oom);
    // What happened before the call is not the reason.
    let known: Vec<ContainerTerminated> = terminations(&first)
        .map(|(_, ended)| ended.clone())
        .collect();
    check(&first, &known, None);
    check(&restarted("2026-01-01T00:01:00Z"), &known, oom);

    let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    check(
        &of(json!({"status": evicted})),
        &[],
        Some("Evicted: low on memory"),
    );
    let deleted = of(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    check(&deleted, &[], Some("Deleted: the pod was deleted"));
    let drained = of(json!({"status": {"phase": "Running", "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"},
    ]}}));
    check(&drained, &[], Some("PreemptionByScheduler: m"));
}
