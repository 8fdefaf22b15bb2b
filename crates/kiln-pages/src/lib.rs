//! Pages for people and reports for CI: a model in, text out.
//!
//! [`report::ReportModel`] describes one run of functions on a package; [`report::ReportFormat`] writes it as HTML, Markdown,
//! SARIF, JUnit or as a trace. [`status::StatusModel`] describes a running function runner; [`status::StatusRequest`] is a request
//! for one of its pages. [`chart`] draws inline SVG. The crate reads and writes nothing: programs collect the facts, write the
//! files and serve the pages, so that a page never becomes a second source of truth.

pub mod chart;
mod parts;
mod raw;
pub mod report;
pub mod status;
mod visible_text;

pub use visible_text::VisibleText;
