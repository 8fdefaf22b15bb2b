//! Replaces pods in builds without the feature `pods`, such as `kiln serve`: no Kubernetes client is linked.

use anyhow::{Result, bail};

use crate::config::RunnerConfig;
use crate::environment::Environment;
use crate::started_pods::StartedPods;

pub(crate) async fn start(_: &RunnerConfig, _: &Environment) -> Result<StartedPods> {
    bail!(
        "this program has no pod evaluator (function-runner has one); disable it with --disable-runtimes=pod"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Flavour, RunnerFlags};

    #[tokio::test]
    async fn a_program_without_pods_names_the_flag_that_turns_them_off() {
        let environment = Environment::default();
        let config = RunnerFlags::new(Flavour::Serve).parse(Vec::new(), &environment);
        let started = start(&config.unwrap(), &environment).await;
        assert_eq!(
            started.err().unwrap().to_string(),
            "this program has no pod evaluator (function-runner has one); disable it with --disable-runtimes=pod"
        );
    }
}
