//! The fields of results, in the order in which they are written.

use std::collections::BTreeMap;
use std::fmt;

use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle};

use crate::record::{self, Fatal, Reader, Value, new_text, records};

records! {
    /// What all functions of a command reported: the content of `results.yaml`.
    pub struct FunctionResultList = "v1.ResultList" {
        /// `kpt.dev/v1`
        api_version: String = "apiVersion",
        /// `FunctionResultList`
        kind: String = "kind",
        metadata: ListMetadata = "metadata",
        /// Not zero if any function failed.
        exit_code: i64 = "exitCode" [always],
        /// One entry for each function that ran.
        items: Vec<FunctionResult> = "items",
    }

    /// The metadata of a list of results.
    pub struct ListMetadata = "yaml.ObjectMeta" {
        /// `fnresults`
        name: String = "name",
    }

    /// What one function reported.
    pub struct FunctionResult = "v1.Result" {
        /// The image as it was resolved; excludes `exec`.
        image: String = "image",
        /// The whole command line.
        exec: String = "exec",
        /// What exactly ran, if it is known. Not a field of kpt.
        identity: String = "identity",
        /// The standard error of the function.
        stderr: String = "stderr",
        exit_code: i64 = "exitCode" [always],
        results: Vec<ResultItem> = "results",
    }

    /// One thing that a function reported.
    pub struct ResultItem = "v1.ResultItem" {
        message: String = "message",
        /// `error`, `warning` or `info`; functions may write anything.
        severity: String = "severity" ("framework.Severity"),
        resource_ref: Option<ResourceRef> = "resourceRef",
        field: Option<Field> = "field",
        file: Option<File> = "file",
        tags: BTreeMap<String, String> = "tags",
    }

    /// The resource that an item is about.
    pub struct ResourceRef = "yaml.ResourceIdentifier" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        name: String = "name",
        namespace: String = "namespace",
    }

    /// The file that an item is about.
    pub struct File = "framework.File" {
        /// Relative to the package.
        path: String = "path",
        /// The document in the file; not written when zero.
        index: i64 = "index",
    }
}

/// The field that an item is about. Values are texts: a scalar's own, or else YAML.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Field {
    /// The path of the field in the resource.
    pub path: String,
    pub current_value: String,
    pub proposed_value: String,
}

/// How grave an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For information; also what an item without a severity is.
    Info,
    Warning,
    Error,
}

impl FunctionResultList {
    /// `kind`
    pub const KIND: &'static str = "FunctionResultList";

    /// A list without results.
    pub fn new() -> FunctionResultList {
        FunctionResultList {
            api_version: "kpt.dev/v1".to_owned(),
            kind: FunctionResultList::KIND.to_owned(),
            metadata: ListMetadata {
                name: "fnresults".to_owned(),
            },
            exit_code: 0,
            items: Vec::new(),
        }
    }

    /// The content of `results.yaml`.
    pub fn to_yaml(&self) -> String {
        kiln_yaml::to_string(&record::to_document(self), SequenceStyle::Wide)
    }
}

impl Severity {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Items as functions write them: a list.
pub fn write_results(items: &[ResultItem]) -> Document {
    let mut document = Document::new_mapping();
    let list = document.new_sequence_node();
    for item in items {
        let item = item.write(&mut document);
        document.push_item(list, item);
    }
    document.set_root(list);
    document
}

impl Field {
    /// A field that is only named.
    pub fn at(path: impl Into<String>) -> Field {
        Field {
            path: path.into(),
            ..Field::default()
        }
    }
}

impl ResultItem {
    /// An item that is about no resource, field or file.
    pub fn new(severity: Severity, message: impl Into<String>) -> ResultItem {
        ResultItem {
            message: message.into(),
            severity: severity.as_str().to_owned(),
            ..ResultItem::default()
        }
    }

    /// The severity of the item; `None` if it is unknown.
    pub fn known_severity(&self) -> Option<Severity> {
        match self.severity.as_str() {
            "error" => Some(Severity::Error),
            "warning" => Some(Severity::Warning),
            "" | "info" => Some(Severity::Info),
            _ => None,
        }
    }
}

/// `[severity] apiVersion/kind/namespace/name field.path: message`
impl fmt::Display for ResultItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity.as_str() {
            "" => "info",
            severity => severity,
        };
        write!(f, "[{severity}]")?;
        if let Some(id) = &self.resource_ref {
            let parts = [&id.api_version, &id.kind, &id.namespace, &id.name];
            let given: Vec<&str> = parts
                .into_iter()
                .map(String::as_str)
                .filter(|part| !part.is_empty())
                .collect();
            if !given.is_empty() {
                write!(f, " {}", given.join("/"))?;
            }
        }
        if let Some(field) = &self.field {
            write!(f, " {}", field.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl Value for Field {
    const READS_ANYTHING: bool = true;

    fn type_name() -> String {
        "v1.Field".to_owned()
    }

    /// Ignores what it does not understand.
    fn read(&mut self, node: NodeRef<'_>, _: &str, reader: &mut Reader<'_>) -> Result<bool, Fatal> {
        if let Some(path) = node.get("path") {
            let path = reader.target(path)?;
            if path.is_scalar() && !matches!(path.tag(), "!!int" | "!!float" | "!!bool") {
                self.path = path.value().trim().to_owned();
            }
        }
        if let Some(value) = node.get("currentValue") {
            self.current_value = value_text(value);
        }
        if let Some(value) = node.get("proposedValue") {
            self.proposed_value = value_text(value);
        }
        Ok(true)
    }

    fn write(&self, doc: &mut Document) -> NodeId {
        let mapping = doc.new_mapping_node();
        let fields = [
            ("path", &self.path),
            ("currentValue", &self.current_value),
            ("proposedValue", &self.proposed_value),
        ];
        for (key, text) in fields {
            if !text.is_empty() {
                let (key, value) = (doc.new_string(key), new_text(doc, text));
                doc.push_entry(mapping, key, value);
            }
        }
        mapping
    }

    fn is_zero(&self) -> bool {
        *self == Field::default()
    }
}

/// A value as text: a scalar's own, or else YAML.
fn value_text(value: NodeRef<'_>) -> String {
    if value.is_scalar() {
        value.value().trim().to_owned()
    } else {
        yaml_text(value)
    }
}

/// A node as YAML, without the space around it.
pub(super) fn yaml_text(node: NodeRef<'_>) -> String {
    let text = kiln_yaml::to_string(&Document::from_node(node), SequenceStyle::Compact);
    text.trim().to_owned()
}
