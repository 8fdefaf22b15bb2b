//! Small clusters: the rules that hold at every size.

use super::*;

fn options() -> ScaleOptions {
    ScaleOptions {
        seed: 1,
        images: 20,
        replicas: 8,
        callers: 40,
        images_per_caller: 6,
        max_pods: NonZeroUsize::new(4).unwrap(),
        calls: 60_000,
        dying: 2,
        cut_off: 2,
    }
}

#[test]
fn no_call_with_a_living_pod_is_lost_and_every_orphan_gets_an_owner() {
    let report = simulate(&options()).report;
    assert!(report.calls >= 50_000, "{report:#?}");
    assert_eq!(report.lost, 0, "{report:#?}");
    assert!(report.repeated > 0 && report.orphans > 0, "{report:#?}");
    assert_eq!(report.never_adopted, 0, "{report:#?}");
    // The lease expires, is noticed within a third of its period, and every replica has had its turn within its half.
    let bound = replica::LEASE_PERIOD * 2;
    assert!(report.longest_adoption <= bound, "{report:#?}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let options = ScaleOptions {
        calls: 20_000,
        ..options()
    };
    assert_eq!(simulate(&options).report, simulate(&options).report);
    let other = ScaleOptions {
        seed: 2,
        ..options.clone()
    };
    assert_ne!(simulate(&options).report, simulate(&other).report);
}

/// Every replica learns of every orphan; without turns, every replica would try to adopt each of them.
#[test]
fn few_adoptions_fail() {
    let report = simulate(&options()).report;
    let tried = report.requests.get(&ApiRequest::AdoptPod).copied();
    let done = report.requests.get(&ApiRequest::AdoptService).copied();
    let (tried, done) = (tried.unwrap_or_default(), done.unwrap_or_default());
    assert!(
        done > 0 && tried <= 2 * done,
        "{tried} for {done}: {report:#?}"
    );
}
