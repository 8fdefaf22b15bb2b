//! `set-annotations`: annotations on resources and on their pod templates.

mod config;
mod report;
#[cfg(test)]
mod tests;

use kiln_krm::Resource;

use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::port::kustomize::{
    FieldSpec, KustomizeRelease, MIGRATION_ID, ResourceMarks, TransformerRelease, check_resources,
    fail, set_entries, transform,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use crate::settle::is_surely_plain;
use config::SetAnnotationsConfig;
use report::AnnotationReport;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-annotations",
    former_names: &["set-annotation"],
    summary: "Sets annotations on resources and on their pod templates",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0", "v0.1.1", "v0.1.2"],
            Sdk::Kyaml(ResultsForm::Object("set-annotation"), ErrorsPrinted::Once),
            &TransformerSetAnnotations,
        ),
        FunctionVersion::new(
            &["v0.1.3"],
            Sdk::Kyaml(ResultsForm::Object("set-annotations"), ErrorsPrinted::Once),
            &TransformerSetAnnotations,
        ),
        FunctionVersion::new(
            &["v0.1.4"],
            Sdk::Kyaml(ResultsForm::Object("set-annotations"), ErrorsPrinted::Once),
            &SetAnnotations(SetAnnotationsRelease::V0_1_4),
        ),
        FunctionVersion::new(
            &["v0.1.5", "unstable", "latest"],
            Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Once),
            &SetAnnotations(SetAnnotationsRelease::V0_1_5),
        ),
    ],
};

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SetAnnotationsRelease {
    /// Reports only errors.
    V0_1_4,
    /// Also reports the annotations that it sets.
    V0_1_5,
}

struct SetAnnotations(SetAnnotationsRelease);

/// Before v0.1.4: kustomize's transformer, which passes resources through JSON.
struct TransformerSetAnnotations;

impl Function for TransformerSetAnnotations {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let release = TransformerRelease::Kyaml0_10_5;
        let kustomize = release.kustomize();
        let config =
            SetAnnotationsConfig::read(release.see(list.config.as_ref()).as_ref(), kustomize);
        let nothing = |_: &[Resource]| ();
        transform(
            list,
            ctx,
            release,
            config,
            nothing,
            |config, (), resource| {
                let specs: Vec<&FieldSpec> =
                    config.specs().filter(|s| s.selects(resource)).collect();
                let annotations = &config.annotations;
                release.edit(resource, |document| {
                    set_entries(document, &specs, annotations, kustomize, |_, _, _| {})
                })
            },
        )
    }
}

impl Function for SetAnnotations {
    fn list_heads(&self) -> ListHeads {
        match self.0 {
            SetAnnotationsRelease::V0_1_4 => ListHeads::ItemOrFirstField,
            SetAnnotationsRelease::V0_1_5 => ListHeads::Own,
        }
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let (kustomize, marks) = match self.0 {
            SetAnnotationsRelease::V0_1_4 => (KustomizeRelease::Api0_8, ResourceMarks::Nothing),
            SetAnnotationsRelease::V0_1_5 => (KustomizeRelease::Api0_10, ResourceMarks::Places),
        };
        let config = match SetAnnotationsConfig::read(list.config.as_ref(), kustomize) {
            Ok(config) => config,
            Err(error) => {
                return fail(
                    list,
                    kustomize,
                    format!("failed to configure function: {error}"),
                );
            }
        };
        if let Err(error) = check_resources(&mut list.items, marks, kustomize) {
            list.items.clear();
            return fail(list, kustomize, format!("failed to run function: {error}"));
        }
        let mut report = AnnotationReport::default();
        let needs_reading = config.annotations.values().any(|v| !is_surely_plain(v));
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            let mark = (marks == ResourceMarks::Places).then_some(place);
            if let Err(error) = annotate(resource, kustomize, mark, &config, &mut report) {
                list.items.clear();
                let error = format!("failed to run function: failed to run transformer: {error}");
                return fail(list, kustomize, error);
            }
            if needs_reading {
                list.unsettled.push(place);
            }
        }
        if self.0 == SetAnnotationsRelease::V0_1_5 {
            list.results = report.into_results();
        }
        Ending::Success
    }
}

fn annotate(
    resource: &mut Resource,
    kustomize: KustomizeRelease,
    mark: Option<usize>,
    config: &SetAnnotationsConfig,
    report: &mut AnnotationReport,
) -> Result<(), String> {
    let specs: Vec<&FieldSpec> = config.specs().filter(|s| s.selects(resource)).collect();
    let (file, index) = resource.file_place();
    let (file, index) = (file.to_owned(), index.to_owned());
    if let Some(place) = mark {
        // As the framework does it: this drops an empty map of annotations and is visible in error messages.
        let marked = resource.set_annotation(MIGRATION_ID, &place.to_string());
        marked.map_err(|error| error.to_string())?;
    }
    let document = resource.document_mut();
    set_entries(
        document,
        &specs,
        &config.annotations,
        kustomize,
        |path, key, value| report.note(&file, &index, path, key, value),
    )
    .map_err(|error| error.to_string())?;
    match mark {
        None => Ok(()),
        Some(_) => {
            let unmarked = resource.remove_annotation(MIGRATION_ID);
            unmarked.map_err(|error| error.to_string())
        }
    }
}
