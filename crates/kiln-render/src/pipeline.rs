//! The pipeline of one package: mutators, then validators, stop at the first failure.

use std::collections::HashMap;

use kiln_krm::annotations::{self, ID, LEGACY_ID, MIGRATION_ID, PACKAGE_PATH, RESOURCE_ID};
use kiln_krm::check::{ListKind, check_list};
use kiln_krm::kptfile::{Function, FunctionKind, Pipeline, Step};
use kiln_krm::package::FileSource;
use kiln_krm::results::{FunctionResultList, Severity};
use kiln_krm::selector::select;
use kiln_krm::{Resource, paths};
use kiln_yaml::NodeRef;

use crate::call::{Call, CallingPackage, Config};
use crate::emptied::{Emptied, Inventory};
use crate::error::{Failure, FunctionPlace, Raised, Trace};
use crate::function::ReadyFunction;
use crate::lane::Lane;
use crate::log::{Event, Log};
use crate::options::RenderOptions;
use crate::package::Package;
use crate::selection::{Rest, set_resource_ids};

/// What the functions of packages have come to.
pub(crate) struct Progress {
    pub(crate) results: FunctionResultList,
    pub(crate) mutation_steps: Vec<Step>,
    pub(crate) validation_steps: Vec<Step>,
    pub(crate) functions: usize,
    pub(crate) emptied: Vec<Emptied>,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            results: FunctionResultList::new(),
            mutation_steps: Vec::new(),
            validation_steps: Vec::new(),
            functions: 0,
            emptied: Vec::new(),
        }
    }
}

impl Progress {
    /// Adds what came later.
    pub(crate) fn add(&mut self, later: Progress) {
        self.results.exit_code = self.results.exit_code.max(later.results.exit_code);
        self.results.items.extend(later.results.items);
        self.mutation_steps.extend(later.mutation_steps);
        self.validation_steps.extend(later.validation_steps);
        self.functions += later.functions;
        self.emptied.extend(later.emptied);
    }
}

/// Why a pipeline stopped, and what there was at that moment.
pub(crate) struct Stopped {
    pub(crate) raised: Raised,
    pub(crate) resources: Vec<Resource>,
}

/// What the pipelines of all packages share.
pub(crate) struct Runner<'a> {
    pub(crate) files: &'a dyn FileSource,
    pub(crate) options: &'a RenderOptions<'a>,
    pub(crate) lane: &'a Lane<'a>,
    /// Whether inputs that functions have consumed are wanted back.
    pub(crate) keeps_consumed: bool,
}

/// A list on its way through the mutators.
struct Current {
    resources: Vec<Resource>,
    /// The place among the pipeline's inputs, for what no function has had yet.
    places: Vec<Option<usize>>,
}

/// What went through a pipeline.
pub(crate) struct Finished {
    pub(crate) resources: Vec<Resource>,
    /// The inputs that functions have consumed, by their place, with the marks they got for it.
    pub(crate) consumed: HashMap<usize, Resource>,
}

