//! The pipeline of one package: mutators, then validators. It stops at the first failure.

use std::collections::HashMap;

use kiln_krm::annotations::{self, ID, LEGACY_ID, MIGRATION_ID, PACKAGE_PATH, RESOURCE_ID};
use kiln_krm::check::{ListKind, check_list};
use kiln_krm::kptfile::{Function, FunctionKind, Pipeline, Step};
use kiln_krm::package::FileSource;
use kiln_krm::results::{FunctionResultList, Severity};
use kiln_krm::selector::select;
use kiln_krm::{Resource, paths};
use kiln_yaml::NodeRef;

use crate::call::{CallConfig, FunctionCall};
use crate::emptied::{Emptied, Inventory};
use crate::error::{Failure, FunctionPlace, Raised, Trace};
use crate::function::ReadyFunction;
use crate::log::{Event, StepNumber};
use crate::options::RenderOptions;
use crate::package::Package;
use crate::selection::{Unselected, set_resource_ids};
use crate::task::TaskContext;
use crate::unmatched::warn_of_unmatched;

/// The results of the functions that have run.
pub(crate) struct PipelineProgress {
    pub(crate) results: FunctionResultList,
    pub(crate) mutation_steps: Vec<Step>,
    pub(crate) validation_steps: Vec<Step>,
    pub(crate) functions: usize,
    pub(crate) emptied: Vec<Emptied>,
}

impl Default for PipelineProgress {
    fn default() -> PipelineProgress {
        PipelineProgress {
            results: FunctionResultList::new(),
            mutation_steps: Vec::new(),
            validation_steps: Vec::new(),
            functions: 0,
            emptied: Vec::new(),
        }
    }
}

impl PipelineProgress {
    pub(crate) fn add(&mut self, later: PipelineProgress) {
        self.results.exit_code = self.results.exit_code.max(later.results.exit_code);
        self.results.items.extend(later.results.items);
        self.mutation_steps.extend(later.mutation_steps);
        self.validation_steps.extend(later.validation_steps);
        self.functions += later.functions;
        self.emptied.extend(later.emptied);
    }
}

/// Why a pipeline stopped, and the resources at that moment.
pub(crate) struct PipelineStopped {
    pub(crate) raised: Box<Raised>,
    pub(crate) resources: Vec<Resource>,
}

#[derive(Default)]
pub(crate) struct PipelineOutput {
    pub(crate) resources: Vec<Resource>,
    /// The inputs that functions have consumed, by their index, with the ids they got for it.
    pub(crate) consumed: HashMap<usize, Resource>,
}

/// The pipeline of one package.
pub(crate) struct PipelineRun<'a> {
    pub(crate) files: &'a dyn FileSource,
    pub(crate) options: &'a RenderOptions<'a>,
    pub(crate) context: &'a TaskContext<'a>,
    pub(crate) package: &'a Package,
    /// Whether the caller needs the inputs that functions have consumed.
    pub(crate) keeps_consumed: bool,
}

/// The resources between two mutators.
struct Current {
    resources: Vec<Resource>,
    /// The index among the inputs of the pipeline, for resources that no function has had yet.
    input_indices: Vec<Option<usize>>,
    consumed: HashMap<usize, Resource>,
}

