//! A real server whose calls are counted and traced, with a real collector.

mod collector;
mod harness;
mod metrics;
mod outage;
mod traces;
