//! Running one function after the other, each on what it sees of the outcome of those before it.

use std::collections::HashMap;

use anyhow::{Result, anyhow, bail};
use kiln_krm::annotations::{LEGACY_ID, LEGACY_PATH};
use kiln_krm::legacy_words::{path_to_annotations, wrong_kind};
use kiln_krm::paths::default_path;
use kiln_krm::read::{AnswerError, read_answer, read_input};
use kiln_krm::schema::Schema;
use kiln_krm::{Dialect, Resource, ResourceList};
use kiln_package::available_threads;
use kiln_render::restore_list;
use kiln_runtime::{Deadline, Input, Limits, Output, RunContext, RunError};
use kiln_yaml::{EditError, SequenceStyle, copy_comments};

use super::flags::RunArgs;
use super::save_results;
use super::stderr::StderrForwarder;
use super::step::{Config, Step};
use crate::compat::Compat;
use crate::functions::container_functions;
use crate::interrupt::on_interrupt;
use crate::report::explain::hints;
use crate::ui::Ui;

/// What all functions together came to.
pub(super) struct Ending {
    /// What is to be written; none if a function left nothing, which ends the run without writing.
    pub(super) resources: Option<Vec<Resource>>,
    /// The failures that were to wait until now.
    pub(super) late: Vec<String>,
}

/// A resource on its way through the functions.
struct Item {
    resource: Resource,
    /// Its place among those that were read, as long as no function has had it.
    original: Option<usize>,
}

/// Runs all functions.
pub(super) fn execute(
    ui: &Ui,
    args: &RunArgs,
    resources: Vec<Resource>,
    steps: Vec<(Step, Config)>,
) -> Result<Ending> {
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
    let mut late = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if args.log_steps {
            ui.say(&format!("Running {}", step.name));
        }
        let sees = |item: &Item| step.sees(&item.resource);
        let (mut seen, unseen): (Vec<Item>, Vec<Item>) = items.into_iter().partition(sees);
        number(&mut seen, &mut configs)?;
        let inputs: Vec<Resource> = seen.into_iter().map(|item| item.resource).collect();
        let config = configs.get(at).map(|config| &config.resource);
        let ctx = RunContext {
            deadline: args.timeout().and_then(Deadline::after),
            limits,
            cancel: cancel.clone(),
            on_stderr: None,
        };
        let (outputs, failure) = run(ui, step, inputs, config, engine_hint.as_deref(), &ctx)?;
        late.extend(failure);
        let outputs = outputs.into_iter().map(|resource| Item {
            resource,
            original: None,
        });
        items = outputs.chain(unseen).collect();
        if items.is_empty() {
            return Ok(Ending {
                resources: None,
                late,
            });
        }
    }
    let resources = items.into_iter().map(|item| item.resource).collect();
    Ok(Ending {
        resources: Some(resources),
        late,
    })
}

/// Numbers resources, so that comments find their way back. A function's configuration that is still the very resource
/// that was read gets the number as well.
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

