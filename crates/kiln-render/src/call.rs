//! One call of a function on a list of resources: all steps before and after it, in kpt's order.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::time::Instant;

use kiln_krm::annotations::PACKAGE_PATH;
use kiln_krm::check::{ListKind, ListNotKrm, check_list};
use kiln_krm::kptfile::{Function, FunctionKind};
use kiln_krm::read::{AnswerError, read_answer, read_function_output};
use kiln_krm::results::{FunctionResult, FunctionResultList, Severity, read_results};
use kiln_krm::secrets::{SecretMask, SecretValues};
use kiln_krm::{Dialect, Resource, ResourceList, meta, paths};
use kiln_runtime::{Input, Outcome, Output, PeerProblem, RunError};
use kiln_yaml::{Document, NodeRef};

use crate::call_record::{CallRecord, TouchedResources, secrets, touched};
use crate::default_paths::set_default_paths;
use crate::error::{Exit, Failure, Unavailability};
use crate::function::ReadyFunction;
use crate::log::{Event, StepNumber};
use crate::options::{FunctionOptions, RenderCompat};
use crate::package::Package;
use crate::restore::{Returned, keep_all, materialize, restore, set_ids};
use crate::task::TaskContext;

/// The configuration of a function.
#[derive(Clone, Copy)]
pub(crate) enum CallConfig<'a> {
    Nothing,
    Document(&'a Document),
    /// The input with this index, with its id.
    Input(usize),
}

impl<'a> CallConfig<'a> {
    pub(crate) fn of(document: Option<&'a Document>) -> CallConfig<'a> {
        document.map_or(CallConfig::Nothing, CallConfig::Document)
    }

    fn document(self, inputs: &'a [Resource]) -> Option<&'a Document> {
        match self {
            CallConfig::Nothing => None,
            CallConfig::Document(document) => Some(document),
            CallConfig::Input(index) => inputs.get(index).map(Resource::document),
        }
    }
}

pub(crate) struct FunctionCall<'a> {
    pub(crate) function: &'a ReadyFunction,
    pub(crate) config: CallConfig<'a>,
    /// The function as it is declared.
    pub(crate) declared: &'a Function,
    /// The package whose pipeline it belongs to.
    pub(crate) package: Option<&'a Package>,
    /// Which step of that pipeline it is.
    pub(crate) step: Option<StepNumber>,
    /// Whether the function gets a selection, whose size is logged.
    pub(crate) is_selection: bool,
    /// Whether only its results and its exit code count, so that it may print no resources.
    pub(crate) is_validator: bool,
    pub(crate) options: &'a FunctionOptions<'a>,
    pub(crate) context: &'a TaskContext<'a>,
}

impl FunctionCall<'_> {
    /// Calls the function and adds what it reports to `results`, unless it fails before.
    ///
    /// The inputs get ids. After a success, inputs that the function left unchanged are moved to the output.
    pub(crate) fn run(
        &self,
        inputs: &mut Vec<Resource>,
        results: &mut FunctionResultList,
    ) -> Result<Vec<Resource>, Failure> {
        if !self.function.runner.is_native()
            && let Some(await_turn) = self.context.await_turn
        {
            await_turn().map_err(|error| Failure::Text(error.to_string()))?;
        }
        let log = self.context.log;
        let function = self.function.name().to_owned();
        log.event(Event::Running {
            function: function.clone(),
            resources: self.is_selection.then_some(inputs.len()),
            package: self.package.map(|package| package.name.clone()),
            step: self.step,
            // Only kpt logs it.
            is_module: self.options.compat == RenderCompat::Kpt && self.function.runner.is_module(),
        });
        let started = Instant::now();
        let mut account = CallAccount {
            result: Box::new(self.function.new_result()),
            is_cached: false,
            is_reported: false,
        };
        let mut done = self.perform(inputs, &mut account);
        if let Some(secrets) = self.secrets_in_texts(inputs, &done, &account.result) {
            let names = OnceCell::new();
            let is_name = |text: &str| {
                let names = names.get_or_init(|| public_names(inputs));
                names.contains(text)
            };
            secrets.mask_result(&mut account.result, is_name);
            done = done.map_err(|error| error.without_secrets(&secrets));
        }
        let CallAccount {
            result,
            is_cached,
            is_reported,
        } = account;
        if is_reported {
            if done.is_err() {
                results.exit_code = 1;
            }
            results.items.push((*result).clone());
        }
        let elapsed = started.elapsed();
        let package = self.package.map(|package| package.directory.clone());
        let directory = package.unwrap_or_default();
        let record = Box::new(CallRecord {
            is_cached,
            ..self.record(started, done.as_deref().ok(), inputs)
        });
        match done {
            Ok(returned) => {
                log.event(Event::Passed {
                    function,
                    elapsed,
                    result,
                    directory,
                    record,
                });
                Ok(materialize(returned, inputs))
            }
            Err(error) => {
                log.event(Event::Failed {
                    function,
                    elapsed,
                    result,
                    directory,
                    record,
                    by_exit_code: matches!(error, CallError::Exit(_)),
                });
                Err(match error {
                    CallError::Exit(exit) => Failure::Exit(Box::new(exit)),
                    CallError::Failure(failure) => failure,
                })
            }
        }
    }

