//! The driver on a real cluster, with real pods.
//!
//! `tests/cluster/up` brings one up and says what to put into the environment; without it these tests say that they are
//! skipped. Each has a namespace of its own, and looks at the end whether anything is left over.

mod calls;
mod gate;
mod images;
mod place;
mod replicas;
mod trouble;
