//! Functions that are not allowed to run are found before the first function of a render runs.
//!
//! Some functions have effects outside of the package, which cannot be undone if a later one is refused. The error is that of the
//! later one, as the render would report it when it comes to it. Any other failure is left to the render.

use std::collections::VecDeque;

use kiln_krm::kptfile::{Function, FunctionKind, Step};
use kiln_runtime::RunError;

use crate::error::{Failure, FunctionPlace, Trace, Unavailability};
use crate::hydrate::{HydrateError, OPERATION, RenderState, failed};
use crate::log::{Event, Log, Silent};
use crate::options::{RenderCompat, RenderOptions};
use crate::package::Package;
use crate::pipeline::{PipelineRun, failed_function};
use crate::prepare::failed_step;
use crate::task::TaskContext;
use kiln_krm::package::FileSource;

/// The order in which the functions of packages run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageOrder {
    DepthFirst,
    BreadthFirst,
}

/// The error of the first function that is refused, and the state of the render then.
pub(crate) fn find_refused(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
    order: PackageOrder,
) -> Option<(HydrateError, RenderState)> {
    let functions = &options.functions;
    if functions.compat != RenderCompat::Kiln || !functions.evaluator.may_deny() {
        return None;
    }
    let tree = PackageTree::open(files, options, order);
    let context = TaskContext {
        log: &Silent,
        cancel: &functions.cancel,
        await_turn: None,
    };
    for index in &tree.order {
        let package = &tree.packages.get(*index)?.package;
        let pipeline = PipelineRun {
            files,
            options,
            context: &context,
            package,
            keeps_consumed: false,
        };
        // After another failure, nothing runs any more.
        let Some(refused) = refused_function(&pipeline).ok()? else {
            continue;
        };
        log.event(Event::Package {
            name: package.name.clone(),
        });
        let mut state = RenderState::default();
        let steps = match refused.place.kind {
            FunctionKind::Mutator => &mut state.progress.mutation_steps,
            FunctionKind::Validator => &mut state.progress.validation_steps,
        };
        steps.push(refused.step);
        let raised = failed_function(package, refused.place, refused.failure);
        let error = match order {
            PackageOrder::DepthFirst => tree.in_parents(*index, failed(package, raised, None)),
            PackageOrder::BreadthFirst => HydrateError {
                trace: Trace::new(OPERATION, options.root, raised),
                resources: None,
            },
        };
        return Some((error, state));
    }
    None
}

/// A function that is not allowed to run.
struct RefusedFunction {
    place: FunctionPlace,
    failure: Failure,
    step: Step,
}

/// A function cannot run, for another reason.
struct OtherFailure;

/// The first function of a package that is refused.
fn refused_function(run: &PipelineRun<'_>) -> Result<Option<RefusedFunction>, OtherFailure> {
    let Some(pipeline) = run.package.pipeline() else {
        return Ok(None);
    };
    let lists = [
        (FunctionKind::Mutator, &pipeline.mutators),
        (FunctionKind::Validator, &pipeline.validators),
    ];
    for (kind, functions) in lists {
        for (index, function) in functions.iter().enumerate() {
            if let Some((step, failure)) = refusal(run, function)? {
                return Ok(Some(RefusedFunction {
                    place: FunctionPlace { kind, index },
                    failure,
                    step,
                }));
            }
        }
    }
    Ok(None)
}

fn refusal(
    run: &PipelineRun<'_>,
    function: &Function,
) -> Result<Option<(Step, Failure)>, OtherFailure> {
    let ready = match run.make_ready(function) {
        Ok(ready) => ready,
        Err((step, failure @ Failure::Denied(_))) => return Ok(Some((*step, failure))),
        Err(_) => return Err(OtherFailure),
    };
    let functions = &run.options.functions;
    let ctx = functions.context(run.context.cancel);
    match ready.runner.check_permission(&ctx) {
        Ok(()) => Ok(None),
        Err(RunError::Denied(error)) => {
            let failure = Failure::Denied(Unavailability::new(error));
            let step = failed_step(function, ready.image, &failure);
            Ok(Some((step, failure)))
        }
        Err(_) => Err(OtherFailure),
    }
}

struct PackageNode {
    package: Package,
    parent: Option<usize>,
}

/// The packages that can be opened, up to the first that cannot.
struct PackageTree {
    packages: Vec<PackageNode>,
    /// The order in which their functions run.
    order: Vec<usize>,
}

impl PackageTree {
    fn open(
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
        order: PackageOrder,
    ) -> PackageTree {
        let mut tree = PackageTree {
            packages: Vec::new(),
            order: Vec::new(),
        };
        // The error is that of the render.
        let _ = match order {
            PackageOrder::DepthFirst => tree.add_depth_first(files, options),
            PackageOrder::BreadthFirst => tree.add_breadth_first(files, options),
        };
        tree
    }

    fn add_depth_first(
        &mut self,
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
    ) -> Option<()> {
        let mut open = vec![self.add(files, options, "", None)?];
        while let Some((index, sub_packages)) = open.last_mut() {
            let index = *index;
            match sub_packages.pop_front() {
                Some(directory) => open.push(self.add(files, options, &directory, Some(index))?),
                None => {
                    self.order.push(index);
                    open.pop();
                }
            }
        }
        Some(())
    }

    fn add_breadth_first(
        &mut self,
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
    ) -> Option<()> {
        let mut open = VecDeque::from([self.add(files, options, "", None)?]);
        while let Some((index, sub_packages)) = open.pop_front() {
            self.order.push(index);
            for directory in sub_packages {
                open.push_back(self.add(files, options, &directory, Some(index))?);
            }
        }
        Some(())
    }

    /// Opens a package. Returns its index, and the directories of its sub-packages.
    fn add(
        &mut self,
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
        directory: &str,
        parent: Option<usize>,
    ) -> Option<(usize, VecDeque<String>)> {
        let around = parent.and_then(|parent| self.packages.get(parent));
        let name = around.map(|around| around.package.name.as_str());
        let package = Package::open(files, options, directory, name).ok()?;
        let sub_packages = package.sub_packages(files, options).ok()?;
        self.packages.push(PackageNode { package, parent });
        Some((self.packages.len() - 1, sub_packages.into()))
    }

    /// The error as the root package reports it.
    fn in_parents(&self, index: usize, error: HydrateError) -> HydrateError {
        let mut trace = error.trace;
        let parent_of = |index: usize| self.packages.get(index).and_then(|node| node.parent);
        let mut next = parent_of(index);
        while let Some(node) = next.and_then(|index| self.packages.get(index)) {
            // The root package is not named.
            if node.parent.is_some() {
                trace = Trace::new(OPERATION, &node.package.path, trace);
            }
            next = node.parent;
        }
        HydrateError {
            trace,
            resources: None,
        }
    }
}
