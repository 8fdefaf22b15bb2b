//! Depth-first: packages below come first, and a package's functions see all that is below it.
//!
//! Packages that do not contain each other have nothing to do with each other, so several are rendered at a time; what
//! comes of it is what would come of one after the other ([`crate::schedule`]). Nothing here recurses: the tree may be as
//! deep as it likes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, Scope};

use kiln_krm::package::{FileSource, ReadSet};
use kiln_krm::{Resource, paths};

use crate::error::{Raised, Trace};
use crate::lane::Lane;
use crate::log::Log;
use crate::options::RenderOptions;
use crate::package::Package;
use crate::pipeline::{Progress, Runner, paths_of};
use crate::place::Place;
use crate::schedule::{Schedule, Taken};

/// What a render has come to, over all packages.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) progress: Progress,
    pub(crate) read: ReadSet,
    pub(crate) packages: usize,
}

/// Why a package could not be rendered.
pub(crate) struct Unhydrated {
    pub(crate) trace: Trace,
    /// What there is to save.
    pub(crate) resources: Option<Vec<Resource>>,
}

/// The name of the operation in chains of causes.
pub(crate) const OPERATION: &str = "pkg.render";

/// As much as the first thread of a process usually has; memory that is not used costs nothing.
const STACK_SIZE: usize = 8 << 20;

/// Renders a package and those below it.
pub(crate) fn hydrate(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
    root: Package,
) -> (Result<Vec<Resource>, Unhydrated>, State) {
    let entrance = Work::Enter(Entrance::Open(Box::new(root)));
    let tree = Tree {
        files,
        options,
        schedule: Schedule::new(Place::root(), entrance),
        ledger: Mutex::default(),
    };
    let lane = Lane::Direct {
        log,
        cancel: options.functions.cancel.clone(),
    };
    // As long as there is but one thing to do, no thread is worth its while.
    while options.jobs.count.get() == 1 || tree.schedule.ready() < 2 {
        match tree.schedule.take() {
            Some(taken) => tree.perform(&taken.place, taken.work, &lane),
            None => return tree.finished(),
        }
    }
    tree.perform_beside_each_other(log);
    tree.finished()
}

/// A package that is to be entered.
enum Entrance {
    Open(Box<Package>),
    Closed {
        directory: String,
        /// The name of the package around it.
        outer: String,
    },
}

/// A package that has been entered: what its functions are to get.
struct Entered {
    package: Package,
    own: Vec<Resource>,
    own_paths: Vec<String>,
    /// What came of the packages directly below.
    inner: Vec<Vec<Resource>>,
}

enum Work {
    Enter(Entrance),
    Run(Box<Entered>),
}

struct Tree<'a> {
    files: &'a dyn FileSource,
    options: &'a RenderOptions<'a>,
    schedule: Schedule<Work>,
    ledger: Mutex<Ledger>,
}

/// What came of each piece of work.
#[derive(Default)]
struct Ledger {
    states: BTreeMap<Place, State>,
    failures: BTreeMap<Place, Unhydrated>,
    output: Vec<Resource>,
}

