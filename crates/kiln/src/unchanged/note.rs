//! What a render that changed nothing read and reported, as it is stored.

use std::time::{Duration, Instant};

use kiln_krm::kptfile::FunctionKind;
use kiln_krm::results::{Field, File, FunctionResult, ResourceRef, ResultItem};
use kiln_render::{CallRecord, Event, Log};
use kiln_runtime::RANDOM;
use serde::{Deserialize, Serialize};

use super::read_trace::ReadStep;
use super::{BUILTIN, NATIVE};

/// A render that changed nothing.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RenderNote {
    pub(super) reads: Vec<ReadStep>,
    pub(super) hash: String,
    pub(super) events: Vec<NotedEvent>,
    /// The number of functions that succeeded.
    pub(crate) functions: usize,
    /// The number of packages.
    pub(crate) packages: usize,
}

/// An event that is reported again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum NotedEvent {
    Package {
        name: String,
    },
    PackageDone,
    Running {
        function: String,
        resources: Option<usize>,
        package: Option<String>,
    },
    Passed {
        function: String,
        directory: String,
        image: String,
        identity: String,
        stderr: String,
        results: Vec<NotedItem>,
        package: Option<String>,
        is_validator: bool,
        resources_in: usize,
        resources_out: usize,
    },
    Warning(String),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct NotedItem {
    message: String,
    severity: String,
    /// apiVersion, kind, name, namespace
    resource: Option<[String; 4]>,
    /// path, current value, proposed value
    field: Option<[String; 3]>,
    file: Option<(String, i64)>,
    tags: Vec<(String, String)>,
}

impl RenderNote {
    pub(super) fn parse(payload: &[u8]) -> Option<RenderNote> {
        serde_json::from_slice(payload).ok()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Neither a map with other keys than texts nor a failing implementation is in it.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reports what the render reported. Functions take no time.
    pub(crate) fn replay(&self, log: &dyn Log) {
        for event in &self.events {
            log.event(event.clone().into_event());
        }
    }
}

impl NotedEvent {
    /// `None` for an event of a render that must run each time.
    pub(super) fn of(event: &Event) -> Option<NotedEvent> {
        Some(match event {
            Event::Package { name } => NotedEvent::Package { name: name.clone() },
            Event::PackageDone => NotedEvent::PackageDone,
            Event::Running {
                function,
                resources,
                package,
                is_module: false,
                step: _,
            } => NotedEvent::Running {
                function: function.clone(),
                resources: *resources,
                package: package.clone(),
            },
            Event::Passed {
                function,
                elapsed: _,
                result,
                directory,
                record,
            } => {
                let is_builtin = result.identity.is_empty() && result.image.starts_with(BUILTIN);
                let is_native =
                    result.identity.starts_with(NATIVE) && !result.identity.ends_with(RANDOM);
                if !is_builtin && !is_native {
                    return None;
                }
                let FunctionResult {
                    image,
                    exec,
                    identity,
                    stderr,
                    exit_code: 0,
                    results,
                } = &**result
                else {
                    return None;
                };
                if !exec.is_empty() {
                    return None;
                }
                NotedEvent::Passed {
                    function: function.clone(),
                    directory: directory.clone(),
                    image: image.clone(),
                    identity: identity.clone(),
                    stderr: stderr.clone(),
                    results: results.iter().map(NotedItem::of).collect(),
                    package: record.package.clone(),
                    is_validator: record.kind == FunctionKind::Validator,
                    resources_in: record.resources_in,
                    resources_out: record.resources_out,
                }
            }
            Event::Warning(text) => NotedEvent::Warning(text.clone()),
            Event::Running { .. } | Event::Failed { .. } => return None,
        })
    }

    fn into_event(self) -> Event {
        match self {
            NotedEvent::Package { name } => Event::Package { name },
            NotedEvent::PackageDone => Event::PackageDone,
            NotedEvent::Running {
                function,
                resources,
                package,
            } => Event::Running {
                function,
                resources,
                package,
                is_module: false,
                // It takes no time, so there is no progress to show.
                step: None,
            },
            NotedEvent::Passed {
                function,
                directory,
                image,
                identity,
                stderr,
                results,
                package,
                is_validator,
                resources_in,
                resources_out,
            } => Event::Passed {
                function,
                elapsed: Duration::ZERO,
                result: Box::new(FunctionResult {
                    image,
                    identity,
                    stderr,
                    results: results.into_iter().map(NotedItem::into_item).collect(),
                    ..FunctionResult::default()
                }),
                directory,
                record: Box::new(CallRecord {
                    package,
                    kind: match is_validator {
                        true => FunctionKind::Validator,
                        false => FunctionKind::Mutator,
                    },
                    step: None,
                    started: Instant::now(),
                    resources_in,
                    resources_out,
                    is_cached: true,
                    touched: Vec::new(),
                    // Renders with a report run each time.
                    secrets: Vec::new(),
                    declared: None,
                    config: None,
                }),
            },
            NotedEvent::Warning(text) => Event::Warning(text),
        }
    }
}

impl NotedItem {
    fn of(item: &ResultItem) -> NotedItem {
        let ResultItem {
            message,
            severity,
            resource_ref,
            field,
            file,
            tags,
        } = item.clone();
        NotedItem {
            message,
            severity,
            resource: resource_ref.map(|it| [it.api_version, it.kind, it.name, it.namespace]),
            field: field.map(|it| [it.path, it.current_value, it.proposed_value]),
            file: file.map(|it| (it.path, it.index)),
            tags: tags.into_iter().collect(),
        }
    }

    fn into_item(self) -> ResultItem {
        ResultItem {
            message: self.message,
            severity: self.severity,
            resource_ref: self
                .resource
                .map(|[api_version, kind, name, namespace]| ResourceRef {
                    api_version,
                    kind,
                    name,
                    namespace,
                }),
            field: self
                .field
                .map(|[path, current_value, proposed_value]| Field {
                    path,
                    current_value,
                    proposed_value,
                }),
            file: self.file.map(|(path, index)| File { path, index }),
            tags: self.tags.into_iter().collect(),
        }
    }
}
