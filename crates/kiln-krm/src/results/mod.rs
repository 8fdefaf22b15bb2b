//! What functions report: items with a severity, about a resource, a field or a file.
//!
//! Functions report in two forms, a list of items or an object around one, and with fields of two generations;
//! [`read_results`] reads all of them as kpt does. Unknown keys are ignored.

mod read;
mod schema;

pub use read::{ResultsError, read_results};
pub use schema::{
    Field, File, FunctionResult, FunctionResultList, ResourceRef, ResultItem, Severity,
    write_results,
};

#[cfg(test)]
mod tests;
