//! What commands report about functions and packages: the log, results, differences and timings.

pub(crate) mod function_log;
pub(crate) mod preview;
pub(crate) mod results_dir;
pub(crate) mod timings;
