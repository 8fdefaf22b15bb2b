//! enable-gcp-services: a Service of Config Connector for each service that a ProjectServiceSet lists.
//!
//! Generated resources carry the name of their set; with it they are found and replaced the next time. Where the
//! original copies annotations in random order, they come sorted.

mod info;
mod report;
mod set;
#[cfg(test)]
mod tests;

pub(crate) use info::INFO;

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_krm::annotations::{FamilyError, LOCAL_CONFIG};
use kiln_yaml::EditError;

use crate::function::{Context, Ending, Function, FunctionList, Stopped};
use crate::output::Results;
use crate::port::kyaml::{Families, failure, families};
use report::Report;
use set::{OWNER, ServiceSet};

/// The function, in all its versions.
struct EnableGcpServices {
    words: Words,
}

/// What becomes of a namespace that YAML 1.1 takes for something else than a string, such as `y`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Words {
    /// It is written as it is, by the kyaml of 2021.
    AsTheyAre,
    /// It is quoted.
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
    Families(#[from] FamilyError),
    #[error("stopped")]
    Stopped(Stopped),
}

impl Function for EnableGcpServices {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // The framework's own complaints are no results.
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

fn prepare(items: &mut [Resource]) -> Result<Families, FamilyError> {
    let families = families(items)?;
    families.complete(items)?;
    Ok(families)
}

impl EnableGcpServices {
    fn enable(
        &self,
        list: &mut FunctionList,
        families: Families,
        ctx: &Context<'_>,
    ) -> Result<Results, EnableError> {
        let items = &mut list.items;
        let sets = declared(items)?;
        // Sets are treated in turn; one that lists nothing is an error, but not for those before it.
        let valid = sets.iter().take_while(|set| set.lists_something());
        let valid: Vec<&ServiceSet> = valid.collect();
        let mut reports: Vec<Report> = Vec::new();
        let mut generated = Vec::new();
        for set in &valid {
            ctx.check().map_err(EnableError::Stopped)?;
            let mut report = Report::default();
            match set.services(families, self.words) {
                Ok(services) => {
                    for (service, path) in services {
                        report.generated(&service, path);
                        generated.push(service);
                    }
                }
                Err(error) => {
                    // The original loses all resources here.
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

/// The sets of a list. They become local configuration.
fn declared(items: &mut [Resource]) -> Result<Vec<ServiceSet>, EnableError> {
    let mut sets = Vec::new();
    for resource in items.iter_mut().filter(|item| set::is_set(item)) {
        resource.set_annotation(LOCAL_CONFIG, "true")?;
        sets.push(ServiceSet::read(resource)?);
    }
    Ok(sets)
}

/// Removes what was generated for the sets before.
fn prune(items: &mut Vec<Resource>, sets: &[&ServiceSet], reports: &mut [Report]) {
    let mut owners = HashMap::new();
    for (place, set) in sets.iter().enumerate() {
        // Of sets of one name the first takes it all.
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
