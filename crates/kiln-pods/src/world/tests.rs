//! What is told of a pod, in whatever order it is seen.

mod orders;

use serde_json::{Value, json};

use super::*;
use crate::keys::IMAGE_LABEL;
use crate::state::Pool;

fn world(mode: AddressMode) -> World {
    World::new(mode, "fns", "me")
}

fn id() -> PodId {
    Pool::new(std::time::Duration::ZERO, std::time::Duration::ZERO).name_found_pod()
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
    move |notice| matches!(notice, Notice::Reachable(pod, place) if *pod == id && place.host_port == host_port)
}

#[test]
fn a_pod_is_reachable_when_everything_is_there_in_any_order() {
    let id = id();
    let steps: [fn(&mut World) -> Vec<Notice>; 3] = [
        |world| world.see_pod(ready("me")),
        |world| world.see_service(service()),
        |world| world.see_slice(&slice(&["10.0.0.7"])),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut world = world(AddressMode::ClusterIp);
        world.name(id, "p");
        let [first, second, last] = order.map(|index| steps[index](&mut world));
        assert_eq!((first, second), (Vec::new(), Vec::new()));
        assert!(last.iter().any(reachable(id, "10.1.0.1:9446")), "{last:?}");
        // Once is enough.
        assert_eq!(world.see_pod(ready("me")), []);
    }
}

#[test]
fn the_mode_says_what_is_called() {
    let id = id();
    for (mode, expected) in [
        (AddressMode::Dns, "p.fns.svc.cluster.local:9446"),
        (AddressMode::ClusterIp, "10.1.0.1:9446"),
        (AddressMode::PodIp, "10.0.0.7:9446"),
    ] {
        let mut world = world(mode);
        world.name(id, "p");
        world.see_service(service());
        world.see_slice(&slice(&["10.0.0.7"]));
        let notices = world.see_pod(ready("me"));
        assert!(notices.iter().any(reachable(id, expected)), "{notices:?}");
    }
}

#[test]
fn without_the_right_endpoint_only_the_pod_itself_is_reachable() {
    let id = id();
    let mut through_service = world(AddressMode::Dns);
    through_service.name(id, "p");
    through_service.see_service(service());
    through_service.see_slice(&slice(&["10.0.0.8"]));
    assert_eq!(through_service.see_pod(ready("me")), []);
    let mut direct = world(AddressMode::PodIp);
    direct.name(id, "p");
    assert_eq!(direct.see_pod(ready("me")).len(), 1);
}

/// As after an outage of the API server, when nobody has heard of nodes for a while.
#[test]
fn a_pod_whose_node_is_not_heard_of_is_called_as_long_as_it_answers() {
    let id = id();
    let mut world = world(AddressMode::ClusterIp);
    world.name(id, "p");
    let status = |ready: &str, containers: &str| {
        let conditions = json!([
            {"type": "Ready", "status": ready},
            {"type": "ContainersReady", "status": containers},
        ]);
        let status = json!({"phase": "Running", "podIP": "10.0.0.7", "conditions": conditions});
        pod("me", status)
    };
    let unready = [Notice::Tell(Event::Unready { pod: id })];
    world.see_service(service());
    world.see_slice(&slice(&["10.0.0.7"]));
    // It was never called.
    assert_eq!(world.see_pod(status("False", "True")), []);
    assert_eq!(world.see_pod(status("True", "True")).len(), 1);
    assert_eq!(world.see_pod(status("False", "True")), []);
    assert_eq!(world.see_slice(&slice(&[])), []);
    // This is what the node says itself.
    assert_eq!(world.see_pod(status("False", "False")), unready);
    assert_eq!(world.see_pod(status("False", "True")), []);
    world.see_slice(&slice(&["10.0.0.7"]));
    assert_eq!(world.see_pod(status("True", "True")).len(), 1);
}

