//! The scripts of this repository.

mod cluster_down;
