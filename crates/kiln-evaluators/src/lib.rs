//! Assembles the chain of evaluators for every program.
//!
//! [`ChainOptions`] select the evaluators of a program; [`ChainOptions::chain`] puts them in the one order:
//!
//! | evaluator | runs | `fn render`, `fn eval` | `fn run` | `rpkg` | function-runner | `kiln serve` |
//! |---|---|---|---|---|---|---|
//! | own | what only this program runs or refuses | yes | | yes | | |
//! | wasm | programs that are WebAssembly modules | yes | | | | |
//! | exec | programs; images that a table or a FunctionConfig maps to programs | yes | yes | on request | yes | yes |
//! | native | images of the catalog that are built in | yes | | yes | yes | yes |
//! | wasm | images that are WebAssembly modules | yes | | yes | yes | yes |
//! | remote | images, by another function runner | on request | | on request | | |
//! | image | images, from the store and without a container engine | yes | yes | | yes | yes |
//! | container | images, by a container engine | yes | yes | | | |
//! | pod | images, in pods of a cluster | | | | yes | |
//!
//! Modules come before exec because exec takes every program, and after native because a built-in function needs no registry.
//! Exec comes before native because it knows only the images that a table lists, and a listed image runs as listed.
//! [`EvaluatorChain`] has the rule for functions that an evaluator does not know.
//!
//! A policy decides about each evaluator except the program's own: what is part of a program is not an image. A function with
//! a pin is found by its digest, so that a policy sees the digest too.

mod cached;
mod configured;
mod function_links;
mod pinned;
mod policed;
mod policy_guard;
mod wasm_programs;

use std::path::PathBuf;
use std::sync::Arc;

pub use cached::{AnswerCache, CacheEvent, CacheMode, CacheModeError};
pub use configured::FunctionConfigs;
use configured::{ConfiguredNative, ConfiguredPrograms, PrefixedImages};
use kiln_exec::{ExecEvaluator, WatchedTable};
use kiln_functions::registry::Registry;
use kiln_functions::{Files, NativeEvaluator};
use kiln_runtime::{Evaluator, EvaluatorChain};
use pinned::PinnedEvaluator;
pub use pinned::by_digest;
use policed::{PolicedEvaluator, way};
pub use policy_guard::{PolicyGuard, VerifierOptions};
use wasm_programs::ModulePrograms;
pub use wasm_programs::{WasmChainOptions, WasmImageOrder, WasmPrograms};

/// The name of the evaluator of programs, in logs and responses.
pub const EXEC: &str = "exec";
/// The name of the evaluator of built-in functions.
pub const NATIVE: &str = "native";
/// The name of the evaluators of WebAssembly.
pub const WASM: &str = "wasm";
/// The name of the evaluator that calls another function runner.
pub const REMOTE: &str = "remote";
/// The name of the evaluator that runs images from the store.
pub const IMAGE: &str = "image";
/// The name of the evaluator that calls a container engine.
pub const CONTAINER: &str = "container";
/// The name of the evaluator of pods.
pub const POD: &str = "pod";

