//! The container engine of kpt, without which it renders no package with images.

use std::cell::OnceCell;

use kiln_container::Engine;
use kiln_krm::kptfile::{FILE_NAME, Function, Kptfile};
use kiln_task::Contents;

use crate::environment::{KRM_FN_RUNTIME, PATH};
use crate::interrupt::on_interrupt;
use crate::real_program;

/// The functions in pipelines of a package that are images: for these kpt needs an engine.
pub(super) fn functions_with_images(package: &Contents) -> Vec<Function> {
    let paths = package.paths().map(|path| path.as_str());
    let kptfiles = paths.filter(|path| path.rsplit('/').next() == Some(FILE_NAME));
    let pipelines = kptfiles.filter_map(|path| {
        let kptfile = Kptfile::read(package.bytes(path)?).ok()?;
        kptfile.pipeline
    });
    let functions = pipelines.flat_map(|pipeline| {
        let (mutators, validators) = (pipeline.mutators, pipeline.validators);
        mutators.into_iter().chain(validators)
    });
    functions
        .filter(|function| !function.image.is_empty())
        .collect()
}

/// The container engine that kpt uses. Whether it is there is found out when kpt fails.
#[derive(Default)]
pub(super) struct EngineOfKpt {
    problem: OnceCell<Option<String>>,
}

impl EngineOfKpt {
    fn setting() -> String {
        std::env::var(KRM_FN_RUNTIME).unwrap_or_default()
    }

    /// The name of the engine, if it is a link to kiln.
    pub(super) fn link_to_kiln(&self) -> Option<&'static str> {
        let name = Engine::parse(&EngineOfKpt::setting()).ok()?.program();
        real_program::is_first_on_path(name).then_some(name)
    }

    /// Why kpt cannot use it; `None` if it can.
    pub(super) fn problem(&self) -> Option<&str> {
        let problem = self.problem.get_or_init(|| {
            let engine = match Engine::parse(&EngineOfKpt::setting()) {
                Ok(engine) => engine,
                Err(error) => return Some(error.to_string()),
            };
            let search_path = std::env::var_os(PATH).unwrap_or_default();
            // A check that was cancelled says nothing.
            let checked = engine.check(&search_path, &on_interrupt()).ok()?;
            checked.err().map(|error| error.to_string())
        });
        problem.as_deref()
    }

    /// The problem, if it was looked for and found.
    pub(super) fn found_problem(&self) -> Option<&str> {
        self.problem.get()?.as_deref()
    }
}
