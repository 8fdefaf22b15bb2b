//! fix: migrates packages of kpt before v1 to v1.
//!
//! Kptfiles are converted, setters move to a file, declared functions move to the pipeline, and setter comments get
//! the new format. Built with kyaml 0.10, which reads only the legacy path and index annotations.

mod comments;
mod kptfile;
mod packages;
mod setters;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_krm::annotations::LEGACY_PATH;
use kiln_krm::kptfile::KIND;
use kiln_krm::paths::directory;
use packages::Packages;
use setters::Setters;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::kyaml::{MissingMetadata, failure, item, lift_comments};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::Object("fix"), ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "fix",
    former_names: &[],
    summary: "Migrates packages of kpt before v1 to v1",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.2.0"],
            SDK,
            &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                release: FixRelease::V0_2_0,
            },
        ),
        FunctionVersion::new(
            &["v0.2.1"],
            SDK,
            &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                moved: "apply-setters:v0.1",
                release: FixRelease::V0_2_1,
            },
        ),
        FunctionVersion::new(
            &["unstable"],
            SDK,
            &Fix {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                moved: "gcr.io/kpt-fn/apply-setters:",
                release: FixRelease::V0_2_1,
            },
        ),
        FunctionVersion::new(
            &["latest"],
            SDK,
            &Fix {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                moved: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:",
                release: FixRelease::V0_2_1,
            },
        ),
    ],
};

struct Fix {
    /// The image of the added apply-setters call.
    apply_setters: &'static str,
    /// The setters of pipeline functions whose image contains this text move to a file.
    moved: &'static str,
    release: FixRelease,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FixRelease {
    V0_2_0,
    /// Other file names, and quoted setter values.
    V0_2_1,
}

#[derive(Default)]
struct FixReport {
    /// (file, message)
    notes: Vec<(String, String)>,
    /// New files with setters.
    created: Vec<Resource>,
}

impl FixReport {
    fn note(&mut self, file: &str, note: String) {
        if kiln_yaml::take_for_good(file.len() + note.len()) {
            self.notes.push((file.to_owned(), note));
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum FixError {
    #[error("unable to group resources by packages, {}", kiln_go::quote(&.0.to_string()))]
    Grouping(MissingMetadata),
    #[error("{0}")]
    Setters(String),
    /// The package is discarded.
    #[error("{0}")]
    Comments(String),
    #[error("please make sure the package has a valid '{0}' Kptfile: {1}")]
    Kptfile(&'static str, String),
    #[error(
        "Kptfile not found in directory tree, make sure you specify '--include-meta-resources' flag"
    )]
    NoKptfile,
}

impl Function for Fix {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let mut report = FixReport::default();
        let outcome = self.fix(list, ctx, &mut report);
        lift_comments(list);
        match outcome {
            Ok(Ending::Success) => {
                list.items.append(&mut report.created);
                list.unsettled.extend(0..list.items.len());
                let notes = report.notes.into_iter();
                let results: Results = notes.map(|(file, note)| item(note, "", &file)).collect();
                if !results.is_empty() {
                    list.results = results;
                }
                Ending::Success
            }
            Ok(other) => other,
            Err(error) => {
                if matches!(error, FixError::Comments(_)) {
                    list.items.clear();
                }
                list.results = failure(format!("failed to fix package: {error}")).into();
                Ending::Error(error.to_string())
            }
        }
    }
}

impl Fix {
    fn fix(
        &self,
        list: &mut FunctionList,
        ctx: &Context<'_>,
        report: &mut FixReport,
    ) -> Result<Ending, FixError> {
        if list.items.iter().any(|resource| resource.meta().is_missing) {
            return Err(FixError::Grouping(MissingMetadata));
        }
        let packages = Packages::of(&list.items);
        let mut setters: HashMap<String, Setters> = HashMap::new();
        for resource in list.items.iter().filter(|item| item.kind() == KIND) {
            if let Some(found) = Setters::of(resource.root())? {
                setters.insert(directory(path(resource)), found);
            }
        }
        let mut has_kptfile = false;
        for place in 0..list.items.len() {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            let Some(resource) = list.items.get(place) else {
                break;
            };
            if resource.kind() == KIND {
                has_kptfile = true;
                let package = directory(path(resource));
                let functions = self.take_functions(list, &packages, &package);
                self.fix_kptfile(list, place, functions, report)?;
                continue;
            }
            let labels = resource.root().get_path(&["metadata", "labels"]);
            let inventory =
                labels.and_then(|labels| labels.get("cli-utils.sigs.k8s.io/inventory-id"));
            if inventory
                .and_then(|id| id.as_text())
                .is_some_and(|id| !id.is_empty())
            {
                let note = "Please refer to https://googlecontainertools.github.io/kpt/reference/live/alpha/, this \
                            package is using \"inventory-object\"";
                let file = path(resource).to_owned();
                report.note(&file, note.to_owned());
                continue;
            }
            let package = packages.of_file(path(resource));
            let setters = package.and_then(|package| setters.get(package));
            if let Some(resource) = list.items.get_mut(place) {
                comments::fix(resource, setters, self.release).map_err(FixError::Comments)?;
            }
        }
        match has_kptfile {
            true => Ok(Ending::Success),
            false => Err(FixError::NoKptfile),
        }
    }
}

fn path(resource: &Resource) -> &str {
    resource.annotation(LEGACY_PATH).unwrap_or_default()
}
