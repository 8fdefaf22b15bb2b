//! What happens during a render, for whoever wants to tell the user. Nothing is printed here.

use std::time::Duration;

use kiln_krm::results::FunctionResult;

/// Gets to know what happens, in order.
pub trait Log {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// Something that happens during a render.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A package's turn has come.
    Package {
        /// The names of the packages from the root down.
        name: &'a str,
    },
    /// All functions of a package have run.
    PackageDone,
    /// A function starts.
    Running {
        /// The image or command line.
        function: &'a str,
        /// The number of resources it gets, if it does not get all.
        resources: Option<usize>,
        /// The package, if there is one.
        package: Option<&'a str>,
    },
    /// A function has succeeded.
    Passed {
        /// The image or command line.
        function: &'a str,
        /// How long it took, with all that is done around it.
        elapsed: Duration,
        /// What it reported.
        result: &'a FunctionResult,
    },
    /// A function has failed, or what it answered was no good.
    Failed {
        /// The image or command line.
        function: &'a str,
        /// How long it took, with all that is done around it.
        elapsed: Duration,
        /// What it reported.
        result: &'a FunctionResult,
        /// Whether the function itself said so, by its exit code.
        by_exit_code: bool,
    },
    /// Something the user should know.
    Warning(&'a str),
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Log for Silent {
    fn event(&self, _: &Event<'_>) {}
}