impl Runner<'_> {
    /// Runs the pipeline of a package; `own_paths` are those of the package's own resources as they were read.
    pub(crate) fn run(
        &self,
        package: &Package,
        input: Vec<Resource>,
        own_paths: &[String],
        progress: &mut Progress,
    ) -> Result<Finished, Stopped> {
        self.lane.event(&Event::Package {
            name: &package.name,
        });
        let Some(pipeline) = package.pipeline() else {
            return match check_list(input.iter().map(Resource::root), ListKind::Input) {
                Ok(()) => Ok(Finished {
                    resources: input,
                    consumed: HashMap::new(),
                }),
                Err(error) => Err(Stopped {
                    raised: Failure::NotKrm(Box::new(error)).into(),
                    resources: input,
                }),
            };
        };
        if let Err(invalid) = pipeline.check_config_paths(own_paths.iter().map(String::as_str)) {
            return Err(Stopped {
                raised: Failure::PipelineAtRun(invalid).into(),
                resources: input,
            });
        }
        let traced = |kind, index, failure, resources| {
            let trace = Trace::new("pipeline.run", &package.path, Raised::Failure(failure));
            Stopped {
                raised: trace.at(FunctionPlace { kind, index }).into(),
                resources,
            }
        };
        let mutated = self.run_mutators(package, pipeline, input, progress);
        let mut finished = mutated.map_err(|(index, failure, resources)| {
            traced(FunctionKind::Mutator, index, failure, resources)
        })?;
        let validated = self.run_validators(package, pipeline, &finished.resources, progress);
        if let Err((index, failure)) = validated {
            let resources = std::mem::take(&mut finished.resources);
            return Err(traced(FunctionKind::Validator, index, failure, resources));
        }
        self.lane.event(&Event::PackageDone);
        Ok(finished)
    }

    /// After a failure: which mutator, why, and what there was.
    fn run_mutators(
        &self,
        package: &Package,
        pipeline: &Pipeline,
        input: Vec<Resource>,
        progress: &mut Progress,
    ) -> Result<Finished, (usize, Failure, Vec<Resource>)> {
        let mut ready = Vec::new();
        for (index, function) in pipeline.mutators.iter().enumerate() {
            match self.make_ready(package, function) {
                Ok(function) => ready.push(function),
                Err((step, failure)) => {
                    progress.mutation_steps.push(*step);
                    return Err((index, failure, input));
                }
            }
        }
        let mut consumed = HashMap::new();
        let mut current = Current {
            places: (0..input.len()).map(Some).collect(),
            resources: input,
        };
        for (index, (function, ready)) in pipeline.mutators.iter().zip(ready).enumerate() {
            let before = progress.results.items.len();
            let inventory = Inventory::of(&current.resources);
            let mutated = self.mutate(package, function, &ready, current, progress, &mut consumed);
            let failure = mutated.as_ref().err().map(|(failure, _)| failure);
            let step = step(function, &ready, &progress.results, before, failure);
            progress.mutation_steps.push(step);
            current = mutated.map_err(|(failure, resources)| (index, failure, resources))?;
            let emptied = inventory.emptied(&current.resources, ready.name(), self.options.root);
            progress.emptied.extend(emptied);
            progress.functions += 1;
        }
        Ok(Finished {
            resources: current.resources,
            consumed,
        })
    }

    fn mutate(
        &self,
        package: &Package,
        function: &Function,
        ready: &ReadyFunction,
        current: Current,
        progress: &mut Progress,
        consumed: &mut HashMap<usize, Resource>,
    ) -> Result<Current, (Failure, Vec<Resource>)> {
        let is_selection = is_selection(function);
        let Current {
            mut resources,
            places,
        } = current;
        if is_selection && let Err(error) = set_resource_ids(&mut resources) {
            return Err((Failure::Text(error.to_string()), resources));
        }
        let config_place = find_config(package, function, &resources);
        let config = config_place.and_then(|place| resources.get(place));
        let unselected_config = config
            .filter(|_| is_selection)
            .map(|config| config.document().clone());
        let (mut selected, rest) = match is_selection {
            true => {
                let chosen = self.choose(&resources, function);
                Rest::split(resources, chosen)
            }
            false => (resources, Rest::default()),
        };
        let config = match config_place {
            None => Config::of(ready.config.as_ref()),
            Some(place) if !is_selection => Config::Input(place),
            Some(place) => match rest.taken().iter().rposition(|taken| *taken == place) {
                Some(selected) => Config::Input(selected),
                None => Config::of(unselected_config.as_ref()),
            },
        };
        let call = Call {
            function: ready,
            config,
            package: Some(CallingPackage {
                path: &package.path,
                name: &package.name,
            }),
            is_selection,
            is_validator: false,
            options: &self.options.functions,
            lane: self.lane,
        };
        let output = mutate_list(&call, &mut selected, &mut progress.results);
        let output = match output {
            Ok(output) => output,
            Err(failure) => {
                let mut resources = rest.put_back(selected);
                clear_marks(&mut resources);
                return Err((failure, resources));
            }
        };
        if !is_selection {
            if self.keeps_consumed {
                remember(consumed, selected, &places);
            }
            let places = vec![None; output.len()];
            return Ok(Current {
                resources: output,
                places,
            });
        }
        if self.keeps_consumed {
            let place_of = |place: &usize| places.get(*place).copied().flatten();
            let taken: Vec<Option<usize>> = rest.taken().iter().map(place_of).collect();
            remember(consumed, selected, &taken);
        }
        let merged = rest
            .merge(output)
            .map_err(|error| (Failure::Text(error.to_string()), Vec::new()))?;
        let mut current = Current {
            resources: Vec::with_capacity(merged.len()),
            places: Vec::with_capacity(merged.len()),
        };
        for (resource, place) in merged {
            current.resources.push(resource);
            let place = place.and_then(|place| places.get(place).copied());
            current.places.push(place.flatten());
        }
        Ok(current)
    }

    /// After a failure: which validator, and why.
    fn run_validators(
        &self,
        package: &Package,
        pipeline: &Pipeline,
        input: &[Resource],
        progress: &mut Progress,
    ) -> Result<(), (usize, Failure)> {
        for (index, function) in pipeline.validators.iter().enumerate() {
            let before = progress.results.items.len();
            let ready = self
                .make_ready(package, function)
                .map_err(|(step, failure)| {
                    progress.validation_steps.push(*step);
                    (index, failure)
                })?;
            let config = find_config(package, function, input).and_then(|place| input.get(place));
            let config = config.map(Resource::document).or(ready.config.as_ref());
            let chosen = self.choose(input, function).into_iter();
            let chosen = chosen.filter_map(|place| input.get(place));
            let mut selected: Vec<Resource> = chosen.cloned().collect();
            let call = Call {
                function: &ready,
                config: Config::of(config),
                package: Some(CallingPackage {
                    path: &package.path,
                    name: &package.name,
                }),
                is_selection: is_selection(function),
                is_validator: true,
                options: &self.options.functions,
                lane: self.lane,
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

    /// The places of what a function gets.
    fn choose(&self, resources: &[Resource], function: &Function) -> Vec<usize> {
        let roots: Vec<NodeRef<'_>> = resources.iter().map(Resource::root).collect();
        let overlap = self.options.functions.behaviour.overlap();
        select(&roots, &function.selectors, &function.exclusions, overlap)
    }
}

/// Runs a function that changes what it gets, keeping the two families of annotations in step.
pub(crate) fn mutate_list(
    call: &Call<'_>,
    selected: &mut Vec<Resource>,
    results: &mut FunctionResultList,
) -> Result<Vec<Resource>, Failure> {
    let text = |error: annotations::FamilyError| Failure::Text(error.to_string());
    let snapshot = annotations::prepare(selected).map_err(text)?;
    let mut output = call.run(selected, results)?;
    // kpt's renderer looks no further at a list without resources; its evaluation does.
    if !output.is_empty() || call.package.is_none() {
        annotations::reconcile(&mut output, &snapshot).map_err(text)?;
    }
    Ok(output)
}

/// The place of a function's configuration as earlier functions left it, if it is still there.
fn find_config(package: &Package, function: &Function, resources: &[Resource]) -> Option<usize> {
    let path = function.config_path.as_str();
    if path.is_empty() {
        return None;
    }
    resources.iter().position(|resource| {
        resource.file_place().0 == path && resource.annotation(PACKAGE_PATH) == Some(&package.path)
    })
}

fn is_selection(function: &Function) -> bool {
    !function.selectors.is_empty() || !function.exclusions.is_empty()
}

/// Removes what was put on resources for a function that then failed.
pub(crate) fn clear_marks(resources: &mut [Resource]) {
    for resource in resources {
        for key in [LEGACY_ID, MIGRATION_ID, ID, RESOURCE_ID] {
            // What cannot carry annotations has none.
            let _ = resource.remove_annotation(key);
        }
    }
}

fn remember(
    consumed: &mut HashMap<usize, Resource>,
    selected: Vec<Resource>,
    places: &[Option<usize>],
) {
    for (resource, place) in selected.into_iter().zip(places) {
        if let Some(place) = place {
            consumed.insert(*place, resource);
        }
    }
}

/// How a function's run went, for the render status.
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