impl PipelineRun<'_> {
    /// Runs the pipeline; `own_paths` are those of the package's own resources as they were read.
    pub(crate) fn run(
        &self,
        input: Vec<Resource>,
        own_paths: &[String],
        progress: &mut PipelineProgress,
    ) -> Result<PipelineOutput, PipelineStopped> {
        let package = self.package;
        self.context.log.event(Event::Package {
            name: package.name.clone(),
        });
        let Some(pipeline) = package.pipeline() else {
            return match check_list(input.iter().map(Resource::root), ListKind::Input) {
                Ok(()) => Ok(PipelineOutput {
                    resources: input,
                    ..PipelineOutput::default()
                }),
                Err(error) => Err(PipelineStopped {
                    raised: Box::new(Failure::NotKrm(Box::new(error)).into()),
                    resources: input,
                }),
            };
        };
        if let Err(invalid) = pipeline.check_config_paths(own_paths.iter().map(String::as_str)) {
            return Err(PipelineStopped {
                raised: Box::new(Failure::PipelineAtRun(invalid).into()),
                resources: input,
            });
        }
        let traced = |kind, index, failure, resources| PipelineStopped {
            raised: Box::new(failed_function(
                package,
                FunctionPlace { kind, index },
                failure,
            )),
            resources,
        };
        let mutated = self.run_mutators(pipeline, input, progress);
        let mut finished = mutated.map_err(|(index, failure, resources)| {
            traced(FunctionKind::Mutator, index, failure, resources)
        })?;
        let validated = self.run_validators(pipeline, &finished.resources, progress);
        if let Err((index, failure)) = validated {
            let resources = std::mem::take(&mut finished.resources);
            return Err(traced(FunctionKind::Validator, index, failure, resources));
        }
        self.context.log.event(Event::PackageDone);
        Ok(finished)
    }

    /// An error holds the index of the mutator, its failure, and the resources at that moment.
    fn run_mutators(
        &self,
        pipeline: &Pipeline,
        input: Vec<Resource>,
        progress: &mut PipelineProgress,
    ) -> Result<PipelineOutput, (usize, Failure, Vec<Resource>)> {
        let mut ready = Vec::new();
        for (index, function) in pipeline.mutators.iter().enumerate() {
            match self.make_ready(function) {
                Ok(function) => ready.push(function),
                Err((step, failure)) => {
                    progress.mutation_steps.push(*step);
                    return Err((index, failure, input));
                }
            }
        }
        let mut current = Current {
            input_indices: (0..input.len()).map(Some).collect(),
            resources: input,
            consumed: HashMap::new(),
        };
        for (index, (function, ready)) in pipeline.mutators.iter().zip(ready).enumerate() {
            let before = progress.results.items.len();
            let inventory = Inventory::of(&current.resources);
            let results = &mut progress.results;
            let mutated = match is_selection(function) {
                true => self.mutate_selection(function, index, &ready, current, results),
                false => self.mutate_all(function, index, &ready, current, results),
            };
            let failure = mutated.as_ref().err().map(|(failure, _)| failure);
            let step = step(function, &ready, &progress.results, before, failure);
            progress.mutation_steps.push(step);
            current = mutated.map_err(|(failure, resources)| (index, failure, resources))?;
            let emptied = inventory.emptied(&current.resources, ready.name(), self.options.root);
            progress.emptied.extend(emptied);
            progress.functions += 1;
        }
        Ok(PipelineOutput {
            resources: current.resources,
            consumed: current.consumed,
        })
    }

    /// Calls a mutator on all resources.
    fn mutate_all(
        &self,
        function: &Function,
        index: usize,
        ready: &ReadyFunction,
        mut current: Current,
        results: &mut FunctionResultList,
    ) -> Result<Current, (Failure, Vec<Resource>)> {
        let config = match self.find_config(function, &current.resources) {
            None => CallConfig::of(ready.config.as_ref()),
            Some(index) => CallConfig::Input(index),
        };
        let call = self.call(function, index, ready, config);
        match mutate_list(&call, &mut current.resources, results) {
            Ok(output) => {
                let input = std::mem::take(&mut current.resources);
                let input_indices = std::mem::take(&mut current.input_indices);
                self.keep_consumed(&mut current, input, &input_indices);
                current.input_indices = vec![None; output.len()];
                current.resources = output;
                Ok(current)
            }
            Err(failure) => {
                clear_ids(&mut current.resources);
                Err((failure, current.resources))
            }
        }
    }

    /// Calls a mutator on the resources that it selects.
    fn mutate_selection(
        &self,
        function: &Function,
        index: usize,
        ready: &ReadyFunction,
        mut current: Current,
        results: &mut FunctionResultList,
    ) -> Result<Current, (Failure, Vec<Resource>)> {
        let mut resources = std::mem::take(&mut current.resources);
        if let Err(error) = set_resource_ids(&mut resources) {
            return Err((Failure::Text(error.to_string()), resources));
        }
        let config_index = self.find_config(function, &resources);
        self.warn_of_unmatched(function, ready, &resources);
        let chosen = self.choose(&resources, function);
        let (mut selected, unselected) = Unselected::split(resources, chosen);
        let config = match config_index {
            None => CallConfig::of(ready.config.as_ref()),
            Some(index) => match unselected.get(index) {
                Some(config) => CallConfig::Document(config.document()),
                None => unselected
                    .taken()
                    .iter()
                    .rposition(|taken| *taken == index)
                    .map_or(CallConfig::Nothing, CallConfig::Input),
            },
        };
        let call = FunctionCall {
            is_selection: true,
            ..self.call(function, index, ready, config)
        };
        let output = match mutate_list(&call, &mut selected, results) {
            Ok(output) => output,
            Err(failure) => {
                let mut resources = unselected.put_back(selected);
                clear_ids(&mut resources);
                return Err((failure, resources));
            }
        };
        let input_indices = std::mem::take(&mut current.input_indices);
        let input_index = |index: usize| input_indices.get(index).copied().flatten();
        let taken = unselected.taken().iter().map(|index| input_index(*index));
        self.keep_consumed(&mut current, selected, &taken.collect::<Vec<_>>());
        let merged = unselected
            .merge(output)
            .map_err(|error| (Failure::Text(error.to_string()), Vec::new()))?;
        for (resource, index) in merged {
            current.resources.push(resource);
            current.input_indices.push(index.and_then(input_index));
        }
        Ok(current)
    }

    fn keep_consumed(
        &self,
        current: &mut Current,
        inputs: Vec<Resource>,
        input_indices: &[Option<usize>],
    ) {
        if self.keeps_consumed {
            let indexed = inputs.into_iter().zip(input_indices);
            let indexed = indexed.filter_map(|(input, index)| Some(((*index)?, input)));
            current.consumed.extend(indexed);
        }
    }

    /// An error holds the index of the validator and its failure.
    fn run_validators(
        &self,
        pipeline: &Pipeline,
        input: &[Resource],
        progress: &mut PipelineProgress,
    ) -> Result<(), (usize, Failure)> {
        for (index, function) in pipeline.validators.iter().enumerate() {
            let before = progress.results.items.len();
            let ready = self.make_ready(function).map_err(|(step, failure)| {
                progress.validation_steps.push(*step);
                (index, failure)
            })?;
            let config = self.find_config(function, input);
            let config = config.and_then(|index| input.get(index));
            let config = config.map(Resource::document).or(ready.config.as_ref());
            self.warn_of_unmatched(function, &ready, input);
            let chosen = self.choose(input, function).into_iter();
            let chosen = chosen.filter_map(|index| input.get(index));
            let mut selected: Vec<Resource> = chosen.cloned().collect();
            let call = FunctionCall {
                is_selection: is_selection(function),
                is_validator: true,
                ..self.call(
                    function,
                    pipeline.mutators.len() + index,
                    &ready,
                    CallConfig::of(config),
                )
            };
            let validated = call.run(&mut selected, &mut progress.results);
            let failure = validated.as_ref().err();
            let step = step(function, &ready, &progress.results, before, failure);
            progress.validation_steps.push(step);
            validated.map_err(|failure| (index, failure))?;
            progress.functions += 1;
        }
        Ok(())
    }

    /// The indices of the resources that a function gets.
    fn choose(&self, resources: &[Resource], function: &Function) -> Vec<usize> {
        let roots: Vec<NodeRef<'_>> = resources.iter().map(Resource::root).collect();
        let overlap = self.options.functions.compat.overlap();
        select(&roots, &function.selectors, &function.exclusions, overlap)
    }

    fn warn_of_unmatched(
        &self,
        function: &Function,
        ready: &ReadyFunction,
        resources: &[Resource],
    ) {
        warn_of_unmatched(
            self.context.log,
            self.options.functions.compat,
            ready.name(),
            &function.selectors,
            &function.exclusions,
            resources,
        );
    }

    /// The index of a function's configuration as earlier functions left it, if it still exists.
    fn find_config(&self, function: &Function, resources: &[Resource]) -> Option<usize> {
        let path = function.config_path.as_str();
        if path.is_empty() {
            return None;
        }
        resources.iter().position(|resource| {
            resource.file_place().0 == path
                && resource.annotation(PACKAGE_PATH) == Some(&self.package.path)
        })
    }

    /// A call of a mutator on all resources. `index` counts the functions of the pipeline.
    fn call<'a>(
        &'a self,
        declared: &'a Function,
        index: usize,
        ready: &'a ReadyFunction,
        config: CallConfig<'a>,
    ) -> FunctionCall<'a> {
        let pipeline = self.package.pipeline();
        let step = pipeline.map(|pipeline| StepNumber {
            number: index + 1,
            count: pipeline.mutators.len() + pipeline.validators.len(),
        });
        FunctionCall {
            function: ready,
            config,
            declared,
            package: Some(self.package),
            step,
            is_selection: false,
            is_validator: false,
            options: &self.options.functions,
            context: self.context,
        }
    }
}