    /// `returned` is `None` after a failure, which touches nothing.
    fn record(
        &self,
        started: Instant,
        returned: Option<&[Returned]>,
        inputs: &[Resource],
    ) -> CallRecord {
        let all = returned.unwrap_or_default();
        let is_recorded = self.options.touched == TouchedResources::Record;
        let config = self.config.document(inputs);
        CallRecord {
            package: self.package.map(|package| package.name.clone()),
            kind: match self.is_validator {
                true => FunctionKind::Validator,
                false => FunctionKind::Mutator,
            },
            step: self.step,
            started,
            resources_in: inputs.len(),
            resources_out: all.len(),
            is_cached: false,
            touched: match (self.options.touched, returned) {
                (TouchedResources::Record, Some(returned)) if !self.is_validator => {
                    touched(returned, inputs)
                }
                _ => Vec::new(),
            },
            secrets: match is_recorded {
                true => secrets(all, inputs, config).cloned().collect(),
                false => Vec::new(),
            },
            declared: is_recorded.then(|| Box::new(self.declared.clone())),
            config: config.filter(|_| is_recorded).cloned(),
        }
    }

    /// The Secrets whose values must not be in what is printed about the call; `None` if there are none, or no texts. kpt prints
    /// all values.
    fn secrets_in_texts(
        &self,
        inputs: &[Resource],
        done: &Result<Vec<Returned>, CallError>,
        result: &FunctionResult,
    ) -> Option<SecretMask> {
        let has_texts = done.is_err() || !result.stderr.is_empty() || !result.results.is_empty();
        if self.options.compat == RenderCompat::Kpt || !has_texts {
            return None;
        }
        let returned = done.as_deref().unwrap_or_default();
        let mut documents = secrets(returned, inputs, self.config.document(inputs)).peekable();
        documents.peek()?;
        let mut secrets = SecretValues::default();
        documents.for_each(|document| secrets.add_document(document));
        Some(secrets.into_mask())
    }

