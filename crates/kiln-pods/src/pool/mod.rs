//! The pod pools as a pure state machine: events go in, commands come out.
//!
//! One task owns the [`PodPools`]. It passes every [`PoolEvent`] to [`PodPools::handle`] together with the current
//! [`Moment`] and starts tasks that execute the returned [`PoolCommand`]s; their results come back as events. Each
//! event names the pod or the request it is about, so a result cannot reach the wrong one.
//!
//! Orphans, pods of a replica whose lease has expired, are adopted if the limit of pods allows it, by one replica after
//! the other ([`AdoptionTurn`]), so that the number of attempts does not grow with the number of replicas. The owner may only
//! be cut off from the API server and still call its pods. A reachable orphan beyond the limit is therefore retained,
//! and it is asked whether it is in use before it is deleted; an orphan is deleted only if it is unreachable, not in
//! use, or beyond the limit of retained pods. Within two lease periods every orphan has an owner or is gone, and no
//! replica loses a pod that works.
//!
//! Deliberately absent: clocks, I/O, names of Kubernetes objects, and pods of other live replicas. What is not known
//! here cannot be deleted by mistake.

mod command;
mod context;
mod event;
mod ids;
mod pod;
mod pod_pool;
mod pod_pools;
mod spec;
mod state;

pub(crate) use command::{PoolCommand, RequestFailure};
pub(crate) use context::Moment;
pub use event::PodFault;
pub(crate) use event::{AdoptionTurn, FaultScope, FoundPod, FunctionStarted, PodOwner, PoolEvent};
pub(crate) use ids::{ImageKey, PodId, RequestId};
pub(crate) use pod_pools::PodPools;
pub(crate) use spec::{PodVersion, PoolSettings, PoolSpec};
pub(crate) use state::PooledPod;

#[cfg(test)]
mod tests;
