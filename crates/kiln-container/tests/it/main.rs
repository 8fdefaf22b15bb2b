//! Images, run by a fake docker: a script that records its calls and behaves as configured.

mod engine;
mod evaluator;
