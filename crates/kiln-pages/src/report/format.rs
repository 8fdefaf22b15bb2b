//! The formats of a report, chosen by the name of the file.

use super::model::ReportModel;
use super::{code_quality, html, junit, markdown, sarif, trace_events};

/// A format of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    Html,
    /// The job summary of CI systems.
    Markdown,
    /// Static analysis results, for code scanning.
    Sarif,
    /// One test case per step.
    Junit,
    /// The code quality report of GitLab.
    CodeQuality,
    /// The Trace Event format of browsers.
    TraceEvents,
    /// The model itself.
    Data,
}

/// The name of a file does not show its format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFormat {
    pub name: String,
}

impl std::fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the format of the report {:?} is unknown", self.name)
    }
}

impl std::error::Error for UnknownFormat {}

/// Longer endings first.
const ENDINGS: &[(&str, ReportFormat)] = &[
    (".junit.xml", ReportFormat::Junit),
    (".trace.json", ReportFormat::TraceEvents),
    (".codequality.json", ReportFormat::CodeQuality),
    (".html", ReportFormat::Html),
    (".htm", ReportFormat::Html),
    (".md", ReportFormat::Markdown),
    (".sarif", ReportFormat::Sarif),
    (".xml", ReportFormat::Junit),
    (".json", ReportFormat::Data),
];

impl ReportFormat {
    /// The format that a file name shows.
    pub fn of_file(name: &str) -> Result<ReportFormat, UnknownFormat> {
        let row = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        row.map(|(_, format)| *format).ok_or_else(|| UnknownFormat {
            name: name.to_owned(),
        })
    }

    /// The endings of file names, for messages.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().map(|(ending, _)| *ending)
    }

    /// The report in this format.
    pub fn write(self, model: &ReportModel) -> String {
        match self {
            ReportFormat::Html => html::page(model),
            ReportFormat::Markdown => markdown::write(model),
            ReportFormat::Sarif => sarif::write(model),
            ReportFormat::Junit => junit::write(model),
            ReportFormat::CodeQuality => code_quality::write(model),
            ReportFormat::TraceEvents => trace_events::write(model),
            ReportFormat::Data => json_text(model),
        }
    }
}

/// JSON with line breaks. The model has only texts and numbers, which JSON can represent.
pub(crate) fn json_text(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
