//! enable-gcp-services: generates a Service of Config Connector for each service that a ProjectServiceSet lists.
//!
//! Generated resources are annotated with their set, by which the next run finds and replaces them. Annotations are
//! copied in sorted order; the original copies them in random order.

mod report;
mod set;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_krm::annotations::{FamilyError, LOCAL_CONFIG};
use kiln_yaml::EditError;

use crate::function::{Context, Ending, Function, FunctionList, Stopped};
use crate::output::Results;
use crate::port::kyaml::{AnnotationFamilies, failure, families};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use report::ServiceReport;
use set::{OWNER, ServiceSet};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "enable-gcp-services",
    former_names: &[],
    summary: "Generates a Service of Config Connector for each service of a ProjectServiceSet",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            SDK,
            &EnableGcpServices {
                words: Words::AsTheyAre,
            },
        ),
        FunctionVersion::new(
            &["v0.1.1", "unstable", "latest"],
            SDK,
            &EnableGcpServices {
                words: Words::Quoted,
            },
        ),
    ],
};

struct EnableGcpServices {
    words: Words,
}

/// How a namespace is written that YAML 1.1 reads as another type than a string, such as `y`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Words {
    /// Unquoted, by the kyaml of 2021.
    AsTheyAre,
    Quoted,
}

#[derive(Debug, thiserror::Error)]
enum EnableError {
    #[error(transparent)]
    Decode(#[from] kiln_krm::DecodeError),
    #[error(transparent)]
    Text(#[from] kiln_yaml::Error),
    #[error("at least one service must be specified under `spec.services[]`")]
    NoServices,
    #[error("invalid service specified: {0}")]
    InvalidService(String),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    AnnotationFamilies(#[from] FamilyError),
    #[error("stopped")]
    Stopped(Stopped),
}

impl Function for EnableGcpServices {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // Errors of the framework are not results.
        let families = match prepare(&mut list.items) {
            Ok(families) => families,
            Err(error) => return Ending::Error(error.to_string()),
        };
        match self.enable(list, families, ctx) {
            Ok(results) if results.is_empty() => Ending::Success,
            Ok(results) => {
                list.results = results;
                Ending::Success
            }
            Err(EnableError::Stopped(stopped)) => stopped.into(),
            Err(error) => {
                list.results = failure(format!("failed to add services: {error}")).into();
                Ending::Error(error.to_string())
            }
        }
    }
}

fn prepare(items: &mut [Resource]) -> Result<AnnotationFamilies, FamilyError> {
    let families = families(items)?;
    families.complete(items)?;
    Ok(families)
}

impl EnableGcpServices {
    fn enable(
        &self,
        list: &mut FunctionList,
        families: AnnotationFamilies,
        ctx: &Context<'_>,
    ) -> Result<Results, EnableError> {
        let items = &mut list.items;
        let sets = declared(items)?;
        // Sets are processed in order; a set without services is an error, but the sets before it are processed.
        let valid = sets.iter().take_while(|set| set.lists_something());
        let valid: Vec<&ServiceSet> = valid.collect();
        let mut reports: Vec<ServiceReport> = Vec::new();
        let mut generated = Vec::new();
        for set in &valid {
            ctx.check().map_err(EnableError::Stopped)?;
            let mut report = ServiceReport::default();
            match set.services(families, self.words) {
                Ok(services) => {
                    for (service, path) in services {
                        report.generated(&service, path);
                        generated.push(service);
                    }
                }
                Err(error) => {
                    // The original drops all resources here.
                    items.clear();
                    return Err(error);
                }
            }
            reports.push(report);
        }
        prune(items, &valid, &mut reports);
        if valid.len() < sets.len() {
            return Err(EnableError::NoServices);
        }
        let kept = items.len();
        items.extend(generated);
        list.unsettled.extend(kept..items.len());
        Ok(report::sorted(reports))
    }
}

/// Takes the sets of a list, and marks them as local configuration.
fn declared(items: &mut [Resource]) -> Result<Vec<ServiceSet>, EnableError> {
    let mut sets = Vec::new();
    for resource in items.iter_mut().filter(|item| set::is_set(item)) {
        resource.set_annotation(LOCAL_CONFIG, "true")?;
        sets.push(ServiceSet::read(resource)?);
    }
    Ok(sets)
}

/// Removes the resources that an earlier run generated for the sets.
fn prune(items: &mut Vec<Resource>, sets: &[&ServiceSet], reports: &mut [ServiceReport]) {
    let mut owners = HashMap::new();
    for (place, set) in sets.iter().enumerate() {
        // Of several sets with the same name the first owns the resources.
        owners.entry(set.owner()).or_insert(place);
    }
    items.retain(|resource| {
        let owner = resource
            .annotation(OWNER)
            .and_then(|owner| owners.get(owner));
        let report = owner.and_then(|place| reports.get_mut(*place));
        let is_owned = report.is_some();
        if let Some(report) = report {
            report.pruned(resource);
        }
        !is_owned
    });
}
