//! Three replicas, one of which is partitioned from the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::events::{Event, Events, NoEvent};
use super::images;
use super::load::Load;
use super::machine::Machine;
use super::proxy::Proxy;
use super::replicas::{owner, owners};
use super::runner::Runner;
use super::space::Space;

/// The TTL of an idle pod. It expires more than once during the partition.
const TTL: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_partitioned_from_two_others_continues_and_comes_back() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "cut");
    let image = images::function(&machine, "cut");
    let proxy = Proxy::to(&machine.api_server()).await;
    let ttl = format!("--pod-ttl={}s", TTL.as_secs());
    let flags = [ttl.as_str(), "--scan-interval=1s"];
    let cut_off = Runner::start(space.runner_command_at(&proxy.server(), &flags)).await;
    let alone = Load::start(&cut_off.caller, &image, 1);
    alone.answers(1).await;
    let cut_off_name = owners(&space.until_ready(1)).into_values().next();
    let cut_off_name = cut_off_name.expect("an owner");
    let others = [space.start(&flags).await, space.start(&flags).await];
    let loads = others
        .each_ref()
        .map(|other| Load::start(&other.caller, &image, 1));
    let before = owners(&space.until_ready(3));
    let witness = CallLog::of_endpoints(&space);

    proxy.cut();
    space.until("pods", "no orphan", |pods| {
        pods.values().all(|pod| owner(pod) != cut_off_name)
    });
    let until = Instant::now() + TTL * 3;
    while Instant::now() < until {
        alone.answers(5).await;
        for load in &loads {
            load.answers(5).await;
        }
    }
    // The new owner keeps the pod while its old owner calls it, and no replica has touched pods that are not orphans.
    let after = owners(&space.objects("pods"));
    assert_eq!(after.len(), 3, "{after:?}");
    for (uid, owner) in &before {
        let is_orphan = *owner == cut_off_name;
        let now = after.get(uid).expect("every pod is still there");
        assert_eq!(now != owner, is_orphan, "{uid}: {owner} and now {now}");
    }

    proxy.restore();
    space.until("leases", "three leases", |leases| leases.len() == 3);
    // It has its own pod again, and the retained one is deleted.
    space.until("pods", "a pod of each", |pods| {
        let owners: BTreeSet<String> = pods.values().map(owner).collect();
        pods.len() == 3 && owners.len() == 3
    });
    alone.answers(20).await;
    alone.stop_without_failures().await;
    for load in loads {
        load.answers(20).await;
        load.stop_without_failures().await;
    }
    assert_eq!(witness.complaints(), Vec::<String>::new());
}

/// Records all changes of endpoints.
struct CallLog {
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<Vec<String>>,
}

impl CallLog {
    /// Records each service with more than one pod.
    fn of_endpoints(space: &Space) -> CallLog {
        let (machine, namespace) = (space.machine.clone(), space.pods.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_over);
        let watching = std::thread::spawn(move || {
            let mut slices: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
            let mut complaints = Vec::new();
            let mut events = Events::of(&machine, &namespace, "endpointslices");
            while !stop.load(Ordering::Relaxed) {
                match events.next(Duration::from_millis(100)) {
                    Ok(Event::Is(slice)) => {
                        let service = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
                        let addresses = slice["endpoints"].as_array().into_iter().flatten();
                        let addresses = addresses.map(|endpoint| endpoint["addresses"].to_string());
                        let known = (service.to_string(), addresses.collect());
                        slices.insert(slice["metadata"]["name"].to_string(), known);
                    }
                    Ok(Event::IsGone(slice)) => {
                        slices.remove(&slice["metadata"]["name"].to_string());
                    }
                    Err(NoEvent::Yet) => continue,
                    Err(NoEvent::Ever) => {
                        events = Events::of(&machine, &namespace, "endpointslices");
                    }
                }
                let mut services: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
                for (service, addresses) in slices.values() {
                    services.entry(service).or_default().extend(addresses);
                }
                let crowded = services.iter().filter(|(_, of)| of.len() > 1);
                complaints.extend(crowded.map(|(service, of)| format!("{service}: {of:?}")));
            }
            complaints
        });
        CallLog { is_over, watching }
    }

    fn complaints(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.watching.join().expect("a witness")
    }
}
