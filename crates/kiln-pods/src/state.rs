//! The pool of pods as a machine: events go in, commands come out.
//!
//! One task owns the [`Pool`]. It takes every [`Event`] that is there, hands it over together with the [`Moment`] at which
//! it does so, and has the [`Command`]s carried out by others, whose answers come back as events. Each event says which pod
//! or which request it is about, so that no answer can reach the wrong one.
//!
//! Pods of a replica that is not heard of any more are adopted where there is room. The replica may be cut off and still be
//! calling them, so one that answers and that nobody has room for is kept beside ours, and before it is deleted it is asked
//! whether anybody calls it; only what does not answer, is not called or would be one too many is deleted. So orphans have an
//! owner again or are gone within two periods of a lease, and yet nobody loses a pod that works.
//!
//! Deliberately absent: clocks, I/O, names of Kubernetes objects, and any knowledge of pods that belong to a replica that
//! lives. What is not known here cannot be deleted by mistake.

mod command;
mod event;
mod growth;
mod ids;
mod image;
mod moment;
mod plan;
mod pod;
mod pool;
mod turn;

pub use command::{Command, Failure};
pub use event::{Event, Fault, Found, Lasts, Owner, Started};
pub use ids::{ImageKey, PodId, RequestId};
pub use moment::Moment;
pub use plan::{Plan, Settings, Version};
pub use pool::Pool;

#[cfg(test)]
mod tests;
