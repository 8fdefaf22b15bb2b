//! Tests of kiln-yaml through its public face, against answers recorded from kyaml.

mod edits;
mod equality;
mod fixtures;
mod order;
mod random_edits;
mod scalars;
mod visit;
