//! Native functions as their users see them.

mod behaviour;
mod behaviour_inputs;
mod bounds;
mod evaluator;
mod properties;
mod recorded;
mod recorded_gcp;
mod recorded_kustomize;
mod recorded_kyaml;
mod recorded_versions;
