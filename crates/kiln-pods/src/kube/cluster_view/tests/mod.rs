//! What the view reports does not depend on the order of updates.

mod orders;

use serde_json::{Value, json};

use super::*;
use crate::kube::names::IMAGE_LABEL;
use crate::pool::PodPools;

fn view(mode: AddressMode) -> ClusterView {
    ClusterView::new(mode, "fns", "me")
}

fn id() -> PodId {
    PodPools::new(std::time::Duration::ZERO, std::time::Duration::ZERO).next_pod_id()
}

fn pod(replica: &str, status: Value) -> PodView {
    serde_json::from_value(json!({
        "metadata": {"name": "p", "uid": "u", "labels": {IMAGE_LABEL: "p", REPLICA_LABEL: replica}},
        "status": status,
    }))
    .unwrap()
}

fn ready(replica: &str) -> PodView {
    pod(
        replica,
        json!({"phase": "Running", "podIP": "10.0.0.7", "conditions": [{"type": "Ready", "status": "True"}]}),
    )
}

fn service() -> ServiceView {
    serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {"clusterIP": "10.1.0.1"}}))
        .unwrap()
}

fn slice(addresses: &[&str]) -> EndpointSliceView {
    serde_json::from_value(json!({
        "metadata": {"name": "p-abc", "labels": {"kubernetes.io/service-name": "p"}},
        "endpoints": [{"addresses": addresses, "conditions": {"ready": true}}],
    }))
    .unwrap()
}

fn reachable(id: PodId, host_port: &str) -> impl Fn(&Notice) -> bool {
    move |notice| matches!(notice, Notice::Reachable(pod, address) if *pod == id && address.host_port == host_port)
}

#[test]
fn a_pod_is_reachable_after_updates_in_any_order() {
    let id = id();
    let steps: [fn(&mut ClusterView) -> Vec<Notice>; 3] = [
        |view| view.update_pod(ready("me")),
        |view| view.update_service(service()),
        |view| view.update_slice(&slice(&["10.0.0.7"])),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut view = view(AddressMode::ClusterIp);
        view.assign_own(id, "p");
        let [first, second, last] = order.map(|index| steps[index](&mut view));
        assert_eq!((first, second), (Vec::new(), Vec::new()));
        assert!(last.iter().any(reachable(id, "10.1.0.1:9446")), "{last:?}");
        // It is reported once.
        assert_eq!(view.update_pod(ready("me")), []);
    }
}

#[test]
fn the_mode_selects_the_address() {
    let id = id();
    for (mode, expected) in [
        (AddressMode::Dns, "p.fns.svc.cluster.local:9446"),
        (AddressMode::ClusterIp, "10.1.0.1:9446"),
        (AddressMode::PodIp, "10.0.0.7:9446"),
    ] {
        let mut view = view(mode);
        view.assign_own(id, "p");
        view.update_service(service());
        view.update_slice(&slice(&["10.0.0.7"]));
        let notices = view.update_pod(ready("me"));
        assert!(notices.iter().any(reachable(id, expected)), "{notices:?}");
    }
}

#[test]
fn without_the_right_endpoint_only_the_pod_itself_is_reachable() {
    let id = id();
    let mut through_service = view(AddressMode::Dns);
    through_service.assign_own(id, "p");
    through_service.update_service(service());
    through_service.update_slice(&slice(&["10.0.0.8"]));
    assert_eq!(through_service.update_pod(ready("me")), []);
    let mut direct = view(AddressMode::PodIp);
    direct.assign_own(id, "p");
    assert_eq!(direct.update_pod(ready("me")).len(), 1);
}

/// This happens after an outage of the API server, when nodes could not report.
#[test]
fn a_reachable_pod_stays_reachable_if_its_node_does_not_report() {
    let id = id();
    let mut view = view(AddressMode::ClusterIp);
    view.assign_own(id, "p");
    let status = |ready: &str, containers: &str| {
        let conditions = json!([
            {"type": "Ready", "status": ready},
            {"type": "ContainersReady", "status": containers},
        ]);
        let status = json!({"phase": "Running", "podIP": "10.0.0.7", "conditions": conditions});
        pod("me", status)
    };
    let unready = [Notice::Event(PoolEvent::Unready { pod: id })];
    view.update_service(service());
    view.update_slice(&slice(&["10.0.0.7"]));
    // It was never reachable.
    assert_eq!(view.update_pod(status("False", "True")), []);
    assert_eq!(view.update_pod(status("True", "True")).len(), 1);
    assert_eq!(view.update_pod(status("False", "True")), []);
    assert_eq!(view.update_slice(&slice(&[])), []);
    // This time the node itself reports it.
    assert_eq!(view.update_pod(status("False", "False")), unready);
    assert_eq!(view.update_pod(status("False", "True")), []);
    view.update_slice(&slice(&["10.0.0.7"]));
    assert_eq!(view.update_pod(status("True", "True")).len(), 1);
}

