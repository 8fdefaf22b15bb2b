//! Depth-first: sub-packages are rendered first, and a package's functions get the output of theirs.
//!
//! Packages that do not contain each other are independent, so they are rendered in parallel; the result is the same as
//! in sequence ([`crate::queue`]). Nothing here recurses, so packages may be nested to any depth.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use kiln_krm::package::{FileSource, ReadSet};
use kiln_krm::{Resource, paths};

use crate::error::{Raised, Trace};
use crate::log::Log;
use crate::options::{ExternalFunctions, RenderOptions};
use crate::package::Package;
use crate::pipeline::{PipelineProgress, PipelineRun, paths_of};
use crate::queue::{Begun, Next, TaskHandle, TaskQueue};
use crate::task::{AwaitTurn, TaskContext, TaskOrder};

/// The totals of a render, of one package or of all.
#[derive(Default)]
pub(crate) struct RenderState {
    pub(crate) progress: PipelineProgress,
    pub(crate) read: ReadSet,
    pub(crate) packages: usize,
}

impl RenderState {
    fn add(&mut self, later: RenderState) {
        self.progress.add(later.progress);
        self.read.merge(later.read);
        self.packages += later.packages;
    }
}

/// Why a package could not be rendered.
pub(crate) struct HydrateError {
    pub(crate) trace: Trace,
    /// The resources to save.
    pub(crate) resources: Option<Vec<Resource>>,
}

/// The name of the operation in chains of causes.
pub(crate) const OPERATION: &str = "pkg.render";

/// As much as the first thread of a process usually has; memory that is not used costs nothing.
const STACK_SIZE: usize = 8 << 20;

/// Renders a package and its sub-packages.
pub(crate) fn hydrate(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
    root: Package,
) -> (Result<Vec<Resource>, HydrateError>, RenderState) {
    let tasks = PackageTasks {
        files,
        options,
        queue: TaskQueue::new(PackageTask::Read(Box::new(root))),
    };
    let mut state = RenderState::default();
    let result = tasks.render_all(log, &mut state);
    (result, state)
}

/// What is left to do for a package.
enum PackageTask {
    Open {
        directory: String,
        parent_name: String,
    },
    Read(Box<Package>),
    Run(Box<PackageInput>),
}

/// What the functions of a package get.
struct PackageInput {
    package: Package,
    own: Vec<Resource>,
    own_paths: Vec<String>,
    /// The output of each sub-package.
    sub_packages: Vec<Vec<Resource>>,
    state: RenderState,
}

/// The output, empty for sub-packages, which have passed it to their parents; or the payload of a panic.
type PackageResult = thread::Result<(RenderState, Result<Vec<Resource>, HydrateError>)>;

struct PackageTasks<'a> {
    files: &'a dyn FileSource,
    options: &'a RenderOptions<'a>,
    queue: TaskQueue<PackageTask, PackageResult>,
}

