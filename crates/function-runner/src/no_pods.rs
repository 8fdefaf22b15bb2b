//! Stands in for pods where the program is built without the feature `pods`, as `kiln serve` is: no client of Kubernetes
//! is linked.

use anyhow::{Result, bail};

use crate::config::Config;
use crate::environment::Environment;
use crate::started_pods::StartedPods;

pub(crate) async fn start(_: &Config, _: &Environment) -> Result<StartedPods> {
    bail!(
        "this program has no pod runtime (function-runner has); --disable-runtimes=pod turns it off"
    )
}