#[test]
fn what_becomes_of_a_pod_is_told_once() {
    let id = id();
    let mut world = world(AddressMode::PodIp);
    world.name(id, "p");
    world.see_pod(ready("me"));
    let unready = pod("me", json!({"phase": "Running", "podIP": "10.0.0.7"}));
    assert_eq!(
        world.see_pod(unready.clone()),
        [Notice::Tell(Event::Unready { pod: id })]
    );
    assert_eq!(world.see_pod(unready), []);
    let failed = pod("me", json!({"phase": "Failed", "reason": "Evicted"}));
    let notices = world.see_pod(failed);
    assert!(
        matches!(notices.as_slice(), [Notice::Tell(Event::Failed { .. })]),
        "{notices:?}"
    );
    assert_eq!(world.lose_pod("p"), [Notice::Tell(Event::Gone { pod: id })]);
    assert_eq!(world.lose_pod("p"), []);
}

#[test]
fn a_pod_that_was_never_seen_is_not_gone() {
    let id = id();
    let mut world = world(AddressMode::PodIp);
    world.name(id, "p");
    assert_eq!(world.see_pods(Vec::new()), []);
    world.see_pod(ready("me"));
    assert_eq!(
        world.see_pods(Vec::new()),
        [Notice::Tell(Event::Gone { pod: id })]
    );
}

#[test]
fn asked_again_it_is_told_again() {
    let id = id();
    let mut world = world(AddressMode::PodIp);
    world.name(id, "p");
    assert_eq!(world.look_again(id), []);
    world.see_pod(ready("me"));
    assert_eq!(world.look_again(id).len(), 1);
}

#[test]
fn a_lost_service_is_told_while_its_pod_is_there() {
    let id = id();
    let mut world = world(AddressMode::Dns);
    world.name(id, "p");
    world.see_service(service());
    world.see_slice(&slice(&["10.0.0.7"]));
    world.see_pod(ready("me"));
    let notices = world.lose_service("p");
    assert_eq!(
        notices,
        [
            Notice::Tell(Event::ServiceGone { pod: id }),
            Notice::Tell(Event::Unready { pod: id }),
        ]
    );
    assert_eq!(world.lose_service("p"), []);
}

#[test]
fn a_pod_that_never_had_a_service_is_told_when_it_is_looked_at() {
    let id = id();
    let mut world = world(AddressMode::ClusterIp);
    world.see_pod(ready("me"));
    world.assign(id, "p", Holder::Us);
    let lacks = [Notice::Tell(Event::ServiceGone { pod: id })];
    assert_eq!(world.look_again(id), lacks);
    world.see_service(service());
    assert_eq!(world.look_again(id), []);
}

#[test]
fn pods_without_a_number_are_strangers() {
    let mut world = world(AddressMode::PodIp);
    assert_eq!(
        world.see_pod(ready("other")),
        [Notice::Stranger("p".to_owned())]
    );
    assert_eq!(world.strangers(), ["p"]);
    assert_eq!(world.replicas(), HashSet::from(["other"]));
    let id = id();
    world.assign(id, "p", Holder::Nobody("other".to_owned()));
    assert_eq!(world.orphans(), [id]);
    assert!(world.strangers().is_empty());
    assert!(world.see_pod(ready("third")).contains(&Notice::Moved(id)));
    world.forget(id);
    assert_eq!(world.strangers(), ["p"]);
}

#[test]
fn a_pod_of_ours_that_names_another_has_moved() {
    let id = id();
    let mut world = world(AddressMode::PodIp);
    world.name(id, "p");
    assert!(!world.see_pod(ready("me")).contains(&Notice::Moved(id)));
    assert!(world.see_pod(ready("other")).contains(&Notice::Moved(id)));
}

#[test]
fn nothing_is_kept_of_what_is_gone() {
    let id = id();
    let mut world = world(AddressMode::Dns);
    world.name(id, "p");
    world.see_pod(ready("me"));
    world.see_service(service());
    world.see_slice(&slice(&["10.0.0.7"]));
    world.lose_pod("p");
    world.forget(id);
    world.lose_service("p");
    world.lose_slice(&slice(&[]));
    assert!(world.entries.is_empty() && world.names.is_empty());
}