/// Runs a function: what came of it, and its failure if that is to wait.
fn run(
    ui: &Ui,
    step: &Step,
    inputs: Vec<Resource>,
    config: Option<&Resource>,
    hint: Option<&str>,
    ctx: &RunContext,
) -> Result<(Vec<Resource>, Option<String>)> {
    let config = config.map(Resource::document);
    let input = Input::new(Dialect::Legacy, &inputs, config);
    let ran = {
        let _progress = ui.progress(&step.name);
        let voice = StderrForwarder::new(ui, &step.name);
        let ran = step.runner.run(&input, &voice.heard_in(ctx));
        voice.end();
        ran
    };
    drop(input);
    let (output, failure) = match ran {
        Ok(outcome) => {
            let failure = (!outcome.is_success()).then(|| outcome.exit_text());
            (outcome.output, failure)
        }
        Err(error @ RunError::NotStarted(_)) => {
            let is_own = ui.compat() == Compat::Kiln;
            if let Some(hint) = hint.filter(|_| is_own && step.is_image) {
                bail!("{}\nhint: {hint}", with_name(step, &error.to_string()));
            }
            (Output::Wire(Vec::new().into()), Some(error.to_string()))
        }
        Err(RunError::Unavailable(error)) if step.is_script => {
            (Output::Wire(Vec::new().into()), Some(error.to_string()))
        }
        Err(error) => return Err(error.into()),
    };
    let failure = failure.map(|failure| match ui.compat() {
        Compat::Kiln => with_name(step, &failure),
        Compat::Kpt | Compat::KptV039 => failure,
    });
    let list = match (output, &failure) {
        (Output::List(list), _) => list,
        (Output::Wire(text), failure) => match (read(ui, step, text.into()), failure) {
            (Ok(list), _) => list,
            // What a function that failed printed may be anything; that it failed matters more.
            (Err(_), Some(failure)) if ui.compat() == Compat::Kiln => bail!("{failure}"),
            (Err(error), _) => return Err(error),
        },
    };
    let ResourceList { items, results, .. } = list;
    let mut outputs = restore(ui, items, inputs)?;
    if let (Some(path), Some(results)) = (&step.results_file, &results) {
        save_results(path, &kiln_yaml::to_string(results, SequenceStyle::Compact))?;
    }
    match failure {
        Some(failure) if !step.defers_failure => bail!("{failure}"),
        failure => {
            place(&mut outputs, &step.directory)?;
            Ok((outputs, failure))
        }
    }
}

/// The list that a function printed.
fn read(ui: &Ui, step: &Step, text: Vec<u8>) -> Result<ResourceList> {
    match ui.compat() {
        Compat::Kpt | Compat::KptV039 => {
            read_input(text, Dialect::Legacy).map_err(|error| anyhow!("{error}"))
        }
        Compat::Kiln => read_answer(text, Dialect::Legacy).map_err(|error| match error {
            AnswerError::Read(error) => anyhow!("{error}"),
            error => {
                let text = format!("returned no list of resources: {error}");
                anyhow!("{}\nhint: {}", with_name(step, &text), hints::NO_ITEMS)
            }
        }),
    }
}

/// A failure with the name of the function, and what can be done about it.
fn with_name(step: &Step, failure: &str) -> String {
    let mut text = format!("function {:?}: {failure}", step.name);
    if let Some(place) = &step.place {
        text.push_str(&format!("\n  at {place}"));
    }
    let start_hint = hints::start_hint(failure).filter(|_| !step.is_image);
    let hint = start_hint.map(str::to_owned);
    if let Some(hint) = hint.or_else(|| hints::exit(failure, None)) {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}

/// Gives resources the comments back that their inputs had. In kiln's own mode also the order of their fields, and what
/// nothing has changed is the input itself.
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

/// The comments of a resource, as the original restores them.
fn restore_one(mut output: Resource, inputs: &[Resource]) -> Result<Resource> {
    check_annotations(&output)?;
    let input = output.annotation(LEGACY_ID).and_then(|id| {
        let number: usize = id.parse().ok()?;
        // Only numbers as they were given out count.
        let is_ours = number.to_string() == id;
        inputs.get(number.checked_sub(1).filter(|_| is_ours)?)
    });
    let Some(input) = input else {
        return Ok(output);
    };
    let (from, start) = (input.document(), output.start());
    let document = output.document_mut();
    let copied = copy_comments((from, input.start()), (document, start), Schema::builtin());
    let in_old_words = |error: EditError| anyhow!(wrong_kind(&error, ""));
    copied.map_err(in_old_words)?;
    let mut restored = output.with_origin(input.origin().cloned());
    restored
        .remove_annotation(LEGACY_ID)
        .map_err(in_old_words)?;
    Ok(restored)
}

/// Gives a path to resources that have none.
fn place(outputs: &mut [Resource], dir: &str) -> Result<()> {
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
