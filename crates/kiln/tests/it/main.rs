//! The kiln binary from the outside.

mod compat;
mod deploy;
mod docs;
mod engine;
mod errors;
mod example;
mod faults;
mod interrupt;
mod live;
mod log;
mod native;
mod package_errors;
mod package_images;
mod package_runners;
mod packages;
mod progress;
mod recorded;
mod rpkg;
mod run;
mod runner;
mod safety;
mod sandbox;
mod serve;
mod shared;
mod watch;
mod world;
