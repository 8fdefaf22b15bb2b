//! The pod evaluator on a real cluster.
//!
//! `tests/cluster/up` starts one and prints the environment variables to set; without them these tests are skipped with
//! a message. Each test has its own namespace and checks at the end that nothing is left over.

mod calls;
mod gate;
mod images;
mod replicas;
mod test_namespace;
mod trouble;
