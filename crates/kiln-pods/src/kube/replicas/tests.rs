//! Replicas are alive by the local clock.

use serde_json::json;

use super::*;

const PERIOD: Duration = Duration::from_secs(15);

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn lease(replica: &str, renewed: &str) -> LeaseView {
    serde_json::from_value(json!({
        "metadata": {"name": format!("lease-{replica}"), "uid": "u", "resourceVersion": renewed,
            "labels": {REPLICA_LABEL: replica}},
        "spec": {"holderIdentity": replica, "leaseDurationSeconds": 15, "renewTime": renewed},
    }))
    .unwrap()
}

#[test]
fn a_replica_is_alive_while_its_lease_changes() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    replicas.update(&lease("a", "1"), at(100));
    assert!(replicas.is_alive("a", at(115)));
    assert!(!replicas.is_alive("a", at(116)));
    // An update without a change is not a renewal.
    replicas.update(&lease("a", "1"), at(114));
    assert!(!replicas.is_alive("a", at(116)));
    replicas.update(&lease("a", "2"), at(117));
    assert!(replicas.is_alive("a", at(130)));
}

#[test]
fn a_replica_without_a_lease_has_one_period() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    assert!(replicas.is_alive("a", at(100)));
    assert!(replicas.is_alive("a", at(115)));
    assert!(!replicas.is_alive("a", at(116)));
    replicas.update(&lease("a", "1"), at(117));
    assert!(replicas.is_alive("a", at(120)));
    replicas.forget(&lease("a", "1"));
    assert!(replicas.is_alive("a", at(121)));
    assert!(!replicas.is_alive("a", at(137)));
}

#[test]
fn a_replica_with_a_released_lease_is_not_alive() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    let mut given_back = lease("a", "1");
    given_back.spec.holder_identity = Some(String::new());
    replicas.update(&given_back, at(100));
    assert!(!replicas.is_alive("a", at(100)));
}

#[test]
fn restart_periods_keeps_all_replicas_alive() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    replicas.update(&lease("a", "1"), at(100));
    assert!(replicas.is_alive("b", at(100)));
    replicas.restart_periods(at(200));
    assert!(replicas.is_alive("a", at(210)));
    assert!(replicas.is_alive("b", at(210)));
    assert!(!replicas.is_alive("a", at(216)));
}

#[test]
fn expired_leases_are_deleted_when_nothing_refers_to_them() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    replicas.replace(&[lease("a", "1"), lease("b", "1")], at(0));
    assert_eq!(replicas.expired(&HashSet::new(), at(20)), []);
    let expired = replicas.expired(&HashSet::from(["a"]), at(40));
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0].name, "lease-b");
    replicas.replace(&[lease("a", "1")], at(41));
    assert_eq!(replicas.expired(&HashSet::new(), at(41)).len(), 1);
}

#[test]
fn live_replicas_take_turns_in_another_order_for_each_pod() {
    let mut replicas = ReplicaLeases::new(PERIOD);
    for replica in ["a", "b", "c"] {
        replicas.update(&lease(replica, "1"), at(100));
    }
    replicas.update(&lease("dead", "1"), at(50));
    let mut first = [0; 3];
    for pod in 0..300 {
        let name = format!("pod-{pod}");
        let turn = |own| replicas.adoption_turn(own, &name, at(101));
        let turns = ["a", "b", "c"].map(turn);
        assert!(turns.iter().all(|turn| turn.replicas == 3));
        let mut places = turns.map(|turn| turn.before);
        first[places.iter().position(|place| *place == 0).unwrap()] += 1;
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2]);
    }
    assert!(first.iter().all(|count| *count > 50), "{first:?}");
}