#[test]
fn state_changes_are_reported_once() {
    let id = id();
    let mut view = view(AddressMode::PodIp);
    view.assign_own(id, "p");
    view.update_pod(ready("me"));
    let unready = pod("me", json!({"phase": "Running", "podIP": "10.0.0.7"}));
    assert_eq!(
        view.update_pod(unready.clone()),
        [Notice::Event(PoolEvent::Unready { pod: id })]
    );
    assert_eq!(view.update_pod(unready), []);
    let failed = pod("me", json!({"phase": "Failed", "reason": "Evicted"}));
    let notices = view.update_pod(failed);
    assert!(
        matches!(
            notices.as_slice(),
            [Notice::Event(PoolEvent::Failed { .. })]
        ),
        "{notices:?}"
    );
    assert_eq!(
        view.remove_pod("p"),
        [Notice::Event(PoolEvent::Gone { pod: id })]
    );
    assert_eq!(view.remove_pod("p"), []);
}

#[test]
fn a_pod_that_was_never_seen_is_not_gone() {
    let id = id();
    let mut view = view(AddressMode::PodIp);
    view.assign_own(id, "p");
    assert_eq!(view.replace_pods(Vec::new()), []);
    view.update_pod(ready("me"));
    assert_eq!(
        view.replace_pods(Vec::new()),
        [Notice::Event(PoolEvent::Gone { pod: id })]
    );
}

#[test]
fn report_again_repeats_the_state() {
    let id = id();
    let mut view = view(AddressMode::PodIp);
    view.assign_own(id, "p");
    assert_eq!(view.report_again(id), []);
    view.update_pod(ready("me"));
    assert_eq!(view.report_again(id).len(), 1);
}

#[test]
fn a_deleted_service_is_reported_while_its_pod_exists() {
    let id = id();
    let mut view = view(AddressMode::Dns);
    view.assign_own(id, "p");
    view.update_service(service());
    view.update_slice(&slice(&["10.0.0.7"]));
    view.update_pod(ready("me"));
    let notices = view.remove_service("p");
    assert_eq!(
        notices,
        [
            Notice::Event(PoolEvent::ServiceGone { pod: id }),
            Notice::Event(PoolEvent::Unready { pod: id }),
        ]
    );
    assert_eq!(view.remove_service("p"), []);
}

#[test]
fn report_again_reports_a_missing_service() {
    let id = id();
    let mut view = view(AddressMode::ClusterIp);
    view.update_pod(ready("me"));
    view.assign(id, "p", ReportedOwner::Ours);
    let lacks = [Notice::Event(PoolEvent::ServiceGone { pod: id })];
    assert_eq!(view.report_again(id), lacks);
    view.update_service(service());
    assert_eq!(view.report_again(id), []);
}

#[test]
fn pods_without_an_id_are_unassigned() {
    let mut view = view(AddressMode::PodIp);
    assert_eq!(
        view.update_pod(ready("other")),
        [Notice::Unassigned("p".to_owned())]
    );
    assert_eq!(view.unassigned(|_| true), ["p"]);
    assert_eq!(view.replicas(), HashSet::from(["other"]));
    let id = id();
    view.assign(id, "p", ReportedOwner::Orphaned("other".to_owned()));
    assert_eq!(view.orphans(), [id]);
    assert!(view.unassigned(|_| true).is_empty());
    assert!(
        view.update_pod(ready("third"))
            .contains(&Notice::OwnerChanged(id))
    );
    view.forget(id);
    assert_eq!(view.unassigned(|_| true), ["p"]);
}

#[test]
fn a_changed_replica_label_is_reported() {
    let id = id();
    let mut view = view(AddressMode::PodIp);
    view.assign_own(id, "p");
    assert!(
        !view
            .update_pod(ready("me"))
            .contains(&Notice::OwnerChanged(id))
    );
    assert!(
        view.update_pod(ready("other"))
            .contains(&Notice::OwnerChanged(id))
    );
}

#[test]
fn entries_of_deleted_objects_are_removed() {
    let id = id();
    let mut view = view(AddressMode::Dns);
    view.assign_own(id, "p");
    view.update_pod(ready("me"));
    view.update_service(service());
    view.update_slice(&slice(&["10.0.0.7"]));
    view.remove_pod("p");
    view.forget(id);
    view.remove_service("p");
    view.remove_slice(&slice(&[]));
    assert!(view.entries.is_empty() && view.names.is_empty());
}
