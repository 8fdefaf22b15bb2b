//! Half an hour in a few minutes: pods live for seconds, and some are killed.

use std::time::{Duration, Instant};

use tonic::Code;

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::space::Space;

/// Default duration; `KILN_SOAK_SECONDS` overrides it.
const SECONDS: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_answered_and_nothing_is_left() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "soak");
    let seconds = std::env::var("KILN_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().expect("seconds"));
    let flags = [
        "--pod-ttl=4s",
        "--scan-interval=1s",
        "--max-parallel-pods-per-function=2",
        "--max-waitlist-length=1",
    ];
    let runners = [space.start(&flags).await, space.start(&flags).await];
    let busy = images::function(&machine, "soak-busy");
    let now_and_then = images::function(&machine, "soak-seldom");
    let loads = runners
        .each_ref()
        .map(|runner| Load::start(&runner.caller, &busy, 2));

    let until = Instant::now() + Duration::from_secs(seconds);
    let mut killed = 0;
    let mut turn = 0;
    while Instant::now() < until {
        turn += 1;
        // Seldom enough that its pod sometimes expires in between.
        if turn % 7 == 0 {
            let answer = runners[turn % 2].caller.call(&now_and_then, &[]).await;
            let killed = answer
                .as_ref()
                .is_err_and(|status| status.code() == Code::Unavailable);
            assert!(killed || answer.is_ok(), "{answer:?}");
        }
        if turn % 3 == 0 {
            let pods = space.objects("pods");
            if let Some(name) = pods.keys().nth(turn % pods.len().max(1)) {
                let name = name.clone();
                // It may be gone by now.
                machine.try_kubectl(&[
                    "-n",
                    &space.pods,
                    "delete",
                    "pod",
                    &name,
                    "--wait=false",
                    "--grace-period=0",
                    "--force",
                ]);
                killed += 1;
            }
        }
        // Not a wait: the interval of the disruptions.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // Only calls that ran in a pod when it was killed may have failed, of which each runner's two callers had two at most.
    for load in loads {
        let failures = load.stop().await;
        assert!(
            failures.len() <= killed * 2,
            "{killed} kills, {failures:#?}"
        );
        let other = failures
            .iter()
            .find(|status| status.code() != Code::Unavailable);
        assert!(other.is_none(), "{other:?}");
    }
    space.until("pods", "without pods", |pods| pods.is_empty());
    space.until("services", "without services", |services| {
        services.is_empty()
    });
    for runner in runners {
        runner.terminate();
    }
    space.until_empty();
}
