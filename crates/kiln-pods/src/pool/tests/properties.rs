//! Properties: the rules hold for random schedules.

use proptest::collection::vec;
use proptest::prelude::*;

use super::simulation::{Simulation, Step};

fn schedules(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn step() -> impl Strategy<Value = Step> {
    any::<(u8, u8, u8)>().prop_map(|(what, first, second)| Step(what, first, second))
}

fn run(dice: u8, steps: Vec<Step>) {
    let mut simulation = Simulation::new(dice);
    for step in steps {
        simulation.step(step);
    }
    simulation.settle_and_check();
}

proptest! {
    #![proptest_config(schedules(75_000))]

    #[test]
    fn rules_hold_in_short_schedules(dice: u8, steps in vec(step(), 0..40)) {
        run(dice, steps);
    }
}

proptest! {
    #![proptest_config(schedules(25_000))]

    #[test]
    fn rules_hold_in_long_schedules(dice: u8, steps in vec(step(), 40..160)) {
        run(dice, steps);
    }
}
