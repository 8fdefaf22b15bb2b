//! Assembles the chain of evaluators for every program.
//!
//! [`ChainOptions`] say which evaluators a program has; [`ChainOptions::chain`] puts them in the one order there is:
//!
//! | evaluator | runs | `fn render`, `fn eval` | `fn run` | `rpkg` | function-runner | `kiln serve` |
//! |---|---|---|---|---|---|---|
//! | own | what only this program runs or refuses | yes | | yes | | |
//! | exec | programs; images that a table or a FunctionConfig maps to programs | yes | yes | on request | yes | yes |
//! | native | images of the catalog that are built in | yes | | yes | yes | yes |
//! | remote | images, by another function runner | on request | | on request | | |
//! | container | images, by a container engine | yes | yes | | | |
//! | pod | images, in pods of a cluster | | | | yes | |
//!
//! Exec comes before native because it knows only the images that a table lists, and a listed image runs as listed.
//! The rule about functions that an evaluator does not know is [`EvaluatorChain`]'s.

mod configured;

use std::sync::Arc;

pub use configured::FunctionConfigs;
use configured::{ConfiguredNative, ConfiguredPrograms};
use kiln_exec::{ExecEvaluator, TableEvaluator};
use kiln_functions::registry::Registry;
use kiln_functions::{Files, NativeEvaluator};
use kiln_runtime::{Evaluator, EvaluatorChain};

/// The name of the evaluator of programs, as logs and answers have it.
pub const EXEC: &str = "exec";
/// The name of the evaluator of built-in functions.
pub const NATIVE: &str = "native";
/// The name of the evaluator that asks another function runner.
pub const REMOTE: &str = "remote";
/// The name of the evaluator that calls a container engine.
pub const CONTAINER: &str = "container";
/// The name of the evaluator of pods.
pub const POD: &str = "pod";

/// Which evaluators a program has. The default has none.
#[derive(Default)]
pub struct ChainOptions {
    /// Evaluators of this program alone, by name. They are asked first.
    pub own: Vec<(&'static str, Arc<dyn Evaluator>)>,
    /// Programs of this machine.
    pub exec: Option<ExecOptions>,
    /// Built-in functions.
    pub native: Option<NativeOptions>,
    /// Another function runner.
    pub remote: Option<Arc<dyn Evaluator>>,
    /// A container engine.
    pub container: Option<Arc<dyn Evaluator>>,
    /// Pods of a cluster.
    pub pods: Option<Arc<dyn Evaluator>>,
    /// Where callers send short names of images: what these begin with.
    pub image_prefix: Option<String>,
    /// What FunctionConfig objects of the cluster say, which exec and native follow.
    pub function_configs: Option<Arc<dyn FunctionConfigs>>,
}

/// How programs are run.
pub struct ExecOptions {
    /// Runs programs, in a sandbox or as the user.
    pub programs: ExecEvaluator,
    /// Maps images to programs.
    pub table: Option<TableEvaluator>,
}

/// How built-in functions are run.
#[derive(Clone, Default)]
pub struct NativeOptions {
    /// How they get their input.
    pub form: NativeForm,
    /// Whether a function that does not end in time is left behind. For programs that end then.
    pub is_watched: bool,
    /// The files that functions see besides their input.
    pub files: Option<Arc<dyn Files>>,
}

/// In which form built-in functions get their input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NativeForm {
    /// As trees, which saves writing and parsing.
    #[default]
    Trees,
    /// As text, exactly as the programs that they stand for.
    Wire,
}

impl NativeOptions {
    /// The evaluator of built-in functions.
    pub fn evaluator(&self) -> NativeEvaluator {
        let registry = Registry::builtin();
        let mut native = match self.form {
            NativeForm::Trees => NativeEvaluator::new(registry),
            NativeForm::Wire => NativeEvaluator::through_the_wire(registry),
        };
        if let Some(files) = &self.files {
            native = native.with_files(Arc::clone(files));
        }
        match self.is_watched {
            true => native.watched(),
            false => native,
        }
    }
}

impl ChainOptions {
    /// The chain of the evaluators that are on.
    pub fn chain(self) -> EvaluatorChain {
        let prefix = self.image_prefix;
        let configs = self.function_configs;
        let mut chain = self.own;
        if let Some(ExecOptions { programs, table }) = self.exec {
            chain.push(match (table, &configs) {
                (None, None) => (EXEC, Arc::new(programs)),
                (table, configs) => {
                    let exec = ConfiguredPrograms {
                        programs,
                        table,
                        prefix: prefix.clone().unwrap_or_default(),
                        configs: configs.clone(),
                    };
                    (EXEC, Arc::new(exec))
                }
            });
        }
        if let Some(native) = self.native {
            let native = native.evaluator();
            chain.push(match prefix {
                None => (NATIVE, Arc::new(native)),
                Some(prefix) => {
                    let native = ConfiguredNative {
                        native,
                        prefix,
                        configs,
                    };
                    (NATIVE, Arc::new(native))
                }
            });
        }
        let outside = [
            (REMOTE, self.remote),
            (CONTAINER, self.container),
            (POD, self.pods),
        ];
        chain.extend(
            outside
                .into_iter()
                .filter_map(|(name, it)| Some((name, it?))),
        );
        EvaluatorChain::new(chain)
    }
}

#[cfg(test)]
mod tests;
