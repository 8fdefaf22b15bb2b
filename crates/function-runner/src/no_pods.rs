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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Flags, Flavour};

    #[tokio::test]
    async fn a_program_without_pods_names_the_flag_that_turns_them_off() {
        let environment = Environment::default();
        let config = Flags::new(Flavour::Serve).parse(Vec::new(), &environment);
        let started = start(&config.unwrap(), &environment).await;
        assert_eq!(
            started.err().unwrap().to_string(),
            "this program has no pod runtime (function-runner has); --disable-runtimes=pod turns it off"
        );
    }
}
