//! Hints for images that cannot run, and the list of functions that need a container engine.

use std::error::Error;

use kiln_go::quote;
use kiln_image::{ImageRunError, LeftToNext, NoLevelReason, StartProblem};
use kiln_krm::package::FileSource;
use kiln_runtime::NotFoundThenUnavailable;
use kiln_sandbox::SandboxError;
use kiln_wasm::{WasmError, WasmImageError};

use super::evaluators::EvaluatorSetup;
use crate::error::image;
use crate::package::kptfiles;

/// The directory of a package, if there is one, and an image.
pub(crate) type ContainerFunction = (Option<String>, String);

/// The functions of a package and its sub-packages that only a container engine can run, in the order of the packages.
/// Unreadable Kptfiles are skipped: the hint is about another error.
pub(crate) fn of_package(files: &dyn FileSource, setup: &EvaluatorSetup) -> Vec<ContainerFunction> {
    let mut found = Vec::new();
    for (directory, kptfile) in kptfiles(files) {
        let Some(pipeline) = kptfile.pipeline else {
            continue;
        };
        let functions = pipeline.mutators.iter().chain(&pipeline.validators);
        let images = functions.filter_map(|function| setup.image_for_engine(function));
        found.extend(images.map(|image| (Some(directory.clone()), image)));
    }
    found
}

/// The hint for an evaluator that is not available. `functions` are those that need a container engine.
pub(crate) fn unavailable(
    error: &(dyn Error + Send + Sync + 'static),
    functions: &[ContainerFunction],
) -> Option<String> {
    // What is wrong with a module is in the message; an engine cannot run it either.
    if error.is::<WasmError>() || error.is::<WasmImageError>() {
        return None;
    }
    if let Some(error) = error.downcast_ref::<ImageRunError>() {
        return Some(image_hint(error));
    }
    if let Some(error) = error.downcast_ref::<LeftToNext>() {
        return Some(image_hint(&error.0));
    }
    match error.downcast_ref::<SandboxError>() {
        Some(SandboxError::Mount { .. }) => return Some("check the paths of --mount".to_owned()),
        Some(_) => return Some(doctor()),
        None => {}
    }
    let not_found = error.downcast_ref::<NotFoundThenUnavailable>();
    let left = not_found.and_then(|both| both.not_found.downcast_ref::<LeftToNext>());
    Some(match left {
        // An engine would pull the same image from the same registry.
        Some(LeftToNext(error @ ImageRunError::Pull { .. })) => image_hint(error),
        Some(LeftToNext(error)) => format!("{}; or: {}", image_hint(error), hint(functions)),
        None => hint(functions),
    })
}

/// What to do about an image that kiln does not run.
fn image_hint(error: &ImageRunError) -> String {
    let hint = match error {
        ImageRunError::OpenStore(error) => return image::open(error),
        ImageRunError::Store(error) => return image::store(error).unwrap_or_else(doctor),
        ImageRunError::Pull { source, .. } => {
            let (_, hint) = image::pull(source);
            return hint.unwrap_or_else(doctor);
        }
        ImageRunError::NoStore => "set KILN_STORE or HOME to a directory for the image store",
        ImageRunError::Reference { .. } => "write the image as HOST/NAME:TAG or HOST/NAME@DIGEST",
        ImageRunError::MountKind { .. } => "use a mount of type bind, or --image-runtime=docker",
        ImageRunError::User { .. } => "give numbers for the user and the group",
        ImageRunError::NotStarted { source, .. } => match &**source {
            StartProblem::Platform { machine, .. } => {
                return format!("use an image for {machine}");
            }
            StartProblem::Machine(_) => "use a program for this machine",
            StartProblem::Interpreter(_) => "add it to the image, or link the program statically",
            StartProblem::Permission => "make it executable for all users in the image: chmod a+rx",
            StartProblem::NotAProgram | StartProblem::Other(_) => {
                "use an image with an entrypoint that is a program"
            }
        },
        ImageRunError::NoCommand { .. }
        | ImageRunError::NoProgram { .. }
        | ImageRunError::Artifact { .. } => "use an image with an entrypoint that is a program",
        ImageRunError::WorkingDirectory { .. } => {
            "use an image whose working directory is a directory"
        }
        ImageRunError::NoLevel { source, .. } => match &**source {
            NoLevelReason::Path(_) => {
                "choose another working directory, program or mount: kiln makes /proc, /sys and /dev itself"
            }
            _ => return doctor(),
        },
        ImageRunError::Thread(_) | ImageRunError::Read { .. } => return doctor(),
    };
    hint.to_owned()
}

fn doctor() -> String {
    "`kiln doctor` shows which ways to run images work here, and how to enable the others"
        .to_owned()
}

/// The hint, with the list of functions.
pub(crate) fn hint(functions: &[ContainerFunction]) -> String {
    let mut text = String::from(
        "no container engine is available. Install docker, or set KRM_FN_RUNTIME to podman or nerdctl. \
         These functions need it:",
    );
    for (directory, image) in functions {
        text.push_str(&format!("\n  {image}"));
        if let Some(directory) = directory {
            let shown = if directory.is_empty() { "." } else { directory };
            text.push_str(&format!(" in {}", quote(shown)));
        }
    }
    text
}
