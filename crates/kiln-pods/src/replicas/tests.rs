//! Who lives, by the clock of whoever looks.

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
fn a_replica_lives_while_its_lease_changes() {
    let mut replicas = Replicas::new(PERIOD);
    replicas.see(&lease("a", "1"), at(100));
    assert!(replicas.lives("a", at(115)));
    assert!(!replicas.lives("a", at(116)));
    // Being told the same again is no sign of life.
    replicas.see(&lease("a", "1"), at(114));
    assert!(!replicas.lives("a", at(116)));
    replicas.see(&lease("a", "2"), at(117));
    assert!(replicas.lives("a", at(130)));
}

#[test]
fn one_without_a_lease_has_a_period_to_show_itself() {
    let mut replicas = Replicas::new(PERIOD);
    assert!(replicas.lives("a", at(100)));
    assert!(replicas.lives("a", at(115)));
    assert!(!replicas.lives("a", at(116)));
    replicas.see(&lease("a", "1"), at(117));
    assert!(replicas.lives("a", at(120)));
    replicas.forget(&lease("a", "1"));
    assert!(replicas.lives("a", at(121)));
    assert!(!replicas.lives("a", at(137)));
}

#[test]
fn a_lease_that_was_given_back_is_nobodys() {
    let mut replicas = Replicas::new(PERIOD);
    let mut given_back = lease("a", "1");
    given_back.spec.holder_identity = Some(String::new());
    replicas.see(&given_back, at(100));
    assert!(!replicas.lives("a", at(100)));
}

#[test]
fn the_blind_pardon_everybody() {
    let mut replicas = Replicas::new(PERIOD);
    replicas.see(&lease("a", "1"), at(100));
    assert!(replicas.lives("b", at(100)));
    replicas.pardon(at(200));
    assert!(replicas.lives("a", at(210)));
    assert!(replicas.lives("b", at(210)));
    assert!(!replicas.lives("a", at(216)));
}

#[test]
fn leases_of_the_dead_go_when_nothing_names_them() {
    let mut replicas = Replicas::new(PERIOD);
    replicas.see_all(&[lease("a", "1"), lease("b", "1")], at(0));
    assert_eq!(replicas.dead(&HashSet::new(), at(20)), []);
    let dead = replicas.dead(&HashSet::from(["a"]), at(40));
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].name, "lease-b");
    replicas.see_all(&[lease("a", "1")], at(41));
    assert_eq!(replicas.dead(&HashSet::new(), at(41)).len(), 1);
}
