//! Results: order and messages.

use kiln_go::atoi;
use kiln_krm::results::{File, ResourceRef, ResultItem, Severity};

use crate::port::go_json::{JsonContent, JsonRef};

/// A violation of a constraint by a resource.
pub(super) struct Finding<'a> {
    pub(super) message: String,
    pub(super) constraint: &'a str,
    pub(super) action: &'a str,
    pub(super) object: JsonRef<'a>,
}

impl Finding<'_> {
    /// The approximate bytes of its result, which copies the names.
    pub(super) fn size(&self) -> usize {
        let length = |path: &[&str]| {
            let value = self.object.get_path(path).and_then(JsonRef::as_str);
            value.map_or(0, str::len)
        };
        let names = [
            &["apiVersion"][..],
            &["kind"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "annotations", PATH],
        ];
        let names: usize = names.into_iter().map(length).sum();
        size_of::<ResultItem>() + self.message.len() + self.constraint.len() + names
    }
}

const PATH: &str = "config.kubernetes.io/path";

/// The results, sorted by file, index, severity and message.
pub(super) fn results(findings: Vec<Finding<'_>>) -> Result<Vec<ResultItem>, String> {
    let mut results = Vec::with_capacity(findings.len());
    for finding in findings {
        results.push(result(&finding)?);
    }
    results.sort_by_cached_key(|item| {
        let file = item.file.clone().unwrap_or_default();
        let severity = match item.severity.as_str() {
            "error" => 0,
            "warning" => 1,
            _ => 2,
        };
        let resource = item.resource_ref.clone().unwrap_or_default();
        let ResourceRef {
            api_version,
            kind,
            name,
            namespace,
        } = resource;
        let resource = format!("{{{{{api_version} {kind}}} {{{name} {namespace}}}}}");
        (
            file.path,
            file.index,
            severity,
            format!("{resource},message:{}", item.message),
        )
    });
    Ok(results)
}

/// The results as text for standard error.
pub(super) fn text(results: &[ResultItem]) -> String {
    let texts: Vec<String> = results.iter().map(item_text).collect();
    texts.join("\n\n")
}

fn item_text(item: &ResultItem) -> String {
    let resource = item.resource_ref.clone().unwrap_or_default();
    let parts = [
        resource.api_version,
        resource.kind,
        resource.namespace,
        resource.name,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let resource = match parts.is_empty() {
        true => String::new(),
        false => format!(" {}", parts.join("/")),
    };
    format!("[{}]{resource} : {}", item.severity, item.message)
}

fn result(finding: &Finding<'_>) -> Result<ResultItem, String> {
    let string = |path: &[&str]| {
        let value = finding.object.get_path(path).and_then(JsonRef::as_str);
        value.unwrap_or_default().to_owned()
    };
    let severity = match finding.action {
        "dryrun" => Severity::Info,
        "warn" => Severity::Warning,
        _ => Severity::Error,
    };
    Ok(ResultItem {
        message: format!(
            "{}\nviolatedConstraint: {}",
            finding.message, finding.constraint
        ),
        severity: severity.as_str().to_owned(),
        resource_ref: Some(ResourceRef {
            api_version: string(&["apiVersion"]),
            kind: string(&["kind"]),
            name: string(&["metadata", "name"]),
            namespace: string(&["metadata", "namespace"]),
        }),
        file: file(finding.object)?,
        ..ResultItem::default()
    })
}

/// The file of an object. Annotations count only if all of them are strings.
fn file(object: JsonRef<'_>) -> Result<Option<File>, String> {
    let annotations = object.get_path(&["metadata", "annotations"]);
    let are_strings = |annotations: &JsonRef<'_>| {
        let mut fields = annotations.fields();
        fields.all(|(_, value)| matches!(value.content(), JsonContent::String(_)))
    };
    let Some(annotations) = annotations.filter(are_strings) else {
        return Ok(None);
    };
    let annotation = |name: &str| annotations.get(name).and_then(JsonRef::as_str);
    let Some(path) = annotation(PATH) else {
        return Ok(None);
    };
    let index = match annotation("config.kubernetes.io/index") {
        None => 0,
        Some(index) => atoi(index).map_err(|error| error.to_string())?,
    };
    let file = File {
        path: path.to_owned(),
        index,
    };
    Ok((file != File::default()).then_some(file))
}
