//! The functions that kpt's own test suite calls. They can be run, but are neither listed nor documented.

use crate::function::{Context, Ending, Function, FunctionList};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

pub(crate) const ALL: &[&FunctionInfo] = &[&BAR, &FOO, &NO_OP, &PRINTENV];

static NO_OP: FunctionInfo = FunctionInfo {
    name: "no-op",
    former_names: &[],
    summary: "Returns its input",
    doc: "Returns all resources as they are. It takes no configuration.\n",
    versions: &[FunctionVersion::new(
        &["unstable", "latest"],
        Sdk::Go,
        &NoOp,
    )],
};

static FOO: FunctionInfo = FunctionInfo {
    name: "foo",
    former_names: &[],
    summary: "Returns its input, prints foo and fails",
    doc: "Returns all resources as they are, prints `foo` and exits with 1. It takes no configuration.\n",
    versions: &[FunctionVersion::new(
        &["v0.1.0", "unstable", "latest"],
        Sdk::Plain,
        &PrintAndFail("foo"),
    )],
};

static BAR: FunctionInfo = FunctionInfo {
    name: "bar",
    former_names: &[],
    summary: "Returns its input, prints bar and fails",
    doc: "Returns all resources as they are, prints `bar` and exits with 1. It takes no configuration.\n",
    versions: &[FunctionVersion::new(
        &["v0.1.0", "unstable", "latest"],
        Sdk::Plain,
        &PrintAndFail("bar"),
    )],
};

static PRINTENV: FunctionInfo = FunctionInfo {
    name: "printenv",
    former_names: &[],
    summary: "Returns its input, prints its environment and fails",
    doc: "Returns all resources as they are, prints its environment variables in order and exits with 1. It takes no \
          configuration.\n",
    versions: &[FunctionVersion::new(
        &["v0.1.0", "unstable", "latest"],
        Sdk::Plain,
        &PrintEnvironment,
    )],
};

struct NoOp;

impl Function for NoOp {
    fn run(&self, _: &mut FunctionList, _: &Context<'_>) -> Ending {
        Ending::Success
    }
}

struct PrintAndFail(&'static str);

impl Function for PrintAndFail {
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
