//! Native functions as an evaluator.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use kiln_krm::write::folded::{damaged_texts, quote_texts};
use kiln_krm::{Resource, ResourceList};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Input, Outcome, Output,
    RunContext, RunError, Runner, Target,
};

use crate::budget::{self, Bounds};
use crate::function::{Context, Ending, Files, FunctionList, NoFiles};
use crate::nesting::charge_indentation;
use crate::registry::{FunctionVersion, Registry};
use crate::sdk::SdkOutput;
use crate::settle::settle;
use crate::watched;
use crate::wire;

/// Finds native functions by their image.
pub struct NativeEvaluator {
    registry: &'static Registry,
    list_format: ListFormat,
    files: Arc<dyn Files>,
    is_watched: bool,
}

/// How lists are passed to a function and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListFormat {
    Tree,
    /// As text, which is written and parsed as for a program.
    Wire,
}

impl NativeEvaluator {
    /// Functions work on the trees that they are given.
    pub fn new(registry: &'static Registry) -> NativeEvaluator {
        NativeEvaluator {
            registry,
            list_format: ListFormat::Tree,
            files: Arc::new(NoFiles),
            is_watched: false,
        }
    }

    /// Functions get and return what a program would: every item is written and parsed again. For callers that need
    /// the bytes that kpt writes.
    pub fn through_the_wire(registry: &'static Registry) -> NativeEvaluator {
        NativeEvaluator {
            list_format: ListFormat::Wire,
            ..NativeEvaluator::new(registry)
        }
    }

    /// Lets functions read files of the user.
    pub fn with_files(self, files: Arc<dyn Files>) -> NativeEvaluator {
        NativeEvaluator { files, ..self }
    }

    /// Functions are abandoned at the deadline or on cancellation, even if they do not check for it. For programs
    /// that exit then.
    pub fn watched(self) -> NativeEvaluator {
        NativeEvaluator {
            is_watched: true,
            ..self
        }
    }
}

impl Evaluator for NativeEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let version = self
            .registry
            .find_image(image)
            .ok_or_else(|| FindError::not_found(function))?;
        Ok(Found::blocking(NativeRunner {
            image: image.clone(),
            version,
            identity: self.registry.identity(image),
            list_format: self.list_format,
            environment: function.env.clone(),
            files: Arc::clone(&self.files),
            is_watched: self.is_watched,
        }))
    }
}

struct NativeRunner {
    image: String,
    version: &'static FunctionVersion,
    identity: Option<FunctionIdentity>,
    list_format: ListFormat,
    environment: Vec<String>,
    files: Arc<dyn Files>,
    is_watched: bool,
}

/// A call that owns all its data, so that it can run on any thread.
struct OwnedCall {
    version: &'static FunctionVersion,
    environment: Vec<String>,
    files: Arc<dyn Files>,
    run: RunContext,
    given: CallInput,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each call, and it is taken apart at once"
)]
enum CallInput {
    Tree(FunctionList),
    Wire(Vec<u8>),
}

/// The output of a program.
struct CallOutput {
    output: Output,
    exit_code: i32,
    stderr: String,
    is_random: bool,
}

impl Runner for NativeRunner {
    fn run(&self, input: &Input<'_>, run: &RunContext) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let work = OwnedCall {
            version: self.version,
            environment: self.environment.clone(),
            files: Arc::clone(&self.files),
            run: run.clone(),
            given: match self.list_format {
                ListFormat::Tree => CallInput::Tree(FunctionList {
                    items: input.items().iter().map(Resource::to_item).collect(),
                    config: input.function_config().cloned(),
                    ..FunctionList::default()
                }),
                ListFormat::Wire => CallInput::Wire(input.wire().as_bytes().to_vec()),
            },
        };
        let done = match self.is_watched {
            true => watched::run(run, move || work.perform())?,
            false => work.perform(),
        };
        let CallOutput {
            output,
            exit_code,
            stderr,
            is_random,
        } = done?;
        let identity = self.identity.as_ref();
        Ok(Outcome {
            exit_code,
            signal: None,
            output,
            stderr: as_from_a_container(stderr).into_bytes(),
            elapsed: started.elapsed(),
            identity: match is_random {
                true => identity.map(FunctionIdentity::random),
                false => identity.cloned(),
            },
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        true
    }

    fn worker_image(&self) -> Option<&str> {
        // Another process does not have the environment of this one.
        self.environment.is_empty().then_some(self.image.as_str())
    }
}

impl OwnedCall {
    fn perform(self) -> Result<CallOutput, RunError> {
        let version = self.version;
        let ctx = Context {
            environment: &self.environment,
            run: &self.run,
            files: self.files.as_ref(),
        };
        match self.given {
            CallInput::Tree(list) => {
                let SdkOutput {
                    list, exit_code, ..
                } = perform(version, list, &ctx, ListFormat::Tree)?;
                let results = version.sdk.results(&list.results);
                let output = Output::List(ResourceList {
                    items: list.items.into_iter().map(Resource::into_item).collect(),
                    results,
                    ..ResourceList::default()
                });
                Ok(CallOutput {
                    output,
                    exit_code,
                    is_random: list.is_random,
                    stderr: list.stderr.into_string(),
                })
            }
            CallInput::Wire(bytes) => {
                let answer = wire::run(version, bytes, &ctx)?;
                Ok(CallOutput {
                    output: Output::Wire(answer.stdout.into()),
                    exit_code: answer.exit_code,
                    stderr: answer.stderr,
                    is_random: answer.is_random,
                })
            }
        }
    }
}

/// Runs a function to its end. A panic is a failure of that function only.
pub(crate) fn perform(
    version: &FunctionVersion,
    list: FunctionList,
    ctx: &Context<'_>,
    list_format: ListFormat,
) -> Result<SdkOutput, RunError> {
    let bounds = Bounds::enter(ctx.run);
    let run = AssertUnwindSafe(|| {
        let mut list = list;
        list.results = list.results.charged();
        if list_format == ListFormat::Tree && version.function.rewrites_text() {
            for resource in &mut list.items {
                let texts = damaged_texts(resource);
                quote_texts(resource, &texts);
            }
        }
        let ending = version.function.run(&mut list, ctx);
        if list_format == ListFormat::Tree {
            if let Err(stderr) = charge_indentation(&list.items) {
                return (FunctionList::default(), Ending::Exit { code: 1, stderr });
            }
            settle(&mut list);
        }
        (list, ending)
    });
    let over = |list: &FunctionList| match ctx.run.deadline {
        Some(deadline) if !ctx.run.cancel.is_cancelled() => RunError::TimedOut {
            timeout: deadline.timeout,
            stderr: list.stderr.as_bytes().to_vec(),
        },
        _ => RunError::Cancelled,
    };
    let (list, ending) = catch_unwind(run).unwrap_or_else(|panic| {
        let ending = Ending::Exit {
            code: 1,
            stderr: format!("KRM function panicked with: {}", panic_text(panic.as_ref())),
        };
        (FunctionList::default(), ending)
    });
    // This comes first: the output of a function that has exceeded a limit is discarded.
    let excess = bounds.excess();
    drop(bounds);
    if let Some(stderr) = excess {
        let ending = Ending::Exit { code: 1, stderr };
        return Ok(version.sdk.finish(FunctionList::default(), ending));
    }
    if ending == Ending::Stopped || budget::is_over(ctx.run) {
        return Err(over(&list));
    }
    Ok(version.sdk.finish(list, ending))
}

/// Removes the last line break, as for a container.
fn as_from_a_container(mut stderr: String) -> String {
    if stderr.ends_with('\n') {
        stderr.pop();
    }
    stderr
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
