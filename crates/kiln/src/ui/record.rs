//! Log records: one JSON object per line. The fields are documented in `docs/logging.md`.
//!
//! Fields that do not apply are omitted. The time comes first, so that it can be cut off.

use kiln_krm::results::ResultItem;
use serde::Serialize;

use crate::error::ErrorClass;

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Record<'a> {
    pub(crate) level: Level,
    pub(crate) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<ErrorClass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) package: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exec: Option<&'a str>,
    /// What exactly ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resources: Option<usize>,
    /// The files that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) functions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stderr: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<&'a str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    #[default]
    Info,
    Warning,
    Error,
}

/// A result of a function, with the field names of `results.yaml`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    severity: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_ref: Option<ResourceRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<Field<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<File<'a>>,
    /// `FILE:LINE` of the field or the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<&'a str>,
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    tags: &'a std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceRef<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Field<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    current_value: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    proposed_value: &'a str,
}

#[derive(Clone, Debug, Serialize)]
struct File<'a> {
    path: &'a str,
    index: i64,
}

impl<'a> From<&'a ResultItem> for Item<'a> {
    fn from(item: &'a ResultItem) -> Item<'a> {
        Item {
            severity: &item.severity,
            message: &item.message,
            resource_ref: item.resource_ref.as_ref().map(|of| ResourceRef {
                api_version: &of.api_version,
                kind: &of.kind,
                name: &of.name,
                namespace: &of.namespace,
            }),
            field: item.field.as_ref().map(|field| Field {
                path: &field.path,
                current_value: &field.current_value,
                proposed_value: &field.proposed_value,
            }),
            file: item.file.as_ref().map(|file| File {
                path: &file.path,
                index: file.index,
            }),
            position: None,
            tags: &item.tags,
        }
    }
}

impl Record<'_> {
    /// The record as a line, with the current time.
    pub(crate) fn to_line(&self) -> String {
        #[derive(Serialize)]
        struct Line<'a> {
            time: String,
            #[serde(flatten)]
            record: &'a Record<'a>,
        }
        let line = Line {
            time: format!("{:.3}", jiff::Timestamp::now()),
            record: self,
        };
        // It has only strings and numbers, which JSON can represent.
        serde_json::to_string(&line).unwrap_or_default()
    }
}
