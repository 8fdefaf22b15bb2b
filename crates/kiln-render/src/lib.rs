//! Package in, pipeline, package out.
//!
//! [`render`] runs the pipelines of a package and of those inside it over any [`kiln_krm::package::FileSource`];
//! [`evaluate`] calls one function on a list. Both tell a [`Log`] what happens and give back what is to be written;
//! neither prints, writes or reads anything but the files it was given. Which texts are kpt's is said in [`error`];
//! where kiln does otherwise hangs on [`Behaviour`].

mod attribution;
mod breadth_first;
mod call;
pub mod emptied;
mod error;
mod evaluate;
mod feet;
mod function;
mod hydrate;
mod lane;
mod log;
mod options;
mod package;
mod package_context;
mod pipeline;
mod place;
mod prepare;
mod render;
mod restore;
mod schedule;
mod selection;
mod status;
mod stray_marks;

pub use emptied::{Emptied, Inventory, Lost};
pub use error::{Exit, Failure, FunctionPlace, RenderError, Trace, UnreadableFile};
pub use evaluate::{Evaluation, evaluate};
pub use function::resolved_image;
pub use log::{Event, Log, Silent};
pub use options::{Behaviour, FunctionOptions, Jobs, Outside, RenderOptions, Tags};
pub use package_context::{Builtins, GENERATE_PACKAGE_CONTEXT};
pub use render::{Rendered, render};
pub use restore::{RestoreError, restore_list};
