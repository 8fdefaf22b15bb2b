//! The results for a set, and their order.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::results::{File, ResourceRef, ResultItem, Severity};

use crate::output::Results;

/// The results for one set. A service that was pruned and generated again is reported as recreated.
#[derive(Default)]
pub(super) struct ServiceReport {
    pruned: BTreeMap<Id, ResultItem>,
    generated: BTreeMap<Id, ResultItem>,
}

/// Type, name and namespace.
type Id = [String; 4];

impl ServiceReport {
    pub(super) fn pruned(&mut self, resource: &Resource) {
        let path = resource.file_place().0.to_owned();
        let result = result("pruned service", resource, path);
        self.pruned.insert(id(resource), result);
    }

    pub(super) fn generated(&mut self, resource: &Resource, path: String) {
        let result = result("generated service", resource, path);
        self.generated.insert(id(resource), result);
    }

    fn into_results(mut self) -> Vec<ResultItem> {
        let mut results = Vec::new();
        for (id, mut result) in self.pruned {
            if let Some(generated) = self.generated.remove(&id) {
                "recreated service".clone_into(&mut result.message);
                result.file = generated.file;
            }
            results.push(result);
        }
        results.extend(self.generated.into_values());
        results
    }
}

/// All results, sorted by file, then by message.
pub(super) fn sorted(reports: Vec<ServiceReport>) -> Results {
    let results = reports.into_iter().flat_map(ServiceReport::into_results);
    let mut results: Results = results.collect();
    results.sort_by_cached_key(|result| {
        let path = result.file.as_ref().map(|file| file.path.clone());
        let about = result.resource_ref.as_ref().map(|about| {
            // The format in which Go prints such a reference.
            let ResourceRef {
                api_version,
                kind,
                name,
                namespace,
            } = about;
            format!("&{{{{{api_version} {kind}}} {{{name} {namespace}}}}}")
        });
        (path, about, result.message.clone())
    });
    results
}

fn result(message: &str, resource: &Resource, path: String) -> ResultItem {
    ResultItem {
        resource_ref: Some(ResourceRef {
            api_version: resource.api_version().to_owned(),
            kind: resource.kind().to_owned(),
            name: resource.name().to_owned(),
            namespace: resource.namespace().to_owned(),
        }),
        file: Some(File { path, index: 0 }),
        ..ResultItem::new(Severity::Info, message)
    }
}

fn id(resource: &Resource) -> Id {
    let parts = [
        resource.api_version(),
        resource.kind(),
        resource.name(),
        resource.namespace(),
    ];
    parts.map(str::to_owned)
}
