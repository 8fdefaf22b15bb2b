//! Watches of different kinds report in any order: the final state does not depend on it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const IP: &str = "10.0.0.7";

/// The status of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pod {
    Starting,
    Ready,
    /// Its node has not reported.
    NodeSilent,
    /// A readiness gate is not fulfilled.
    Gated,
    Unready,
}

/// An update of a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Update {
    Pod(Pod),
    Service(bool),
    Endpoint(bool),
}

impl Pod {
    const ALL: [Pod; 5] = [
        Pod::Starting,
        Pod::Ready,
        Pod::NodeSilent,
        Pod::Gated,
        Pod::Unready,
    ];

    fn view(self) -> PodView {
        let (ready, reason, containers) = match self {
            Pod::Starting => return pod("me", json!({"phase": "Pending"})),
            Pod::Ready => ("True", "", "True"),
            Pod::NodeSilent => ("False", "", "True"),
            Pod::Gated => ("False", "ReadinessGatesNotReady", "True"),
            Pod::Unready => ("False", "ContainersNotReady", "False"),
        };
        let conditions = json!([
            {"type": "Ready", "status": ready, "reason": reason},
            {"type": "ContainersReady", "status": containers},
        ]);
        pod(
            "me",
            json!({"phase": "Running", "podIP": IP, "conditions": conditions}),
        )
    }
}

/// Applies updates to a view, and returns what it reports.
fn apply(mode: AddressMode, updates: &[Update]) -> (ClusterView, Vec<Notice>) {
    let mut view = view(mode);
    view.assign_own(id(), "p");
    let mut reported = Vec::new();
    for update in updates {
        reported.extend(match update {
            Update::Pod(pod) => view.update_pod(pod.view()),
            Update::Service(true) => view.update_service(service()),
            Update::Service(false) => view.remove_service("p"),
            Update::Endpoint(true) => view.update_slice(&slice(&[IP])),
            Update::Endpoint(false) => view.update_slice(&slice(&[])),
        });
    }
    (view, reported)
}

/// All interleavings of some lists.
fn interleaved(lists: &[&[Update]]) -> Vec<Vec<Update>> {
    let mut orders = vec![(Vec::new(), lists.to_vec())];
    let total: usize = lists.iter().map(|list| list.len()).sum();
    for _ in 0..total {
        let longer = orders.into_iter().flat_map(|(order, rest)| {
            let next = (0..rest.len()).filter(|index| !rest[*index].is_empty());
            let next: Vec<_> = next
                .map(|index| {
                    let (mut order, mut rest): (Vec<Update>, _) = (order.clone(), rest.clone());
                    order.push(rest[index][0]);
                    rest[index] = &rest[index][1..];
                    (order, rest)
                })
                .collect();
            next
        });
        orders = longer.collect();
    }
    orders.into_iter().map(|(order, _)| order).collect()
}

fn is_reachable(view: &ClusterView) -> bool {
    matches!(view.entries["p"].reported, PodState::Reachable(_))
}

fn is_unready(notice: &Notice) -> bool {
    matches!(notice, Notice::Event(PoolEvent::Unready { .. }))
}

/// The endpoint is removed because the pod is unready, and may be removed first.
#[test]
fn a_pod_whose_node_does_not_report_stays_reachable_in_any_order() {
    let pods = [Pod::Starting, Pod::Ready, Pod::NodeSilent].map(Update::Pod);
    let services = [Update::Service(true)];
    let slices = [Update::Endpoint(true), Update::Endpoint(false)];
    let mut kept = 0;
    for order in interleaved(&[&pods, &services, &slices]) {
        let (view, reported) = apply(AddressMode::ClusterIp, &order);
        assert!(!reported.iter().any(is_unready), "{order:?}: {reported:?}");
        // If it was never reachable, it is not reported.
        assert_eq!(is_reachable(&view), !reported.is_empty(), "{order:?}");
        kept += usize::from(is_reachable(&view));
    }
    assert!(kept > 20, "only {kept} were ever called");
}

#[test]
fn a_pod_that_becomes_ready_again_is_reachable_in_any_order() {
    let pods = [Pod::Ready, Pod::Unready, Pod::Ready].map(Update::Pod);
    let services = [true, false, true].map(Update::Service);
    let slices = [true, false, true].map(Update::Endpoint);
    for order in interleaved(&[&pods, &services, &slices]) {
        let (view, reported) = apply(AddressMode::ClusterIp, &order);
        assert!(is_reachable(&view), "{order:?}: {reported:?}");
    }
}

fn updates<T: Clone + std::fmt::Debug + 'static>(
    choices: &[T],
    update: fn(T) -> Update,
) -> impl Strategy<Value = Vec<Update>> + use<T> {
    let choice = prop::sample::select(choices.to_vec());
    vec(choice.prop_map(update), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_last_update_of_each_kind_decides(
        pods in updates(&Pod::ALL, Update::Pod),
        services in updates(&[true, false], Update::Service),
        slices in updates(&[true, false], Update::Endpoint),
        through_service: bool,
    ) {
        let mode = if through_service { AddressMode::Dns } else { AddressMode::PodIp };
        let has_address = !through_service || services.last() == Some(&Update::Service(true));
        let has_endpoint = !through_service || slices.last() == Some(&Update::Endpoint(true));
        // The state of a pod that may have been reachable before is left open.
        let expected = match pods.last() {
            _ if !has_address => Some(false),
            Some(Update::Pod(Pod::Ready)) if has_endpoint => Some(true),
            Some(Update::Pod(Pod::Ready | Pod::NodeSilent)) => None,
            _ => Some(false),
        };
        for order in interleaved(&[&pods, &services, &slices]) {
            let (view, reported) = apply(mode, &order);
            if let Some(expected) = expected {
                prop_assert_eq!(is_reachable(&view), expected, "{:?}", order);
            }
            // Reachable and unready are reported alternately.
            let mut is_up = false;
            for notice in &reported {
                match notice {
                    Notice::Reachable(..) => is_up = true,
                    notice if is_unready(notice) => {
                        prop_assert!(is_up, "{:?}: {:?}", order, reported);
                        is_up = false;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(is_up, is_reachable(&view), "{:?}: {:?}", order, reported);
        }
    }
}
