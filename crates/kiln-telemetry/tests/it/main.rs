//! A server with metrics and traces, and a collector.

mod collector;
mod harness;
mod metrics;
mod outage;
mod traces;
