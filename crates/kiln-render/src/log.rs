//! The events of a render, for the caller to print. Nothing is printed here.

use std::time::Duration;

use kiln_krm::results::FunctionResult;

use crate::call_record::CallRecord;

/// Receives events, in order.
pub trait Log {
    /// Receives one event.
    fn event(&self, event: Event);
}

/// Something that happens during a render.
#[derive(Clone, Debug)]
pub enum Event {
    /// The pipeline of a package starts.
    Package {
        /// The names of the packages from the root down.
        name: String,
    },
    /// All functions of a package have run.
    PackageDone,
    Running {
        /// The image or command line.
        function: String,
        /// The number of resources it gets, if it does not get all.
        resources: Option<usize>,
        package: Option<String>,
        /// Which step of the package's pipeline it is, if it belongs to one.
        step: Option<StepNumber>,
        /// Whether to log that it is a WebAssembly module.
        is_module: bool,
    },
    /// A function has succeeded.
    Passed {
        /// The image or command line.
        function: String,
        /// How long the call took, reading and writing included.
        elapsed: Duration,
        result: Box<FunctionResult>,
        /// The directory of the package, relative to the root; empty if there is none.
        directory: String,
        record: Box<CallRecord>,
    },
    /// A function has failed, or its output is invalid.
    Failed {
        /// The image or command line.
        function: String,
        /// How long the call took, reading and writing included.
        elapsed: Duration,
        result: Box<FunctionResult>,
        /// The directory of the package, relative to the root; empty if there is none.
        directory: String,
        record: Box<CallRecord>,
        /// Whether the function itself failed, by its exit code.
        by_exit_code: bool,
    },
    /// Something the user should know.
    Warning(String),
}

/// A function's place in a pipeline, mutators and validators together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepNumber {
    /// Counted from 1.
    pub number: usize,
    pub count: usize,
}

/// Drops all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Log for Silent {
    fn event(&self, _: Event) {}
}
