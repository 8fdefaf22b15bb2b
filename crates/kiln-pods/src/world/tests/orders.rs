//! Watches of different kinds tell in any order: what is concluded in the end does not depend on it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const IP: &str = "10.0.0.7";

/// How a pod may be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pod {
    Starting,
    Ready,
    /// Its node has not been heard of.
    UnheardOf,
    /// Somebody else says that it is not ready yet.
    Held,
    Unready,
}

/// Something that a watch sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sight {
    Pod(Pod),
    Service(bool),
    Endpoint(bool),
}

impl Pod {
    const ALL: [Pod; 5] = [
        Pod::Starting,
        Pod::Ready,
        Pod::UnheardOf,
        Pod::Held,
        Pod::Unready,
    ];

    fn view(self) -> PodView {
        let (ready, reason, containers) = match self {
            Pod::Starting => return pod("me", json!({"phase": "Pending"})),
            Pod::Ready => ("True", "", "True"),
            Pod::UnheardOf => ("False", "", "True"),
            Pod::Held => ("False", "ReadinessGatesNotReady", "True"),
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

/// Shows everything to a world, and gives back what it told, in order.
fn show(mode: AddressMode, sights: &[Sight]) -> (World, Vec<Notice>) {
    let mut world = world(mode);
    world.name(id(), "p");
    let mut told = Vec::new();
    for sight in sights {
        told.extend(match sight {
            Sight::Pod(pod) => world.see_pod(pod.view()),
            Sight::Service(true) => world.see_service(service()),
            Sight::Service(false) => world.lose_service("p"),
            Sight::Endpoint(true) => world.see_slice(&slice(&[IP])),
            Sight::Endpoint(false) => world.see_slice(&slice(&[])),
        });
    }
    (world, told)
}

/// All orders of some lists in which each list keeps its own.
fn interleaved(lists: &[&[Sight]]) -> Vec<Vec<Sight>> {
    let mut orders = vec![(Vec::new(), lists.to_vec())];
    let total: usize = lists.iter().map(|list| list.len()).sum();
    for _ in 0..total {
        let longer = orders.into_iter().flat_map(|(seen, rest)| {
            let next = (0..rest.len()).filter(|index| !rest[*index].is_empty());
            let next: Vec<_> = next
                .map(|index| {
                    let (mut seen, mut rest): (Vec<Sight>, _) = (seen.clone(), rest.clone());
                    seen.push(rest[index][0]);
                    rest[index] = &rest[index][1..];
                    (seen, rest)
                })
                .collect();
            next
        });
        orders = longer.collect();
    }
    orders.into_iter().map(|(seen, _)| seen).collect()
}

fn is_reachable(world: &World) -> bool {
    matches!(world.entries["p"].told, Condition::Reachable(_))
}

fn is_unready(notice: &Notice) -> bool {
    matches!(notice, Notice::Tell(Event::Unready { .. }))
}

/// The endpoint goes because the pod is called unready, and may be seen to go before.
#[test]
fn a_pod_of_a_node_that_is_not_heard_of_is_kept_in_whatever_order_that_is_seen() {
    let pods = [Pod::Starting, Pod::Ready, Pod::UnheardOf].map(Sight::Pod);
    let services = [Sight::Service(true)];
    let slices = [Sight::Endpoint(true), Sight::Endpoint(false)];
    let mut kept = 0;
    for order in interleaved(&[&pods, &services, &slices]) {
        let (world, told) = show(AddressMode::ClusterIp, &order);
        assert!(!told.iter().any(is_unready), "{order:?}: {told:?}");
        // If it was never called, nobody knows that it can be.
        assert_eq!(is_reachable(&world), !told.is_empty(), "{order:?}");
        kept += usize::from(is_reachable(&world));
    }
    assert!(kept > 20, "only {kept} were ever called");
}

#[test]
fn a_pod_that_comes_back_is_called_in_whatever_order_that_is_seen() {
    let pods = [Pod::Ready, Pod::Unready, Pod::Ready].map(Sight::Pod);
    let services = [true, false, true].map(Sight::Service);
    let slices = [true, false, true].map(Sight::Endpoint);
    for order in interleaved(&[&pods, &services, &slices]) {
        let (world, told) = show(AddressMode::ClusterIp, &order);
        assert!(is_reachable(&world), "{order:?}: {told:?}");
    }
}

fn sights<T: Clone + std::fmt::Debug + 'static>(
    choices: &[T],
    sight: fn(T) -> Sight,
) -> impl Strategy<Value = Vec<Sight>> + use<T> {
    let choice = prop::sample::select(choices.to_vec());
    vec(choice.prop_map(sight), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_last_that_is_seen_of_each_kind_decides(
        pods in sights(&Pod::ALL, Sight::Pod),
        services in sights(&[true, false], Sight::Service),
        slices in sights(&[true, false], Sight::Endpoint),
        through_service: bool,
    ) {
        let mode = if through_service { AddressMode::Dns } else { AddressMode::PodIp };
        let has_way = !through_service || services.last() == Some(&Sight::Service(true));
        let has_endpoint = !through_service || slices.last() == Some(&Sight::Endpoint(true));
        // What only a pod may still be that was called before is left open.
        let expected = match pods.last() {
            _ if !has_way => Some(false),
            Some(Sight::Pod(Pod::Ready)) if has_endpoint => Some(true),
            Some(Sight::Pod(Pod::Ready | Pod::UnheardOf)) => None,
            _ => Some(false),
        };
        for order in interleaved(&[&pods, &services, &slices]) {
            let (world, told) = show(mode, &order);
            if let Some(expected) = expected {
                prop_assert_eq!(is_reachable(&world), expected, "{:?}", order);
            }
            // Each is told after the other, never twice.
            let mut is_up = false;
            for notice in &told {
                match notice {
                    Notice::Reachable(..) => is_up = true,
                    notice if is_unready(notice) => {
                        prop_assert!(is_up, "{:?}: {:?}", order, told);
                        is_up = false;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(is_up, is_reachable(&world), "{:?}: {:?}", order, told);
        }
    }
}
