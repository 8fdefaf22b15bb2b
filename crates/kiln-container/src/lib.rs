//! Functions that are images, run by docker, podman or nerdctl.
//!
//! [`ContainerEvaluator`] takes every image and calls the engine's command line, in exactly the words that kpt uses or, in
//! [`CommandStyle::Kiln`], with a name besides, by which the container can be killed when its client is gone.
//!
//! It does not talk to registries: pulling is left to the engine.

mod chatter;
mod command;
mod engine;
mod evaluator;

pub use command::{CommandStyle, ContainerOptions, Mount, PullPolicy};
pub use engine::{Engine, EngineError};
pub use evaluator::{ContainerEvaluator, TagListError};
