//! Functions that are images, run by docker, podman or nerdctl.
//!
//! [`ContainerEvaluator`] runs every image through the engine's command line, with exactly the arguments that kpt uses
//! or, in [`CommandStyle::Kiln`], with a name in addition, by which the container can be killed when its client is
//! gone.
//!
//! It does not connect to registries: the engine pulls images.

mod command;
mod engine;
mod evaluator;
mod progress_lines;

pub use command::{CommandStyle, ContainerOptions, LEGACY_VARIABLES};
pub use engine::{Engine, EngineError};
pub use evaluator::{ContainerEvaluator, TagListError};
pub use kiln_oci::PullPolicy;
pub use kiln_runtime::Mount;
