//! The small functions that the tests of kpt are made with.

use crate::function::{Context, Ending, Function, FunctionList};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::Sdk;

pub(crate) static NO_OP: FunctionInfo = FunctionInfo {
    name: "no-op",
    former_names: &[],
    summary: "Returns what it gets",
    doc: "Returns all resources as they are. It takes no configuration.\n",
    behaviours: &[Behaviour {
        tags: &["unstable", "latest"],
        sdk: Sdk::Go,
        function: &NoOp,
    }],
};

pub(crate) static FOO: FunctionInfo = FunctionInfo {
    name: "foo",
    former_names: &[],
    summary: "Returns what it gets, says foo and fails",
    doc: "Returns all resources as they are, prints `foo` and exits with 1. It takes no configuration.\n",
    behaviours: &[Behaviour {
        tags: &["v0.1.0", "unstable", "latest"],
        sdk: Sdk::Plain,
        function: &Says("foo"),
    }],
};

pub(crate) static BAR: FunctionInfo = FunctionInfo {
    name: "bar",
    former_names: &[],
    summary: "Returns what it gets, says bar and fails",
    doc: "Returns all resources as they are, prints `bar` and exits with 1. It takes no configuration.\n",
    behaviours: &[Behaviour {
        tags: &["v0.1.0", "unstable", "latest"],
        sdk: Sdk::Plain,
        function: &Says("bar"),
    }],
};

pub(crate) static PRINTENV: FunctionInfo = FunctionInfo {
    name: "printenv",
    former_names: &[],
    summary: "Returns what it gets, prints its environment and fails",
    doc: "Returns all resources as they are, prints its environment variables in order and exits with 1. It takes no \
          configuration.\n",
    behaviours: &[Behaviour {
        tags: &["v0.1.0", "unstable", "latest"],
        sdk: Sdk::Plain,
        function: &PrintEnvironment,
    }],
};

struct NoOp;

impl Function for NoOp {
    fn run(&self, _: &mut FunctionList, _: &Context<'_>) -> Ending {
        Ending::Success
    }
}

struct Says(&'static str);

impl Function for Says {
    fn run(&self, _: &mut FunctionList, _: &Context<'_>) -> Ending {
        Ending::Error(format!("{}\n", self.0))
    }
}

struct PrintEnvironment;

impl Function for PrintEnvironment {
    fn run(&self, _: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let lines = ctx
            .environment
            .iter()
            .map(|variable| format!("{variable}\n"));
        Ending::Error(lines.collect())
    }
}
