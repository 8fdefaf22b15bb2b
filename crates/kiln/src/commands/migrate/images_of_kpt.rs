//! How kpt runs images, and why it cannot.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use kiln_task::Contents;

use super::function_programs::FunctionPrograms;
use super::kpt_engine::{EngineOfKpt, functions_with_images};
use crate::environment::KRM_FN_RUNTIME;
use crate::ui::Ui;

/// How kpt runs images.
pub(super) enum ImagesOfKpt {
    Engine(EngineOfKpt),
    Programs {
        programs: FunctionPrograms,
        /// The variables of kpt.
        environment: Vec<(OsString, OsString)>,
    },
}

impl ImagesOfKpt {
    /// The programs in a directory, else a container engine.
    pub(super) fn find(functions: Option<&Path>) -> Result<ImagesOfKpt> {
        let Some(directory) = functions else {
            return Ok(ImagesOfKpt::Engine(EngineOfKpt::default()));
        };
        let programs = FunctionPrograms::open(directory)?;
        Ok(ImagesOfKpt::Programs {
            environment: programs.environment()?,
            programs,
        })
    }

    pub(super) fn environment(&self) -> Option<&[(OsString, OsString)]> {
        match self {
            ImagesOfKpt::Engine(_) => None,
            ImagesOfKpt::Programs { environment, .. } => Some(environment),
        }
    }

    /// Why kpt, which failed, cannot run the images of a package.
    pub(super) fn problem(&self, package: &Contents) -> Option<String> {
        match self {
            ImagesOfKpt::Engine(_) if functions_with_images(package).is_empty() => None,
            ImagesOfKpt::Engine(engine) => {
                let problem = engine.problem();
                problem.map(|_| "kpt has no container engine".to_owned())
            }
            ImagesOfKpt::Programs { programs, .. } => {
                let missing = programs.missing(package).join(", ");
                let is_missing = !missing.is_empty();
                is_missing.then(|| format!("there is no program {missing}"))
            }
        }
    }

    /// Prints what restricts the comparison of all packages.
    pub(super) fn print_notes(&self, ui: &Ui) {
        match self {
            ImagesOfKpt::Engine(engine) => {
                if let Some(name) = engine.link_to_kiln() {
                    ui.warn(&format!(
                        "{name} on the PATH is a link to kiln, so kpt ran kiln's functions, and only the rendering was compared"
                    ));
                }
                if let Some(problem) = engine.found_problem() {
                    let problem = problem.lines().next().unwrap_or_default();
                    ui.print_message(&format!(
                        "kpt has no container engine ({problem}), so packages with images were not compared; start docker, set \
                         {KRM_FN_RUNTIME} to podman or nerdctl, pass the original functions as programs with --functions, or put \
                         a link to kiln first on the PATH (kiln function install --docker DIR)"
                    ));
                }
            }
            ImagesOfKpt::Programs { programs, .. } => {
                if programs.have_links_to_kiln() {
                    ui.warn(
                        "programs of --functions are links to kiln, so kpt ran kiln's functions, and only the rendering was compared",
                    );
                }
            }
        }
    }
}
