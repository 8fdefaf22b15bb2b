//! `set-annotations`: annotations on resources and on their pod templates.

mod config;
mod report;
#[cfg(test)]
mod tests;

use kiln_krm::Resource;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::{
    FieldSpec, Generation, MIGRATION_ID, Marks, Release, check_resources, fail, set_entries,
    transform,
};
use crate::registry::{Behaviour, FunctionInfo};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use crate::settle::is_surely_plain;
use config::Config;
use report::Report;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-annotations",
    former_names: &["set-annotation"],
    summary: "Sets annotations on resources and on their pod templates",
    doc: include_str!("doc.md"),
    behaviours: &[
        Behaviour {
            tags: &["v0.1.0", "v0.1.1", "v0.1.2"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("set-annotation"),
                errors: ErrorsPrinted::Once,
            },
            function: &FormerSetAnnotations,
        },
        Behaviour {
            tags: &["v0.1.3"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("set-annotations"),
                errors: ErrorsPrinted::Once,
            },
            function: &FormerSetAnnotations,
        },
        Behaviour {
            tags: &["v0.1.4"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::Object("set-annotations"),
                errors: ErrorsPrinted::Once,
            },
            function: &SetAnnotations(Edition::Silent),
        },
        Behaviour {
            tags: &["v0.1.5", "unstable", "latest"],
            sdk: Sdk::Kyaml {
                results: ResultsForm::List,
                errors: ErrorsPrinted::Once,
            },
            function: &SetAnnotations(Edition::Reporting),
        },
    ],
};

/// What it says about its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edition {
    /// Nothing but errors.
    Silent,
    /// What was set where.
    Reporting,
}

struct SetAnnotations(Edition);

/// The first releases, in which resources go through JSON.
struct FormerSetAnnotations;

impl Function for FormerSetAnnotations {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let release = Release::April;
        let generation = release.generation();
        let config = Config::read(release.see(list.config.as_ref()).as_ref(), generation);
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
                    set_entries(document, &specs, annotations, generation, |_, _, _| {})
                })
            },
        )
    }
}

impl Function for SetAnnotations {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let (generation, marks) = match self.0 {
            Edition::Silent => (Generation::June2021, Marks::Nothing),
            Edition::Reporting => (Generation::December2021, Marks::Places),
        };
        let config = match Config::read(list.config.as_ref(), generation) {
            Ok(config) => config,
            Err(error) => {
                return fail(
                    list,
                    generation,
                    format!("failed to configure function: {error}"),
                );
            }
        };
        if let Err(error) = check_resources(&mut list.items, marks, generation) {
            list.items.clear();
            return fail(list, generation, format!("failed to run function: {error}"));
        }
        let mut report = Report::default();
        let needs_reading = config.annotations.values().any(|v| !is_surely_plain(v));
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            let mark = (marks == Marks::Places).then_some(place);
            if let Err(error) = annotate(resource, generation, mark, &config, &mut report) {
                list.items.clear();
                let error = format!("failed to run function: failed to run transformer: {error}");
                return fail(list, generation, error);
            }
            if needs_reading {
                list.unsettled.push(place);
            }
        }
        if self.0 == Edition::Reporting {
            list.results = report.into_results();
        }
        Ending::Success
    }
}

fn annotate(
    resource: &mut Resource,
    generation: Generation,
    mark: Option<usize>,
    config: &Config,
    report: &mut Report,
) -> Result<(), String> {
    let specs: Vec<&FieldSpec> = config.specs().filter(|s| s.selects(resource)).collect();
    let (file, index) = resource.file_place();
    let (file, index) = (file.to_owned(), index.to_owned());
    if let Some(place) = mark {
        // As the framework does it, because this drops an empty map of annotations and shows in errors.
        let marked = resource.set_annotation(MIGRATION_ID, &place.to_string());
        marked.map_err(|error| error.to_string())?;
    }
    let document = resource.document_mut();
    set_entries(
        document,
        &specs,
        &config.annotations,
        generation,
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
