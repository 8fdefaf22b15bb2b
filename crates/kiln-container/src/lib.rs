//! Functions that are images, run by docker, podman or nerdctl.
//!
//! [`ContainerEvaluator`] runs every image through the engine's command line, with exactly the arguments that kpt uses
//! or, in [`CommandStyle::Kiln`], with a name in addition, by which the container can be killed when its client is
//! gone.
//!
//! It does not connect to registries: the engine pulls images.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod command;
mod engine;
mod evaluator;
mod progress_lines;

pub use command::{CommandStyle, ContainerOptions, Mount, PullPolicy};
pub use engine::{Engine, EngineError};
pub use evaluator::{ContainerEvaluator, TagListError};