    fn perform(
        &self,
        inputs: &mut [Resource],
        account: &mut CallAccount,
    ) -> Result<Vec<Returned>, CallError> {
        check_list(inputs.iter().map(Resource::root), ListKind::Input).map_err(not_krm)?;
        let Filtered {
            mut returned,
            reported,
            error,
        } = self.filter(inputs, account);
        let result = &mut *account.result;
        if let Some(package) = self.package {
            set_package(&mut returned, inputs, &package.path)?;
        }
        let roots = || -> Vec<NodeRef<'_>> {
            returned
                .iter()
                .filter_map(|item| item.root(inputs))
                .collect()
        };
        paths::check_paths(roots()).map_err(text)?;
        check_list(roots(), ListKind::Output).map_err(not_krm)?;
        if let Some(reported) = reported {
            let results = read_results(reported.root());
            result.results = results.map_err(bad_output)?;
        }
        let error = error.or_else(|| self.reported_error(result));
        if matches!(error, Some(CallError::Failure(_))) {
            result.exit_code = 1;
        }
        account.is_reported = true;
        match error {
            None => Ok(returned),
            Some(error) => Err(error),
        }
    }

    /// An error in the results of a function that exited with 0.
    fn reported_error(&self, result: &FunctionResult) -> Option<CallError> {
        if self.options.compat == RenderCompat::Kpt {
            return None;
        }
        let is_error =
            |item: &&kiln_krm::results::ResultItem| item.known_severity() == Some(Severity::Error);
        let errors = result.results.iter().filter(is_error).count();
        (errors > 0).then(|| {
            CallError::Failure(Failure::ReportedErrors {
                function: self.function.name().to_owned(),
                count: errors,
            })
        })
    }

    /// Runs the function and reads its output.
    fn filter(&self, inputs: &mut [Resource], account: &mut CallAccount) -> Filtered {
        if let Err(error) = set_ids(inputs) {
            return Filtered::failed(text(error));
        }
        let config = self.config.document(inputs);
        let config_path = config.map_or("", |config| meta::file_place(config.root()).0);
        let directory = paths::generation_directory(config_path);
        let input = Input::new(Dialect::Current, inputs, config);
        let input = match self.options.compat {
            RenderCompat::Kiln => input.with_quoted_texts(),
            RenderCompat::Kpt => input,
        };
        let ctx = self.options.context(self.context.cancel);
        // Runners of native functions need not check it.
        let ran = match ctx.cancel.is_cancelled() {
            true => Err(RunError::Cancelled),
            false => self.function.runner.run(&input, &ctx),
        };
        let is_as_given = self.options.compat == RenderCompat::Kiln && is_as_given(&ran, &input);
        drop(input);
        account.is_cached = ran.as_ref().is_ok_and(|outcome| outcome.is_cached);
        let result = &mut *account.result;
        if let Err(error) = &ran
            && self.options.compat == RenderCompat::Kiln
        {
            let printed = match error {
                RunError::TimedOut { stderr, .. } if !stderr.is_empty() => stderr.clone(),
                _ => ctx.stopped_stderr.take(),
            };
            result.stderr = String::from_utf8_lossy(&printed).into_owned();
        }
        let (output, exit) = self.take_outcome(ran, result);
        if is_as_given && exit.is_none() {
            return match keep_all(inputs) {
                Ok(returned) => self.with_default_paths(returned, inputs, &directory, None),
                Err(error) => Filtered::failed(text(error)),
            };
        }
        let list = match output {
            Output::List(list) => Ok(list),
            Output::Wire(bytes) => self.read_answer(bytes.into()),
        };
        let prefers_exit = self.options.compat == RenderCompat::Kiln;
        let list = match (list, exit) {
            (Ok(list), exit) => (list, exit),
            (Err(_), Some(exit)) if prefers_exit => return Filtered::failed(exit),
            (Err(error), exit) => {
                if exit.is_some() {
                    result.stderr.clear();
                }
                return Filtered::failed(error);
            }
        };
        let (ResourceList { items, results, .. }, exit) = list;
        let returned = match restore(items, inputs, self.options.compat, self.options.threads) {
            Ok(returned) => returned,
            Err(error) => return Filtered::failed(text(error)),
        };
        match exit {
            None => self.with_default_paths(returned, inputs, &directory, results),
            exit => Filtered {
                returned,
                reported: results,
                error: exit,
            },
        }
    }

    /// The output of a function that succeeded. Resources without a path get one.
    fn with_default_paths(
        &self,
        mut returned: Vec<Returned>,
        inputs: &mut [Resource],
        directory: &str,
        reported: Option<Document>,
    ) -> Filtered {
        let set = set_default_paths(&mut returned, inputs, directory, self.options.compat);
        if set.is_err() {
            returned.clear();
        }
        Filtered {
            returned,
            reported,
            error: set.err().map(text),
        }
    }

    /// The list that the function printed.
    fn read_answer(&self, bytes: Vec<u8>) -> Result<ResourceList, CallError> {
        if self.options.compat == RenderCompat::Kpt || self.is_validator {
            let list = read_function_output(bytes, Dialect::Current);
            return list.map_err(bad_output);
        }
        read_answer(bytes, Dialect::Current).map_err(|error| match error {
            AnswerError::Read(error) => bad_output(error),
            error => {
                let function = kiln_go::quote(self.function.name());
                let text = format!("function {function} did not return a ResourceList: {error}");
                CallError::Failure(Failure::NoItems(text))
            }
        })
    }

    /// The output of the function, and its failure.
    fn take_outcome(
        &self,
        ran: Result<Outcome, RunError>,
        result: &mut FunctionResult,
    ) -> (Output, Option<CallError>) {
        let nothing = || Output::Wire(Vec::new().into());
        match ran {
            Ok(outcome) => {
                result.stderr = outcome.stderr_text().into_owned();
                result.exit_code = i64::from(outcome.exit_code);
                if let (RenderCompat::Kiln, Some(identity)) =
                    (self.options.compat, &outcome.identity)
                {
                    result.identity = identity.to_string();
                }
                if outcome.signal.is_some() && self.options.compat == RenderCompat::Kiln {
                    // kpt reports -1 without the signal.
                    if !result.stderr.is_empty() && !result.stderr.ends_with('\n') {
                        result.stderr.push('\n');
                    }
                    result.stderr.push_str(&outcome.exit_text());
                }
                let error = (!outcome.is_success()).then(|| CallError::Exit(Exit::of(&outcome)));
                (outcome.output, error)
            }
            Err(RunError::TimedOut { stderr, .. }) if self.options.compat == RenderCompat::Kpt => {
                result.stderr = String::from_utf8_lossy(&stderr).into_owned();
                result.exit_code = -1;
                // kpt reports the signal with which it ends the function.
                let exit = Exit {
                    code: -1,
                    signal: Some(9),
                    text: "signal: killed".to_owned(),
                };
                (nothing(), Some(CallError::Exit(exit)))
            }
            Err(RunError::NotStarted(error)) => {
                let failure = Failure::NotStarted(Box::new(error));
                (nothing(), Some(CallError::Failure(failure)))
            }
            Err(RunError::Unavailable(error)) => {
                let failure = Failure::Unavailable(Unavailability::new(error));
                (nothing(), Some(CallError::Failure(failure)))
            }
            Err(RunError::Denied(error)) => {
                let failure = Failure::Denied(Unavailability::new(error));
                (nothing(), Some(CallError::Failure(failure)))
            }
            Err(error @ (RunError::NotFound(_) | RunError::Declined(_))) => {
                let failure = Failure::NotFound(error.to_string());
                (nothing(), Some(CallError::Failure(failure)))
            }
            Err(RunError::Remote(error)) => {
                let failure = Failure::Remote {
                    text: kiln_go::error_chain(error.as_ref()),
                    problem: PeerProblem::of(error.as_ref()),
                };
                (nothing(), Some(CallError::Failure(failure)))
            }
            Err(error) => (
                nothing(),
                Some(CallError::from(kiln_go::error_chain(&error))),
            ),
        }
    }
}

