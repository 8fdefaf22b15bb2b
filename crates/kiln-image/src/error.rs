//! Why an image is not run.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_oci::ImageReferenceError;
use kiln_sandbox::SandboxError;
use kiln_store::{OpenStoreError, PullError, StoreError};

use crate::start_problem::StartProblem;

/// Why an image is not run.
#[derive(Debug, thiserror::Error)]
pub enum ImageRunError {
    #[error("there is no directory for the image store")]
    NoStore,
    #[error(transparent)]
    OpenStore(OpenStoreError),
    #[error(transparent)]
    Store(StoreError),
    #[error("{image:?} is not a reference of an image")]
    Reference {
        image: String,
        source: ImageReferenceError,
    },
    #[error("cannot pull image {image:?}")]
    Pull {
        image: String,
        source: Arc<PullError>,
    },
    #[error("cannot start the thread that pulls images")]
    Thread(#[source] std::io::Error),
    /// The image has neither an entrypoint nor a command.
    #[error("image {image:?} has no command")]
    NoCommand { image: String },
    #[error("image {image:?} has no executable {program:?}")]
    NoProgram { image: String, program: String },
    #[error("cannot start {program:?} of image {image:?}")]
    NotStarted {
        image: String,
        program: String,
        source: Box<StartProblem>,
    },
    #[error("the working directory {directory:?} of image {image:?} is a file")]
    WorkingDirectory { image: String, directory: String },
    /// It has no files, but for example WebAssembly.
    #[error("{image:?} is an artifact and not an image with files")]
    Artifact { image: String },
    #[error("--mount: a mount of type {kind:?} needs a container engine")]
    MountKind { kind: String },
    #[error("{user:?} is not a user: expected UID:GID")]
    User { user: String },
    #[error("cannot read {path} of image {image:?}")]
    Read {
        image: String,
        path: &'static str,
        source: std::io::Error,
    },
    /// No level of isolation can run the image on this system.
    #[error("image {image:?} cannot run here without a container engine")]
    NoLevel {
        image: String,
        source: Arc<NoLevelReason>,
    },
}

/// Why no level of isolation can run an image.
#[derive(Debug, thiserror::Error)]
pub enum NoLevelReason {
    #[error("namespaces")]
    Namespaces(#[source] Arc<SandboxError>),
    /// Namespaces do not work here, and the program needs files at the paths of the image.
    #[error(
        "namespaces do not work, and {} is not a static program, which would run without them",
        program.display()
    )]
    NotStatic {
        program: PathBuf,
        source: Arc<SandboxError>,
    },
    #[error("{} is not a static program, as the level landlock needs", program.display())]
    LandlockNeedsStatic { program: PathBuf },
    /// An engine has its own rules for such paths.
    #[error("namespaces")]
    Path(#[source] Box<SandboxError>),
    #[error("mounts need namespaces")]
    MountsNeedNamespaces,
    #[error("landlock")]
    Landlock(#[source] SandboxError),
}

/// An error after which the next evaluator is tried. With its causes in one line, because the error of that evaluator
/// follows.
#[derive(Debug, thiserror::Error)]
#[error("{}", kiln_go::error_chain(.0))]
pub struct LeftToNext(pub ImageRunError);