/// The failure of a function of a package.
pub(crate) fn failed_function(package: &Package, place: FunctionPlace, failure: Failure) -> Raised {
    let trace = Trace::new("pipeline.run", &package.path, Raised::Failure(failure));
    trace.at(place).into()
}

/// Calls a mutator, keeping the two families of annotations consistent.
pub(crate) fn mutate_list(
    call: &FunctionCall<'_>,
    selected: &mut Vec<Resource>,
    results: &mut FunctionResultList,
) -> Result<Vec<Resource>, Failure> {
    let text = |error: annotations::FamilyError| Failure::Text(error.to_string());
    let snapshot = annotations::prepare(selected).map_err(text)?;
    let mut output = call.run(selected, results)?;
    // kpt's `render` skips this for an empty list; its `eval` does not.
    if !output.is_empty() || call.package.is_none() {
        annotations::reconcile(&mut output, &snapshot).map_err(text)?;
    }
    Ok(output)
}

fn is_selection(function: &Function) -> bool {
    !function.selectors.is_empty() || !function.exclusions.is_empty()
}

/// Removes the ids of resources after a function has failed.
pub(crate) fn clear_ids(resources: &mut [Resource]) {
    for resource in resources {
        for key in [LEGACY_ID, MIGRATION_ID, ID, RESOURCE_ID] {
            // It fails only where there are no annotations.
            let _ = resource.remove_annotation(key);
        }
    }
}

/// The step of a function in the render status.
fn step(
    function: &Function,
    ready: &ReadyFunction,
    results: &FunctionResultList,
    before: usize,
    failure: Option<&Failure>,
) -> Step {
    let mut step = Step {
        name: function.name.clone(),
        image: ready.image.clone(),
        exec: ready.exec.clone(),
        ..Step::default()
    };
    let reported = results.items.get(before..).and_then(<[_]>::last);
    match (reported, failure) {
        (Some(result), _) => {
            step.stderr = result.stderr.clone();
            step.exit_code = result.exit_code;
            step.results = result.results.clone();
            let errors = result.results.iter();
            step.error_results = errors
                .filter(|item| item.known_severity() == Some(Severity::Error))
                .cloned()
                .collect();
        }
        (None, Some(failure)) => {
            step.exit_code = 1;
            step.execution_error = failure.chain_text();
        }
        (None, None) => {}
    }
    step
}

/// The paths of resources as they were read.
pub(crate) fn paths_of(resources: &[Resource]) -> Vec<String> {
    let places = resources.iter().map(|resource| resource.file_place().0);
    places.map(paths::clean).collect()
}
