//! Calling one function on one list of resources, without a pipeline.

use kiln_krm::Resource;
use kiln_krm::kptfile::{Function, Selector};
use kiln_krm::results::FunctionResultList;
use kiln_krm::selector::select;
use kiln_runtime::{FunctionSpec, Target};
use kiln_yaml::{Document, NodeRef};

use crate::call::{CallConfig, FunctionCall};
use crate::error::Failure;
use crate::function::ReadyFunction;
use crate::log::Log;
use crate::options::FunctionOptions;
use crate::pipeline::mutate_list;
use crate::selection::{Unselected, set_resource_ids};
use crate::task::TaskContext;
use crate::unmatched::warn_of_unmatched;

/// A function to call, and which resources it gets.
pub struct Evaluation<'a> {
    /// The function, by its resolved name.
    pub target: Target,
    /// `NAME=value` or `NAME`, for images.
    pub env: Vec<String>,
    /// The configuration of the function.
    pub config: Option<Document>,
    /// Which resources it gets; all if empty.
    pub selector: Selector,
    /// Which of these it does not get.
    pub exclusion: Selector,
    /// How it is run.
    pub options: &'a FunctionOptions<'a>,
}

/// Calls a function; what it reports is added to `results`, whether it succeeds or not.
pub fn evaluate(
    evaluation: Evaluation<'_>,
    mut resources: Vec<Resource>,
    results: &mut FunctionResultList,
    log: &dyn Log,
) -> Result<Vec<Resource>, Failure> {
    let Evaluation {
        target,
        env,
        config,
        selector,
        exclusion,
        options,
    } = evaluation;
    let spec = FunctionSpec {
        network: options.network,
        env,
        ..FunctionSpec::new(target)
    };
    let function = ReadyFunction::find(spec, config, options)?;
    let is_selection = !selector.is_empty() || !exclusion.is_empty();
    let given = |selector: Selector| match selector.is_empty() {
        true => Vec::new(),
        false => vec![selector],
    };
    let declared = Function {
        image: function.image.clone(),
        exec: function.exec.clone(),
        selectors: given(selector.clone()),
        exclusions: given(exclusion.clone()),
        ..Function::default()
    };
    let context = TaskContext {
        log,
        cancel: &options.cancel,
        await_turn: None,
    };
    let call = FunctionCall {
        function: &function,
        config: CallConfig::of(function.config.as_ref()),
        declared: &declared,
        package: None,
        step: None,
        is_selection,
        is_validator: false,
        options,
        context: &context,
    };
    if !is_selection {
        return mutate_list(&call, &mut resources, results);
    }
    let text = |error: kiln_yaml::EditError| Failure::Text(error.to_string());
    set_resource_ids(&mut resources).map_err(text)?;
    let roots: Vec<NodeRef<'_>> = resources.iter().map(Resource::root).collect();
    let (selectors, exclusions) = ([selector], [exclusion]);
    let taken = select(&roots, &selectors, &exclusions, options.compat.overlap());
    warn_of_unmatched(
        log,
        options.compat,
        function.name(),
        &selectors,
        &exclusions,
        &resources,
    );
    let (mut selected, unselected) = Unselected::split(resources, taken);
    let output = mutate_list(&call, &mut selected, results)?;
    let merged = unselected.merge(output).map_err(text)?;
    Ok(merged.into_iter().map(|(resource, _)| resource).collect())
}
