//! Scripts of the older `fn run`, which are separate files.
//!
//! They run in kyaml's own runtime of 2020: without `load`, with a smaller language, and the output has the order of
//! kyaml's formatter.

use std::time::Instant;

use kiln_krm::{Resource, ResourceList};
use kiln_runtime::{Input, Outcome, Output, RunContext, RunError, Runner};
use kiln_starlark::Dialect;

use super::execute::{ExecuteError, Lines, Script};
use crate::function::{Context, NoFiles};
use crate::output::Printed;
use crate::port::kyaml::format;

/// A script as a function.
pub struct StarlarkScript {
    /// The file name in messages.
    pub name: String,
    pub source: Vec<u8>,
    /// The environment of the script: `NAME=value`.
    pub environment: Vec<String>,
}

/// The error of a failed script.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ScriptError(String);

impl Runner for StarlarkScript {
    fn run(&self, input: &Input<'_>, run: &RunContext) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let ctx = Context {
            environment: &self.environment,
            run,
            files: &NoFiles,
        };
        let mut stderr = Printed::default();
        let items = self.transform(input, &ctx, &mut stderr);
        let stderr = stderr.into_string().into_bytes();
        let items = match items {
            Ok(items) => Ok(items),
            Err(ExecuteError::Message(message)) => Err(message),
            Err(ExecuteError::Stopped) => {
                run.stopped_stderr.set(stderr.clone());
                return Err(match run.deadline.filter(|_| !run.cancel.is_cancelled()) {
                    Some(deadline) => RunError::TimedOut {
                        timeout: deadline.timeout,
                        stderr,
                    },
                    None => RunError::Cancelled,
                });
            }
        };
        if let Some(listener) = &run.on_stderr {
            listener.receive(&stderr);
        }
        let items = items.map_err(|error| RunError::Unavailable(Box::new(ScriptError(error))))?;
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output: Output::List(ResourceList {
                items,
                ..ResourceList::default()
            }),
            stderr,
            elapsed: started.elapsed(),
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        true
    }
}

impl StarlarkScript {
    fn transform(
        &self,
        input: &Input<'_>,
        ctx: &Context<'_>,
        stderr: &mut Printed,
    ) -> Result<Vec<Resource>, ExecuteError> {
        let items: Vec<Resource> = input.items().iter().map(Resource::clone).collect();
        let script = Script {
            name: &self.name,
            source: &self.source,
            dialect: Dialect::of_2020(),
            api_version: "config.kubernetes.io/v1",
            lines: Lines::OfList,
            load: None,
        };
        let items = script.run(&items, input.function_config(), ctx, stderr)?;
        let items = items
            .into_iter()
            .map(|item| -> Result<Resource, ExecuteError> {
                let mut document = item.document;
                format(&mut document, None).map_err(|error| error.to_string())?;
                if item.is_unsettled {
                    let text = kiln_yaml::to_string(&document, kiln_yaml::SequenceStyle::Compact);
                    if let Ok(Some(read)) = kiln_yaml::parse(&text) {
                        document = read;
                    }
                }
                Ok(Resource::new(document))
            });
        items.collect()
    }
}
