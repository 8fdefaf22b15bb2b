//! Images, run by a docker of our own making: a script that records how it was called and behaves as told.

mod engine;
mod evaluator;
