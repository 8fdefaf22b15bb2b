//! annotate-apply-time-mutations: writes an annotation that lists which fields get values of other resources.
//!
//! Values in results are strings, so that the number 5 and the string "5" look alike there.

mod annotation;
mod comment;
mod substitution;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;

use kiln_go::quote;
use kiln_krm::Resource;
use kiln_krm::annotations::FamilyError;
use kiln_krm::results::{Field, File, ResourceRef, ResultItem, Severity};
use kiln_yaml::EditError;

use crate::function::{Context, Ending, Function, FunctionList, Stopped};
use crate::output::{Printed, Results};
use crate::port::kyaml::{KyamlRelease, annotation_map, families, set_annotation_map, walk};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use annotation::annotation_text;
use comment::CommentScan;
use substitution::{Declaration, MutationReference, Substitution};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "annotate-apply-time-mutations",
    former_names: &[],
    summary: "Annotates resources with the fields that get values of other resources at apply time",
    doc: include_str!("doc.md"),
    versions: &[FunctionVersion::new(
        &["v0.1.0", "unstable", "latest"],
        Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice),
        &AnnotateApplyTimeMutations,
    )],
};

const ANNOTATION: &str = "config.kubernetes.io/apply-time-mutation";

struct AnnotateApplyTimeMutations;

#[derive(Debug, thiserror::Error)]
enum AnnotateError {
    #[error(transparent)]
    AnnotationFamilies(#[from] FamilyError),
    #[error("item {item} has invalid file index: {}", quote(.index))]
    Index { item: usize, index: String },
    #[error("stopped")]
    Stopped(Stopped),
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("mutation is empty")]
    Empty,
    #[error("failed to update annotations: {0}")]
    Edit(#[from] EditError),
}

impl Function for AnnotateApplyTimeMutations {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let mut work = MutationRun::default();
        let outcome = families(&list.items)
            .map_err(AnnotateError::from)
            .and_then(|_| work.perform(&mut list.items, ctx));
        if !work.results.is_empty() {
            list.results = work.results;
        }
        list.unsettled = work.changed;
        list.stderr = work.log;
        match outcome {
            Ok(()) => Ending::Success,
            Err(AnnotateError::Stopped(stopped)) => stopped.into(),
            Err(error) => Ending::Error(error.to_string()),
        }
    }
}

#[derive(Default)]
struct MutationRun {
    declared: HashMap<MutationReference, Vec<Substitution>>,
    results: Results,
    log: Printed,
    /// The indices of the resources that changed.
    changed: Vec<usize>,
}

/// A resource in one of the passes.
struct Visited {
    item: usize,
    resource_ref: ResourceRef,
    file: File,
}

impl MutationRun {
    fn perform(&mut self, items: &mut [Resource], ctx: &Context<'_>) -> Result<(), AnnotateError> {
        let rounds: [(&str, Pass); 3] = [
            ("ApplyTimeMutation objects", MutationRun::take_declaration),
            ("mutation targets", MutationRun::annotate_target),
            ("apply-time-mutation comments", MutationRun::follow_comments),
        ];
        for (sought, round) in rounds {
            self.say(&format!("Scanning items for {sought}"));
            for (item, resource) in items.iter_mut().enumerate() {
                ctx.check().map_err(AnnotateError::Stopped)?;
                let visited = Visited::new(item, resource)?;
                self.say(&format!("Scanning ({visited})"));
                round(self, resource, &visited);
            }
        }
        Ok(())
    }

    fn take_declaration(&mut self, resource: &mut Resource, visited: &Visited) {
        let item = visited.item;
        match Declaration::read(resource) {
            Ok(None) => {}
            Ok(Some(declaration)) => {
                let message = format!("Found valid ApplyTimeMutation object (item: {item})");
                self.say(&message);
                self.report(Severity::Info, message, visited);
                self.declared
                    .insert(declaration.target, declaration.substitutions);
            }
            Err(error) => {
                let message = format!("Error scanning object (item: {item}): {error}");
                self.report(Severity::Error, message, visited);
            }
        }
    }

    fn annotate_target(&mut self, resource: &mut Resource, visited: &Visited) {
        let names = MutationReference::to_resource(resource);
        let declared = names.iter().find_map(|name| self.declared.get(name));
        if let Some(substitutions) = declared.cloned() {
            self.annotate(resource, &substitutions, visited);
        }
    }

