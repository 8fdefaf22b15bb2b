//! The scripts of this repository, and releases.

mod clean_root;
mod cluster_down;
mod dist;
mod gitlab;
mod release;
