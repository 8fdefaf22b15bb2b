//! Functions that are images, run without a container engine.
//!
//! [`ImageEvaluator`] pulls an image into the store, which unpacks it, and runs its program by the strongest
//! [`IsolationLevel`] that this system allows. The level is chosen by trying it; an image that no level can run is not
//! found, so that the next evaluator of the chain, a container engine, runs it.
//!
//! Deliberately absent: the environment of this process, and engines.

mod command;
mod error;
mod evaluator;
mod image_files;
mod levels;
mod options;
mod pull;
mod start_problem;

pub use error::{ImageRunError, LeftToNext, NoLevelReason};
pub use evaluator::ImageEvaluator;
pub use kiln_sandbox::IsolationLevel;
pub use options::{ImageOptions, LevelChoice, PullObserver};
pub use start_problem::StartProblem;
