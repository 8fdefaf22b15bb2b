//! What commands report about functions and packages: the log, results, differences and timings.

pub(crate) mod changes;
pub(crate) mod contents_diff;
pub(crate) mod function_log;
pub(crate) mod preview;
mod report_file;
pub(crate) mod repository;
pub(crate) mod result_position;
pub(crate) mod results_dir;
pub(crate) mod run_report;
pub(crate) mod settled;
pub(crate) mod timings;