    fn follow_comments(&mut self, resource: &mut Resource, visited: &Visited) {
        let item = visited.item;
        let mut scan = CommentScan::default();
        // A resource without comments stays unchanged.
        let mut document = resource.document().clone();
        let outcome = walk(&mut document, &mut scan);
        self.log.push_str(&scan.log);
        if scan.has_changed {
            *resource.document_mut() = document;
            self.changed.push(item);
        }
        if let Err(error) = outcome {
            let message = format!("Error scanning object (item: {item}): {error}");
            return self.report(Severity::Error, message, visited);
        }
        if scan.found.is_empty() {
            return;
        }
        let mut substitutions = Vec::new();
        for found in scan.found {
            let (path, comment) = (&found.substitution.target_path, &found.comment);
            let start = "Found valid apply-time-mutation comment";
            let quoted = quote(path);
            self.say(&format!(
                "{start} (item: {item}, field: {quoted}): {comment}"
            ));
            let message = format!("{start} (item: {item}): {comment}");
            let field = Field {
                path: path.clone(),
                current_value: found.value,
                ..Field::default()
            };
            let result = visited.result(Severity::Info, message);
            self.results.push(ResultItem {
                field: Some(field),
                ..result
            });
            substitutions.push(found.substitution);
        }
        self.annotate(resource, &substitutions, visited);
    }

    fn annotate(
        &mut self,
        resource: &mut Resource,
        substitutions: &[Substitution],
        visited: &Visited,
    ) {
        let item = visited.item;
        self.say(&format!("Writing annotation ({visited})"));
        match write_annotation(resource, substitutions) {
            Ok(()) => {
                self.changed.push(item);
                let message = format!("Wrote apply-time-mutation annotation (item: {item})");
                self.report(Severity::Info, message, visited);
            }
            Err(error) => {
                let message = format!("Error writing annotation (item: {item}): {error}");
                self.report(Severity::Error, message, visited);
            }
        }
    }

    fn say(&mut self, line: &str) {
        self.log.push_str(line);
        self.log.push_str("\n");
    }

    fn report(&mut self, severity: Severity, message: String, visited: &Visited) {
        self.results.push(visited.result(severity, message));
    }
}

/// What a pass does with each resource.
type Pass = fn(&mut MutationRun, &mut Resource, &Visited);

fn write_annotation(
    resource: &mut Resource,
    substitutions: &[Substitution],
) -> Result<(), WriteError> {
    if substitutions.is_empty() {
        return Err(WriteError::Empty);
    }
    let mut annotations = annotation_map(resource);
    annotations.insert(ANNOTATION.to_owned(), annotation_text(substitutions));
    // Unlike later releases, the kyaml of this function ignores YAML 1.1 here.
    let kyaml = KyamlRelease::V0_12;
    set_annotation_map(resource.document_mut(), &annotations, kyaml)?;
    Ok(())
}

impl Visited {
    fn new(item: usize, resource: &Resource) -> Result<Visited, AnnotateError> {
        let (path, index) = resource.file_place();
        let number = index.parse().map_err(|_| AnnotateError::Index {
            item,
            index: index.to_owned(),
        })?;
        Ok(Visited {
            item,
            resource_ref: ResourceRef {
                api_version: resource.api_version().to_owned(),
                kind: resource.kind().to_owned(),
                name: resource.name().to_owned(),
                namespace: resource.namespace().to_owned(),
            },
            file: File {
                path: path.to_owned(),
                index: number,
            },
        })
    }

    fn result(&self, severity: Severity, message: String) -> ResultItem {
        ResultItem {
            resource_ref: Some(self.resource_ref.clone()),
            file: Some(self.file.clone()),
            ..ResultItem::new(severity, message)
        }
    }
}

/// The format in which Go prints the structs.
impl std::fmt::Display for Visited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = &self.resource_ref;
        let (api_version, kind) = (&id.api_version, &id.kind);
        let (name, namespace) = (&id.name, &id.namespace);
        let (path, index) = (&self.file.path, self.file.index);
        write!(
            f,
            "Item: {}, Object: {{TypeMeta:{{APIVersion:{api_version} Kind:{kind}}} ",
            self.item
        )?;
        write!(f, "NameMeta:{{Name:{name} Namespace:{namespace}}}}}, ")?;
        write!(f, "File: {{Path:{path} Index:{index}}}")
    }
}
