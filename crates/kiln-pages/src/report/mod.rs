//! The report of one run of functions on a package.

mod build;
mod changed_files;
mod code_quality;
mod command_words;
mod credentials;
mod declaration;
mod differences;
mod every_text;
mod file_texts;
mod format;
mod github;
mod html;
mod junit;
mod lines;
mod markdown;
mod model;
mod outside_texts;
mod packages;
mod pairs;
mod problem_text;
mod resource_changes;
mod resource_table;
mod review;
mod sarif;
mod secrets;
mod text;
mod totals;
mod trace_events;

pub use build::{LockInput, ReportInput, StepInput, TouchedResource, build};
pub use changed_files::ChangedFile;
pub use command_words::shell_word;
pub use declaration::ConfigValues;
pub(crate) use format::json_text;
pub use format::{ReportFormat, UnknownFormat};
pub use github::annotations;
pub use kiln_krm::secrets::SecretValues;
pub use lines::FileLines;
pub use model::{
    FileReport, LineCounts, LockFileState, LockReport, MODEL_VERSION, PhaseTime, ReportAction,
    ReportChange, ReportModel, ReportProblem, ResourceReport, ResultReport, ReviewNote, StepKind,
    StepPosition, StepReport, StepStatus, Verdict,
};