/// Which evaluators a program has. The default has none.
#[derive(Default)]
pub struct ChainOptions {
    /// Evaluators of this program only, by name. They are asked first.
    pub own: Vec<(&'static str, Arc<dyn Evaluator>)>,
    pub exec: Option<ExecOptions>,
    pub native: Option<NativeOptions>,
    pub wasm: Option<WasmChainOptions>,
    pub remote: Option<Arc<dyn Evaluator>>,
    pub image: Option<Arc<dyn Evaluator>>,
    pub container: Option<Arc<dyn Evaluator>>,
    pub pods: Option<Arc<dyn Evaluator>>,
    /// The prefix of short image names, if callers send them.
    pub image_prefix: Option<String>,
    /// The file of this program, if links to it run built-in functions: images may be mapped to such links.
    pub own_program: Option<PathBuf>,
    /// Mappings of the cluster, which exec and native follow.
    pub function_configs: Option<Arc<dyn FunctionConfigs>>,
    /// Answers that are kept, for evaluators whose functions can be reproducible.
    pub answers: Option<Arc<AnswerCache>>,
    /// Which functions may run, and how. Every evaluator is asked only for what it allows.
    pub policy: Option<Arc<PolicyGuard>>,
}

/// Settings of the exec evaluator.
pub struct ExecOptions {
    /// Runs programs, in a sandbox or as the user.
    pub programs: ExecEvaluator,
    /// Maps images to programs.
    pub table: Option<WatchedTable>,
}

/// Settings of the native evaluator.
#[derive(Clone, Default)]
pub struct NativeOptions {
    pub form: NativeForm,
    /// Whether to leave a function behind that exceeds its deadline. For programs that exit then.
    pub is_watched: bool,
    /// The files that functions can read besides their input.
    pub files: Option<Arc<dyn Files>>,
}

/// The form of the input of built-in functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NativeForm {
    /// As trees, which saves encoding and parsing.
    #[default]
    Trees,
    /// As text, like the programs that they replace.
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
    /// The chain of the enabled evaluators.
    pub fn chain(self) -> EvaluatorChain {
        let prefix = self.image_prefix;
        let own = self.own.len();
        let policy = self.policy;
        let short_names = prefix.clone();
        let configs = self.function_configs;
        let mut chain = self.own;
        let mut wasm_images = None;
        if let Some(wasm) = self.wasm {
            let programs = ModulePrograms {
                modules: wasm.modules,
                programs: wasm.programs,
            };
            if wasm.programs != WasmPrograms::Nothing {
                chain.push((WASM, Arc::new(programs)));
            }
            match (wasm.images, wasm.image_order) {
                (Some(images), WasmImageOrder::First) => chain.push((WASM, Arc::new(images))),
                (images, _) => {
                    let images = images.map(|images| Arc::new(images) as Arc<dyn Evaluator>);
                    wasm_images = images.map(|images| with_full_names(images, prefix.as_deref()));
                }
            }
        }
        if let Some(ExecOptions { programs, table }) = self.exec {
            chain.push(match (table, &configs) {
                (None, None) => (EXEC, Arc::new(programs)),
                (table, configs) => {
                    let exec = ConfiguredPrograms {
                        programs,
                        table,
                        prefix: prefix.clone().unwrap_or_default(),
                        configs: configs.clone(),
                        own_program: self.own_program,
                    };
                    (EXEC, Arc::new(exec))
                }
            });
        }
        if let Some(native) = self.native {
            let native = native.evaluator();
            chain.push(match prefix.clone() {
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
        let image = self.image.map(|image| match prefix {
            None => image,
            Some(prefix) => Arc::new(PrefixedImages { image, prefix }),
        });
        let outside = [
            (WASM, wasm_images),
            (REMOTE, self.remote),
            (IMAGE, image),
            (CONTAINER, self.container),
            (POD, self.pods),
        ];
        chain.extend(
            outside
                .into_iter()
                .filter_map(|(name, it)| Some((name, it?))),
        );
        if let Some(answers) = &self.answers {
            // Inside of the policy, which decides before an answer is looked up.
            for (name, evaluator) in chain.iter_mut().skip(own) {
                *evaluator = answers.wrap(name, Arc::clone(evaluator));
            }
        }
        let guarded = chain
            .into_iter()
            .enumerate()
            .map(|(at, (name, mut evaluator))| {
                // The program's own come first.
                let Some(way) = way(name).filter(|_| at >= own) else {
                    return (name, evaluator);
                };
                if let Some(policy) = &policy {
                    evaluator = Arc::new(PolicedEvaluator {
                        evaluator,
                        way,
                        prefix: short_names.clone(),
                        guard: Arc::clone(policy),
                    });
                }
                let pinned: Arc<dyn Evaluator> = Arc::new(PinnedEvaluator { evaluator, way });
                (name, pinned)
            });
        EvaluatorChain::new(guarded.collect())
    }
}

/// An evaluator of images that callers may name without a prefix.
fn with_full_names(image: Arc<dyn Evaluator>, prefix: Option<&str>) -> Arc<dyn Evaluator> {
    match prefix {
        None => image,
        Some(prefix) => Arc::new(PrefixedImages {
            image,
            prefix: prefix.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