/// Whether a function in another process returned the bytes that it was given: nothing needs to be parsed or restored.
fn is_as_given(ran: &Result<Outcome, RunError>, input: &Input<'_>) -> bool {
    match ran {
        Ok(Outcome {
            output: Output::Wire(bytes),
            ..
        }) => !bytes.is_empty() && bytes.as_ref() == input.wire().as_bytes(),
        _ => false,
    }
}

/// What is reported about a call.
struct CallAccount {
    result: Box<FunctionResult>,
    is_cached: bool,
    /// Whether the result belongs to the results of the command: the call was not refused before.
    is_reported: bool,
}

/// The output of a function before it is checked.
struct Filtered {
    returned: Vec<Returned>,
    reported: Option<Document>,
    error: Option<CallError>,
}

impl Filtered {
    fn failed(error: CallError) -> Filtered {
        Filtered {
            returned: Vec::new(),
            reported: None,
            error: Some(error),
        }
    }
}

enum CallError {
    /// The function failed by its exit code or by a signal.
    Exit(Exit),
    Failure(Failure),
}

impl CallError {
    fn without_secrets(self, secrets: &SecretMask) -> CallError {
        match self {
            CallError::Exit(exit) => CallError::Exit(exit),
            CallError::Failure(failure) => CallError::Failure(failure.without_secrets(secrets)),
        }
    }
}

impl From<String> for CallError {
    fn from(text: String) -> CallError {
        CallError::Failure(Failure::Text(text))
    }
}

fn text(error: impl std::error::Error) -> CallError {
    CallError::from(error.to_string())
}

fn bad_output(error: impl std::error::Error) -> CallError {
    CallError::Failure(Failure::BadOutput(error.to_string()))
}

fn not_krm(error: ListNotKrm) -> CallError {
    CallError::Failure(Failure::NotKrm(Box::new(error)))
}

/// What names resources and files, and so is in logs anyway.
fn public_names(inputs: &[Resource]) -> HashSet<&str> {
    let names = inputs.iter().flat_map(|input| {
        let meta = input.meta();
        let (path, _) = input.file_place();
        [meta.api_version, meta.kind, meta.name, meta.namespace, path]
    });
    names.collect()
}

/// Assigns returned resources to the calling package unless they name another.
fn set_package(
    returned: &mut [Returned],
    inputs: &mut [Resource],
    package: &str,
) -> Result<(), CallError> {
    for item in returned {
        let Some(resource) = item.resource_mut(inputs) else {
            continue;
        };
        let given = resource.annotation(PACKAGE_PATH).unwrap_or_default();
        // What has an annotation has metadata.
        if !given.is_empty() {
            continue;
        }
        if resource.meta().is_missing {
            return Err(text(paths::PathError::NoMetadata));
        }
        resource
            .set_annotation(PACKAGE_PATH, package)
            .map_err(text)?;
    }
    Ok(())
}
