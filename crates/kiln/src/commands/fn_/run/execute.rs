//! Runs functions in sequence, each on the output of those before it.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use kiln_krm::annotations::{LEGACY_ID, LEGACY_PATH};
use kiln_krm::legacy_words::{path_to_annotations, wrong_kind};
use kiln_krm::paths::default_path;
use kiln_krm::read::{AnswerError, read_answer, read_input};
use kiln_krm::schema::Schema;
use kiln_krm::{Dialect, Resource, ResourceList};
use kiln_package::available_threads;
use kiln_render::{Exit, restore_list};
use kiln_runtime::{Deadline, Input, Limits, Output, RunContext, RunError};
use kiln_yaml::{EditError, SequenceStyle, copy_comments};

use super::flags::RunArgs;
use super::save_results;
use super::stderr::StderrForwarder;
use super::step::{Config, Step};
use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass, hints};
use crate::functions::container_functions;
use crate::interrupt::on_interrupt;
use crate::ui::{Ui, Work};

pub(super) struct RunOutcome {
    /// The resources to write; `None` if a function returned nothing, which ends the run without writing.
    pub(super) resources: Option<Vec<Resource>>,
    /// The failures of functions that are reported at the end.
    pub(super) deferred_failures: Vec<CommandError>,
}

struct Item {
    resource: Resource,
    /// Its index among the resources that were read, until a function returned it.
    original: Option<usize>,
}

pub(super) fn execute(
    ui: &Ui,
    args: &RunArgs,
    resources: Vec<Resource>,
    steps: Vec<(Step, Config)>,
) -> Result<RunOutcome> {
    let items = resources.into_iter().enumerate();
    let mut items: Vec<Item> = items
        .map(|(at, resource)| Item {
            resource,
            original: Some(at),
        })
        .collect();
    let (steps, mut configs): (Vec<Step>, Vec<Config>) = steps.into_iter().unzip();
    let limits = Limits {
        max_output: args.max_output(ui.compat()),
        memory: None,
    };
    let cancel = on_interrupt();
    let images = steps.iter().filter(|step| step.is_image);
    let images: Vec<_> = images.map(|step| (None, step.name.clone())).collect();
    let engine_hint = (!images.is_empty()).then(|| container_functions::hint(&images));
    let mut deferred_failures = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if args.log_steps {
            ui.print_message(&format!("Running {}", step.name));
        }
        let is_selected = |item: &Item| step.selects(&item.resource);
        let (mut selected, others): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(is_selected);
        number(&mut selected, &mut configs)?;
        let inputs: Vec<Resource> = selected.into_iter().map(|item| item.resource).collect();
        let config = configs.get(at).map(|config| &config.resource);
        let ctx = RunContext {
            deadline: args.timeout().and_then(Deadline::after),
            limits,
            cancel: cancel.clone(),
            ..RunContext::default()
        };
        let (outputs, failure) = run(ui, step, inputs, config, engine_hint.as_deref(), &ctx)?;
        deferred_failures.extend(failure);
        let outputs = outputs.into_iter().map(|resource| Item {
            resource,
            original: None,
        });
        items = outputs.chain(others).collect();
        if items.is_empty() {
            return Ok(RunOutcome {
                resources: None,
                deferred_failures,
            });
        }
    }
    let resources = items.into_iter().map(|item| item.resource).collect();
    Ok(RunOutcome {
        resources: Some(resources),
        deferred_failures,
    })
}

/// Numbers resources, so that comments can be restored. A functionConfig that is one of these resources, unchanged, gets the
/// same number.
fn number(items: &mut [Item], configs: &mut [Config]) -> Result<()> {
    let places = configs.iter().enumerate();
    let places: HashMap<usize, usize> = places
        .filter_map(|(at, config)| Some((config.original?, at)))
        .collect();
    for (at, item) in items.iter_mut().enumerate() {
        let id = (at + 1).to_string();
        annotate(&mut item.resource, LEGACY_ID, &id)?;
        let place = item.original.and_then(|original| places.get(&original));
        if let Some(config) = place.and_then(|at| configs.get_mut(*at)) {
            annotate(&mut config.resource, LEGACY_ID, &id)?;
        }
    }
    Ok(())
}

fn annotate(resource: &mut Resource, key: &str, value: &str) -> Result<()> {
    let set = resource.set_annotation(key, value);
    set.map_err(|error| anyhow!(wrong_kind(&error, path_to_annotations(resource.root()))))
}

