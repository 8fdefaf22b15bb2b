//! The machine by example, and in a world that does to it what Kubernetes may do.

mod examples;
mod judge;
mod properties;
mod told;
mod world;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::{Fault, Lasts, Plan, Settings, Version};

const SCAN_INTERVAL: Duration = Duration::from_secs(10);
const ORPHAN_GRACE: Duration = Duration::from_secs(30);
const START_TIMEOUT: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(100);

fn plan(max_waitlist: usize, max_pods: usize, template: &str) -> Arc<Plan> {
    let at_least_one = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
    Arc::new(Plan {
        settings: Settings {
            ttl: TTL,
            max_waitlist: at_least_one(max_waitlist),
            max_pods: at_least_one(max_pods),
            start_timeout: START_TIMEOUT,
        },
        version: version(template),
    })
}

fn version(template: &str) -> Version {
    Version {
        template: template.into(),
        digest: Some("sha256:1".into()),
    }
}

fn fault(lasts: Lasts) -> Fault {
    Fault {
        reason: "ImagePullBackOff".into(),
        message: "back-off pulling image".into(),
        lasts,
    }
}
