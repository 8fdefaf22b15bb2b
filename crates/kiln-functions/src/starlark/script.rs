//! Scripts of the older `fn run`, which are files of their own.
//!
//! They run in kyaml's own runtime of 2020: without `load`, with a smaller language, and what comes out is put in the order
//! of kyaml's formatter.

use std::time::Instant;

use kiln_krm::{Resource, ResourceList};
use kiln_runtime::{Input, Outcome, Output, RunContext, RunError, Runner};
use kiln_starlark::{Dialect, Limits, Program, World};

use super::{context_value, decode, encode};
use crate::function::{Context, NoFiles};
use crate::sdk::kyaml::format;

/// A script as a function.
pub struct StarlarkScript {
    /// What messages call it.
    pub name: String,
    /// The script.
    pub source: Vec<u8>,
    /// What it sees of the environment: `NAME=value`.
    pub environment: Vec<String>,
}

/// A script that failed, in its own words.
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
        let mut stderr = Vec::new();
        let mut stopped = false;
        let items = self.transform(input, &ctx, &mut stderr, &mut stopped);
        if stopped {
            return Err(match run.deadline.filter(|_| !run.cancel.is_cancelled()) {
                Some(deadline) => RunError::TimedOut {
                    timeout: deadline.timeout,
                    stderr,
                },
                None => RunError::Cancelled,
            });
        }
        if let Some(listener) = &run.on_stderr {
            listener.hear(&stderr);
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
        stderr: &mut Vec<u8>,
        stopped: &mut bool,
    ) -> Result<Vec<Resource>, String> {
        let items: Vec<Resource> = input.items().iter().map(Resource::clone).collect();
        let list = decode::resource_list(&items, input.function_config())?;
        let dialect = Dialect::of_2020();
        let program = Program::parse(&self.name, &self.source, &dialect, &|name| name == "ctx");
        let program = program.map_err(|error| error.to_string())?;
        let mut print = |line: &[u8]| {
            stderr.extend_from_slice(line);
            stderr.push(b'\n');
        };
        let mut interrupt = || {
            *stopped = ctx.check().is_err();
            stopped.then(|| "time is up".to_owned())
        };
        let mut world = World {
            limits: Limits::default(),
            print: &mut print,
            load: &mut |_| Err(String::new()),
            interrupt: &mut interrupt,
        };
        if !program.loads().is_empty() {
            return Err("load not implemented by this application".to_owned());
        }
        let predeclared = [("ctx", context_value(list.clone(), ctx.environment))];
        // While it lives, the values are whole.
        let _run = program
            .run(&predeclared, &mut world)
            .map_err(|error| error.to_string())?;
        let values = encode::items(&list)?;
        values
            .iter()
            .map(encode::item)
            .map(|item| {
                let mut document = item.document;
                format(&mut document, None).map_err(|error| error.to_string())?;
                if item.is_unsettled {
                    let text = kiln_yaml::to_string(&document, kiln_yaml::SequenceStyle::Compact);
                    if let Ok(Some(read)) = kiln_yaml::parse(&text) {
                        document = read;
                    }
                }
                Ok(Resource::new(document))
            })
            .collect()
    }
}
