//! The store as its users see it, and the trees that layers give.

mod archives;
mod damaged_blobs;
mod images;
mod keep;
mod layers;
mod open;
mod pull;
mod registry;
mod required_signatures;
mod results;
mod sign;
mod signatures;
mod stress;

#[path = "../../../kiln-oci/tests/it/daemon.rs"]
mod daemon;
