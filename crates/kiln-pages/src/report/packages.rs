//! The steps of a report, by package.

use std::collections::BTreeMap;
use std::ops::Range;

use super::model::{ReportModel, StepReport, StepStatus};

/// The steps of one package.
pub(super) struct PackageSteps<'a> {
    /// Its name, with its directory if another package has the same name.
    pub(super) title: String,
    /// With their indices.
    pub(super) steps: Vec<(usize, &'a StepReport)>,
}

impl ReportModel {
    /// The packages with a step, in order.
    pub(super) fn packages(&self) -> Vec<PackageSteps<'_>> {
        let mut indices = BTreeMap::new();
        let mut packages: Vec<Vec<(usize, &StepReport)>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let key = (step.package.as_str(), step.directory.as_str());
            let at = *indices.entry(key).or_insert(packages.len());
            match packages.get_mut(at) {
                Some(steps) => steps.push((index, step)),
                None => packages.push(vec![(index, step)]),
            }
        }
        let mut same_names: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, _) in indices.keys() {
            *same_names.entry(name).or_default() += 1;
        }
        let titled = packages.into_iter().map(|steps| PackageSteps {
            title: steps.first().map_or_else(String::new, |(_, step)| {
                let is_alone = same_names.get(step.package.as_str()) == Some(&1);
                title(step, is_alone)
            }),
            steps,
        });
        titled.collect()
    }
}

fn title(step: &StepReport, is_alone: bool) -> String {
    match (is_alone, step.directory.as_str()) {
        (true, _) => step.package.clone(),
        (false, "") => format!("{} (.)", step.package),
        (false, directory) => format!("{} ({directory})", step.package),
    }
}

impl PackageSteps<'_> {
    /// The numbers of the steps of its pipeline that did not run, because an earlier one failed.
    pub(super) fn skipped(&self) -> Range<usize> {
        let last = self.steps.last().map(|(_, step)| step);
        let failed = last.filter(|step| step.status == StepStatus::Failed);
        match failed.and_then(|step| step.position) {
            Some(position) => position.number + 1..position.count + 1,
            None => 0..0,
        }
    }
}
