//! Tests of the state machine: examples, and random schedules in a simulated cluster.

mod examples;
mod model;
mod properties;
mod rule_checker;
mod simulation;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::{FaultScope, PodFault, PodVersion, PoolSettings, PoolSpec};

const SCAN_INTERVAL: Duration = Duration::from_secs(10);
const ORPHAN_GRACE: Duration = Duration::from_secs(30);
const START_TIMEOUT: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(100);

fn spec(max_waitlist: usize, max_pods: usize, template: &str) -> Arc<PoolSpec> {
    let at_least_one = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
    Arc::new(PoolSpec {
        settings: PoolSettings {
            ttl: TTL,
            max_waitlist: at_least_one(max_waitlist),
            max_pods: at_least_one(max_pods),
            start_timeout: START_TIMEOUT,
        },
        version: version(template),
    })
}

fn version(template: &str) -> PodVersion {
    PodVersion {
        template: template.into(),
        digest: Some("sha256:1".into()),
    }
}

fn fault(scope: FaultScope) -> PodFault {
    PodFault {
        reason: "ImagePullBackOff".into(),
        message: "back-off pulling image".into(),
        scope,
    }
}
