//! Renders packages.
//!
//! [`render`] runs the pipelines of a package and its sub-packages over any [`kiln_krm::package::FileSource`];
//! [`evaluate`] calls one function on a list. Both send events to a [`Log`] and return what is to be written. They print
//! and write nothing and read only the files of their caller. [`error`] lists the texts that are kpt's; [`RenderCompat`]
//! selects what kiln does differently.

mod attribution;
mod breadth_first;
mod call;
mod call_record;
mod default_paths;
mod edited;
pub mod emptied;
mod error;
mod evaluate;
mod foot_comments;
mod function;
mod hydrate;
mod log;
mod lost_anchors;
mod options;
mod package;
mod package_context;
mod pipeline;
mod prepare;
mod queue;
mod refused;
mod render;
mod restore;
mod selection;
mod status;
mod stray_annotations;
mod task;
mod unmatched;

pub use call_record::{CallRecord, TouchedResource, TouchedResources};
pub use emptied::{Emptied, Inventory, Lost};
pub use error::{Exit, Failure, FunctionPlace, RenderError, Trace, Unavailability, UnreadableFile};
pub use evaluate::{Evaluation, evaluate};
pub use function::{BUILTIN_PREFIX, resolved_image};
pub use log::{Event, Log, Silent, StepNumber};
pub use options::{
    ExternalFunctions, FunctionOptions, Jobs, PinnedImage, Pins, RenderCompat, RenderOptions, Tags,
};
pub use package_context::{Builtins, GENERATE_PACKAGE_CONTEXT};
pub use render::{RenderOutput, RenderPlan, RenderReport, Rendered, render};
pub use restore::{RestoreError, restore_list};