impl Tree<'_> {
    /// Does all that is left in several threads, while this one passes on what they tell.
    fn perform_beside_each_other(&self, log: &dyn Log) {
        let (sender, receiver) = mpsc::channel();
        self.schedule.tell(sender);
        let helpers = Mutex::new(self.options.jobs.count.get());
        thread::scope(|scope| {
            if !self.add_thread(scope, &helpers) {
                self.perform_all(None);
            }
            for event in receiver {
                log.event(&event.as_event());
            }
        });
    }

    /// Starts a thread if there may be one more and the system has one.
    fn add_thread<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        left: &'scope Mutex<usize>,
    ) -> bool {
        let mut count = left.lock().unwrap_or_else(PoisonError::into_inner);
        if *count == 0 {
            return false;
        }
        let builder = thread::Builder::new().stack_size(STACK_SIZE);
        let work = move || self.perform_all(Some((scope, left)));
        match builder.spawn_scoped(scope, work) {
            Ok(_) => {
                *count -= 1;
                true
            }
            Err(_) => {
                *count = 0;
                false
            }
        }
    }

    /// Does one thing after the other until nothing is left, and gets help if there is more to do.
    fn perform_all<'scope>(
        &'scope self,
        help: Option<(&'scope Scope<'scope, '_>, &'scope Mutex<usize>)>,
    ) {
        let _watch = Watch(&self.schedule);
        while let Some(taken) = self.schedule.take() {
            let Taken {
                place,
                work,
                cancel,
                wants_help,
            } = taken;
            if wants_help && let Some((scope, left)) = help {
                self.add_thread(scope, left);
            }
            let token = cancel.clone();
            let user = &self.options.functions.cancel;
            let _guard = user.on_cancel(move || token.cancel());
            let lane = Lane::Beside {
                turns: &self.schedule,
                place: &place,
                cancel,
                outside: self.options.jobs.outside,
            };
            self.perform(&place, work, &lane);
        }
    }

    fn perform(&self, place: &Place, work: Work, lane: &Lane<'_>) {
        let mut state = State::default();
        let done = match work {
            Work::Enter(entrance) => self.enter(entrance, &mut state),
            Work::Run(entered) => self.run(*entered, lane, &mut state),
        };
        let mut ledger = self.ledger();
        ledger.states.insert(place.clone(), state);
        match (done, place.outer()) {
            (Err(unhydrated), _) => {
                ledger.failures.insert(place.clone(), unhydrated);
                drop(ledger);
                self.schedule.fail(place);
            }
            (Ok(Done::Entered { entered, below }), _) => {
                drop(ledger);
                self.schedule.finish(place, |upcoming| {
                    for (number, directory) in below.iter().enumerate() {
                        let entrance = Entrance::Closed {
                            directory: directory.clone(),
                            outer: entered.package.name.clone(),
                        };
                        upcoming.add(place.inner(number), Work::Enter(entrance), 0);
                    }
                    upcoming.add(place.running(), Work::Run(entered), below.len());
                });
            }
            (Ok(Done::Rendered(resources)), None) => {
                ledger.output = resources;
                drop(ledger);
                self.schedule.finish(place, |_| {});
            }
            (Ok(Done::Rendered(resources)), Some((outer, number))) => {
                drop(ledger);
                self.schedule.finish(place, |upcoming| {
                    upcoming.release(&outer.running(), |work| work.receive(number, resources));
                });
            }
        }
    }

    /// Reads a package and finds those below it.
    fn enter(&self, entrance: Entrance, state: &mut State) -> Result<Done, Unhydrated> {
        let root = self.options.root;
        let package = match entrance {
            Entrance::Open(package) => *package,
            Entrance::Closed { directory, outer } => {
                let opened = Package::open(self.files, self.options, &directory, Some(&outer));
                opened.map_err(|trace| Unhydrated {
                    trace: Trace::new(OPERATION, &paths::join(&[root, &directory]), trace),
                    resources: None,
                })?
            }
        };
        state.packages = 1;
        let read = package.read(self.files, &self.options.functions);
        let own = read.map_err(|trace| unhydrated(&package, trace, None))?;
        state.read.add(&own);
        let below = package.below(self.files, self.options);
        let below = below.map_err(|raised| unhydrated(&package, raised, None))?;
        let entered = Entered {
            own_paths: paths_of(&own),
            own,
            inner: below.iter().map(|_| Vec::new()).collect(),
            package,
        };
        Ok(Done::Entered {
            entered: Box::new(entered),
            below,
        })
    }

    /// Runs the functions of a package.
    fn run(
        &self,
        entered: Entered,
        lane: &Lane<'_>,
        state: &mut State,
    ) -> Result<Done, Unhydrated> {
        let Entered {
            package,
            own: mut input,
            own_paths,
            inner,
        } = entered;
        input.extend(inner.into_iter().flatten());
        let runner = Runner {
            files: self.files,
            options: self.options,
            lane,
            keeps_consumed: false,
        };
        match runner.run(&package, input, &own_paths, &mut state.progress) {
            Ok(finished) => Ok(Done::Rendered(finished.resources)),
            Err(stopped) => Err(unhydrated(
                &package,
                stopped.raised,
                Some(stopped.resources),
            )),
        }
    }

    /// What has come of it all, once nothing is left to do.
    fn finished(self) -> (Result<Vec<Resource>, Unhydrated>, State) {
        let mut waiting = self.schedule.into_waiting();
        let ledger = self.ledger.into_inner();
        let mut ledger = ledger.unwrap_or_else(PoisonError::into_inner);
        let failure = ledger.failures.pop_first();
        let mut state = State::default();
        for (place, part) in ledger.states {
            let is_later = |failure: &(Place, Unhydrated)| failure.0 < place;
            if failure.as_ref().is_some_and(is_later) {
                break;
            }
            state.add(part);
        }
        match failure {
            None => (Ok(ledger.output), state),
            Some((place, unhydrated)) => (Err(gone_up(unhydrated, &place, &mut waiting)), state),
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a piece of work.
enum Done {
    Entered {
        entered: Box<Entered>,
        below: Vec<String>,
    },
    Rendered(Vec<Resource>),
}

impl Work {
    /// Takes what came of the package with this number directly below.
    fn receive(&mut self, number: usize, resources: Vec<Resource>) {
        if let Work::Run(entered) = self
            && let Some(inner) = entered.inner.get_mut(number)
        {
            *inner = resources;
        }
    }
}

impl State {
    /// Adds what came later.
    fn add(&mut self, later: State) {
        self.progress.add(later.progress);
        self.read.merge(later.read);
        self.packages += later.packages;
    }
}

/// The failure of a package, as the package around it gets to know it.
fn unhydrated(
    package: &Package,
    raised: impl Into<Raised>,
    resources: Option<Vec<Resource>>,
) -> Unhydrated {
    let trace = Trace::new(OPERATION, &package.path, raised);
    let is_root = package.directory.is_empty();
    Unhydrated {
        // kpt says it twice, which can be seen in what it writes.
        trace: match is_root {
            true => trace,
            false => Trace::new(OPERATION, &package.path, trace),
        },
        resources,
    }
}

/// A failure as the root package gets to know it: with the packages it passed on the way, and with what there is to save.
///
/// As in kpt there is something to save only if the root or a package directly below it has failed.
fn gone_up(
    unhydrated: Unhydrated,
    place: &Place,
    waiting: &mut BTreeMap<Place, Work>,
) -> Unhydrated {
    let Unhydrated {
        mut trace,
        mut resources,
    } = unhydrated;
    let mut next = place.outer();
    let mut is_direct = true;
    while let Some((outer, number)) = next {
        let Some(Work::Run(entered)) = waiting.remove(&outer.running()) else {
            break;
        };
        next = outer.outer();
        if next.is_some() {
            trace = Trace::new(OPERATION, &entered.package.path, trace);
        }
        resources = resources.filter(|_| is_direct).map(|returned| {
            let before = entered.inner.into_iter().take(number).flatten();
            entered
                .own
                .into_iter()
                .chain(before)
                .chain(returned)
                .collect()
        });
        is_direct = false;
    }
    Unhydrated { trace, resources }
}

/// Ends the work of all threads if the one it belongs to panics, so that none waits for it for ever.
struct Watch<'a>(&'a Schedule<Work>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}