/// Runs a function. Returns its output, and its failure if that is deferred.
fn run(
    ui: &Ui,
    step: &Step,
    inputs: Vec<Resource>,
    config: Option<&Resource>,
    engine_hint: Option<&str>,
    ctx: &RunContext,
) -> Result<(Vec<Resource>, Option<CommandError>)> {
    let config = config.map(Resource::document);
    let input = Input::new(Dialect::Legacy, &inputs, config);
    let ran = {
        let _progress = ui.progress(Work::Function {
            name: step.name.clone(),
            step: None,
        });
        let stderr = StderrForwarder::new(ui, &step.name);
        let ran = step.runner.run(&input, &stderr.listen_in(ctx));
        stderr.end();
        ran
    };
    drop(input);
    let (output, failure) = match ran {
        Ok(outcome) => {
            let exit = (!outcome.is_success()).then(|| Exit::of(&outcome));
            let failure = exit.map(|exit| {
                let hint = hints::exit(&exit, None);
                step_error(ui, step, &exit.text, Some(hint))
            });
            (outcome.output, failure)
        }
        Err(RunError::NotStarted(error)) => {
            let is_own = ui.compat() == Compat::Kiln;
            let hint = match step.is_image {
                true => engine_hint.map(str::to_owned),
                false => hints::start(&error).map(str::to_owned),
            };
            let failure = step_error(ui, step, &error.to_string(), hint);
            if is_own && step.is_image {
                return Err(CommandError {
                    class: ErrorClass::Unavailable,
                    ..failure
                }
                .into());
            }
            (Output::Wire(Vec::new().into()), Some(failure))
        }
        Err(RunError::Unavailable(error)) if step.is_script => {
            let failure = step_error(ui, step, &error.to_string(), None);
            (Output::Wire(Vec::new().into()), Some(failure))
        }
        Err(error) => return Err(error.into()),
    };
    let (list, failure) = match (output, failure) {
        (Output::List(list), failure) => (list, failure),
        (Output::Wire(text), failure) => match (read(ui, step, text.into()), failure) {
            (Ok(list), failure) => (list, failure),
            // The output of a failed function may be anything; the failure matters more.
            (Err(_), Some(failure)) if ui.compat() == Compat::Kiln => return Err(failure.into()),
            (Err(error), _) => return Err(error),
        },
    };
    let ResourceList { items, results, .. } = list;
    let mut outputs = restore(ui, items, inputs)?;
    if let (Some(path), Some(results)) = (&step.results_file, &results) {
        save_results(path, &kiln_yaml::to_string(results, SequenceStyle::Compact))?;
    }
    match failure {
        Some(failure) if !step.defers_failure => Err(failure.into()),
        failure => {
            set_default_paths(&mut outputs, &step.directory)?;
            Ok((outputs, failure))
        }
    }
}

/// Parses the output of a function.
fn read(ui: &Ui, step: &Step, text: Vec<u8>) -> Result<ResourceList> {
    match ui.compat() {
        Compat::Kpt | Compat::KptV039 => {
            read_input(text, Dialect::Legacy).map_err(|error| anyhow!("{error}"))
        }
        Compat::Kiln => read_answer(text, Dialect::Legacy).map_err(|error| match error {
            AnswerError::Read(error) => anyhow!("{error}"),
            error => {
                let text = format!("did not return a ResourceList: {error}");
                step_error(ui, step, &text, Some(hints::NO_ITEMS.to_owned())).into()
            }
        }),
    }
}

/// A failure with, in kiln's own mode, the function, its position and a hint.
fn step_error(ui: &Ui, step: &Step, failure: &str, hint: Option<String>) -> CommandError {
    match ui.compat() {
        Compat::Kiln => CommandError {
            class: ErrorClass::Function,
            position: step.position.clone(),
            hint,
            ..CommandError::new(format!("error: function {:?}: {failure}", step.name))
        },
        Compat::Kpt | Compat::KptV039 => CommandError {
            class: ErrorClass::Function,
            ..CommandError::new(format!("error: {failure}"))
        },
    }
}

/// Restores the comments of the inputs. In kiln's own mode also the order of their fields, and unchanged resources are the
/// inputs themselves.
fn restore(ui: &Ui, outputs: Vec<Resource>, inputs: Vec<Resource>) -> Result<Vec<Resource>> {
    if ui.compat() == Compat::Kiln {
        outputs.iter().try_for_each(check_annotations)?;
        return Ok(restore_list(outputs, inputs, available_threads())?);
    }
    let outputs = outputs.into_iter();
    outputs.map(|output| restore_one(output, &inputs)).collect()
}

fn check_annotations(output: &Resource) -> Result<()> {
    match output.root().lookup(&["metadata", "annotations"]) {
        Ok(_) => Ok(()),
        Err(error) => bail!(wrong_kind(&error, path_to_annotations(output.root()))),
    }
}

/// Restores the comments of a resource as the original does.
fn restore_one(mut output: Resource, inputs: &[Resource]) -> Result<Resource> {
    check_annotations(&output)?;
    let input = output.annotation(LEGACY_ID).and_then(|id| {
        let number: usize = id.parse().ok()?;
        // Only numbers in the form that we wrote count.
        let is_ours = number.to_string() == id;
        inputs.get(number.checked_sub(1).filter(|_| is_ours)?)
    });
    let Some(input) = input else {
        return Ok(output);
    };
    let (from, start) = (input.document(), output.start());
    let document = output.document_mut();
    let copied = copy_comments((from, input.start()), (document, start), Schema::builtin());
    let in_kpt_words = |error: EditError| anyhow!(wrong_kind(&error, ""));
    copied.map_err(in_kpt_words)?;
    let mut restored = output.with_origin(input.origin().cloned());
    restored
        .remove_annotation(LEGACY_ID)
        .map_err(in_kpt_words)?;
    Ok(restored)
}

/// Sets the path of resources that have none.
fn set_default_paths(outputs: &mut [Resource], dir: &str) -> Result<()> {
    for resource in outputs {
        if resource.meta().is_missing {
            bail!("missing Resource metadata");
        }
        if resource.annotation(LEGACY_PATH).is_none() {
            let path = default_path(dir, resource.root());
            annotate(resource, LEGACY_PATH, &path)?;
        }
    }
    Ok(())
}