impl PackageTasks<'_> {
    fn render_all(
        &self,
        log: &dyn Log,
        state: &mut RenderState,
    ) -> Result<Vec<Resource>, HydrateError> {
        let mut threads = 0;
        let mut max_threads = match self.options.jobs.count.get() {
            1 => 0,
            count => count,
        };
        let mut output = Vec::new();
        thread::scope(|scope| {
            let _stop = StopOnDrop(&self.queue);
            while let Some(next) = self.queue.next(threads, max_threads) {
                match next {
                    Next::Log(events) => events.into_iter().for_each(|event| log.event(event)),
                    Next::Do(begun) => self.perform(begun, log, None),
                    Next::AddThread => {
                        let builder = thread::Builder::new().stack_size(STACK_SIZE);
                        match builder.spawn_scoped(scope, || self.render_in_thread()) {
                            Ok(_) => threads += 1,
                            // The threads that exist, or else this one, do all the work.
                            Err(_) => max_threads = threads,
                        }
                    }
                    Next::Take(order, result) => {
                        let (part, result) = result.unwrap_or_else(|panic| resume_unwind(panic));
                        state.add(part);
                        output = result.map_err(|error| self.in_parents(error, &order, state))?;
                    }
                }
            }
            Ok(output)
        })
    }

    fn render_in_thread(&self) {
        while let Some(begun) = self.queue.begin() {
            let order = &begun.order.clone();
            let queue = &self.queue;
            let handle = TaskHandle { queue, order };
            let await_turn = || handle.await_turn();
            let await_turn: Option<AwaitTurn<'_>> = match self.options.jobs.external {
                ExternalFunctions::InOrder => Some(&await_turn),
                ExternalFunctions::Parallel => None,
            };
            let perform = || self.perform(begun, &handle, await_turn);
            // The calling thread resumes a panic before anything sees what it left behind.
            let done = catch_unwind(AssertUnwindSafe(perform));
            if let Err(panic) = done {
                queue.fail(order, Err(panic));
            }
        }
    }

    /// Renders a package, or only reads it if it has sub-packages.
    fn perform(&self, begun: Begun<PackageTask>, log: &dyn Log, await_turn: Option<AwaitTurn<'_>>) {
        let Begun {
            order,
            task,
            cancel,
        } = begun;
        let mut state = RenderState::default();
        let read = match task {
            PackageTask::Open {
                directory,
                parent_name,
            } => self
                .open(&directory, &parent_name)
                .and_then(|package| self.read(package, &mut state)),
            PackageTask::Read(package) => self.read(*package, &mut state),
            PackageTask::Run(mut input) => {
                state = std::mem::take(&mut input.state);
                Ok((input, Vec::new()))
            }
        };
        let rendered = match read {
            Ok((mut input, sub_packages)) if !sub_packages.is_empty() => {
                input.state = state;
                let run = PackageTask::Run(input);
                return self.queue.postpone(&order, run, sub_packages);
            }
            Ok((input, _)) => {
                let token = cancel.clone();
                let user = &self.options.functions.cancel;
                let _guard = user.on_cancel(move || token.cancel());
                let context = TaskContext {
                    log,
                    cancel: &cancel,
                    await_turn,
                };
                self.run(*input, &context, &mut state)
            }
            Err(error) => Err(error),
        };
        match rendered {
            Ok(output) if order.is_root() => {
                self.queue
                    .succeed(&order, Ok((state, Ok(output))), |_, _| {});
            }
            Ok(output) => {
                let result = Ok((state, Ok(Vec::new())));
                self.queue.succeed(&order, result, |parent, number| {
                    parent.receive(number, output);
                });
            }
            Err(error) => self.queue.fail(&order, Ok((state, Err(error)))),
        }
    }

    fn open(&self, directory: &str, parent_name: &str) -> Result<Package, HydrateError> {
        let opened = Package::open(self.files, self.options, directory, Some(parent_name));
        opened.map_err(|trace| {
            let path = paths::join(&[self.options.root, directory]);
            HydrateError {
                trace: Trace::new(OPERATION, &path, trace),
                resources: None,
            }
        })
    }

    /// Reads a package and finds its sub-packages.
    fn read(
        &self,
        package: Package,
        state: &mut RenderState,
    ) -> Result<(Box<PackageInput>, Vec<PackageTask>), HydrateError> {
        state.packages = 1;
        let read = package.read(self.files, &self.options.functions);
        let own = read.map_err(|trace| failed(&package, trace, None))?;
        state.read.add(&own);
        let directories = package.sub_packages(self.files, self.options);
        let directories = directories.map_err(|raised| failed(&package, raised, None))?;
        let open = |directory| PackageTask::Open {
            directory,
            parent_name: package.name.clone(),
        };
        let sub_packages: Vec<PackageTask> = directories.into_iter().map(open).collect();
        let input = PackageInput {
            own_paths: paths_of(&own),
            own,
            sub_packages: sub_packages.iter().map(|_| Vec::new()).collect(),
            state: RenderState::default(),
            package,
        };
        Ok((Box::new(input), sub_packages))
    }

    fn run(
        &self,
        input: PackageInput,
        context: &TaskContext<'_>,
        state: &mut RenderState,
    ) -> Result<Vec<Resource>, HydrateError> {
        let package = &input.package;
        let pipeline = PipelineRun {
            files: self.files,
            options: self.options,
            context,
            package,
            keeps_consumed: false,
        };
        let mut resources = input.own;
        resources.extend(input.sub_packages.into_iter().flatten());
        let finished = pipeline.run(resources, &input.own_paths, &mut state.progress);
        let finished = finished
            .map_err(|stopped| failed(package, *stopped.raised, Some(stopped.resources)))?;
        Ok(finished.resources)
    }

    /// The error as the root package reports it: with all packages around the one that failed, and the resources to save.
    ///
    /// As in kpt there are resources to save only if the root or a direct sub-package of it failed.
    fn in_parents(
        &self,
        error: HydrateError,
        order: &TaskOrder,
        state: &mut RenderState,
    ) -> HydrateError {
        let HydrateError {
            mut trace,
            mut resources,
        } = error;
        let mut next = order.parent();
        let mut is_direct = true;
        while let Some((parent, number)) = next {
            let Some(PackageTask::Run(input)) = self.queue.remove_waiting(&parent) else {
                break;
            };
            let input = *input;
            state.add(input.state);
            next = parent.parent();
            if next.is_some() {
                trace = Trace::new(OPERATION, &input.package.path, trace);
            }
            resources = resources.filter(|_| is_direct).map(|failed| {
                let earlier = input.sub_packages.into_iter().take(number).flatten();
                input.own.into_iter().chain(earlier).chain(failed).collect()
            });
            is_direct = false;
        }
        HydrateError { trace, resources }
    }
}

impl PackageTask {
    /// Takes the output of a sub-package.
    fn receive(&mut self, number: usize, output: Vec<Resource>) {
        if let PackageTask::Run(input) = self
            && let Some(sub_package) = input.sub_packages.get_mut(number)
        {
            *sub_package = output;
        }
    }
}

/// The failure of a package, as the package around it reports it.
pub(crate) fn failed(
    package: &Package,
    raised: impl Into<Raised>,
    resources: Option<Vec<Resource>>,
) -> HydrateError {
    let trace = Trace::new(OPERATION, &package.path, raised);
    let is_root = package.directory.is_empty();
    HydrateError {
        // kpt names the package twice, which shows in what it writes.
        trace: match is_root {
            true => trace,
            false => Trace::new(OPERATION, &package.path, trace),
        },
        resources,
    }
}

/// Lets all threads end when the calling thread returns or panics.
struct StopOnDrop<'a>(&'a TaskQueue<PackageTask, PackageResult>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
