//! The runner with function pods on a real Kubernetes.
//!
//! `tests/cluster/up` brings one up and prints what to put into the environment; without that these tests print that
//! they are skipped.

mod calls;
mod deployed;
mod dns;
mod events;
mod executors;
mod failures;
mod images;
mod lives;
mod load;
mod machine;
mod outage;
mod partition;
mod proxy;
mod recovery;
mod registries;
mod replicas;
mod runner;
mod seed;
mod soak;
mod space;
mod templates;
mod unreachable;
