//! The way by which work tells what happens, learns that nobody wants it any more, and waits for its turn.
//!
//! On the direct way everything happens here and now, in the thread of the one who asked for it. Work that is done beside
//! other work has a [`Place`] instead: what it tells is passed on when its turn comes.

use std::time::Duration;

use kiln_krm::results::FunctionResult;
use kiln_runtime::CancelToken;

use crate::log::{Event, Log};
use crate::options::Outside;
use crate::place::Place;

/// Keeps work in order.
pub(crate) trait Turns: Sync {
    /// Passes on what happened, as soon as everything that comes before has happened.
    fn event(&self, place: &Place, event: OwnedEvent);

    /// Waits until everything that comes before has come to a good end.
    fn await_turn(&self, place: &Place) -> Result<(), Overtaken>;
}

/// Something that comes before has failed, so that nobody wants to know any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("something before it has failed")]
pub(crate) struct Overtaken;

/// What a piece of work has to do with the world around it.
pub(crate) enum Lane<'a> {
    Direct {
        log: &'a dyn Log,
        cancel: CancelToken,
    },
    Beside {
        turns: &'a dyn Turns,
        place: &'a Place,
        cancel: CancelToken,
        outside: Outside,
    },
}

impl Lane<'_> {
    /// Tells that the work is not wanted any more.
    pub(crate) fn cancel(&self) -> &CancelToken {
        match self {
            Lane::Direct { cancel, .. } | Lane::Beside { cancel, .. } => cancel,
        }
    }

    /// Waits until a function that does more than to answer may run.
    pub(crate) fn await_outside(&self) -> Result<(), Overtaken> {
        match self {
            Lane::Beside {
                turns,
                place,
                outside: Outside::InOrder,
                ..
            } => turns.await_turn(place),
            Lane::Direct { .. } | Lane::Beside { .. } => Ok(()),
        }
    }
}

impl Log for Lane<'_> {
    fn event(&self, event: &Event<'_>) {
        match self {
            Lane::Direct { log, .. } => log.event(event),
            Lane::Beside { turns, place, .. } => turns.event(place, OwnedEvent::of(event)),
        }
    }
}

/// An event that waits to be told.
#[derive(Debug)]
pub(crate) enum OwnedEvent {
    Package {
        name: String,
    },
    PackageDone,
    Running {
        function: String,
        resources: Option<usize>,
        package: Option<String>,
    },
    Passed {
        function: String,
        elapsed: Duration,
        result: Box<FunctionResult>,
    },
    Failed {
        function: String,
        elapsed: Duration,
        result: Box<FunctionResult>,
        by_exit_code: bool,
    },
    Warning(String),
}

impl OwnedEvent {
    fn of(event: &Event<'_>) -> OwnedEvent {
        match *event {
            Event::Package { name } => OwnedEvent::Package {
                name: name.to_owned(),
            },
            Event::PackageDone => OwnedEvent::PackageDone,
            Event::Running {
                function,
                resources,
                package,
            } => OwnedEvent::Running {
                function: function.to_owned(),
                resources,
                package: package.map(str::to_owned),
            },
            Event::Passed {
                function,
                elapsed,
                result,
            } => OwnedEvent::Passed {
                function: function.to_owned(),
                elapsed,
                result: Box::new(result.clone()),
            },
            Event::Failed {
                function,
                elapsed,
                result,
                by_exit_code,
            } => OwnedEvent::Failed {
                function: function.to_owned(),
                elapsed,
                result: Box::new(result.clone()),
                by_exit_code,
            },
            Event::Warning(text) => OwnedEvent::Warning(text.to_owned()),
        }
    }

    /// The event as it is told.
    pub(crate) fn as_event(&self) -> Event<'_> {
        match self {
            OwnedEvent::Package { name } => Event::Package { name },
            OwnedEvent::PackageDone => Event::PackageDone,
            OwnedEvent::Running {
                function,
                resources,
                package,
            } => Event::Running {
                function,
                resources: *resources,
                package: package.as_deref(),
            },
            OwnedEvent::Passed {
                function,
                elapsed,
                result,
            } => Event::Passed {
                function,
                elapsed: *elapsed,
                result,
            },
            OwnedEvent::Failed {
                function,
                elapsed,
                result,
                by_exit_code,
            } => Event::Failed {
                function,
                elapsed: *elapsed,
                result,
                by_exit_code: *by_exit_code,
            },
            OwnedEvent::Warning(text) => Event::Warning(text),
        }
    }
}
