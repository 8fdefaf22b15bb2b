//! Runs native functions like programs: a ResourceList as text in, one out.

mod list_heads;

use std::num::NonZeroUsize;

use kiln_krm::read::read_function_output;
use kiln_krm::results::read_results;
use kiln_krm::{Dialect, ResourceList, write_list_within};
use kiln_runtime::RunError;
use kiln_yaml::Document;

use crate::evaluator::{ListFormat, perform};
use crate::function::{Context, FunctionList, ListHeads};
use crate::registry::FunctionVersion;
use crate::sdk::{Sdk, SdkOutput};

/// The output of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProgramOutput {
    /// The list.
    pub stdout: String,
    pub stderr: String,
    pub exit_code: i32,
    /// Whether another run on the same input may have another result.
    pub is_random: bool,
}

/// Runs a function on a list in text form.
pub fn run(
    version: &FunctionVersion,
    input: impl Into<Vec<u8>>,
    ctx: &Context<'_>,
) -> Result<ProgramOutput, RunError> {
    run_on(NonZeroUsize::MIN, version, input, ctx)
}

/// The same on several threads, with the same result.
pub fn run_on(
    threads: NonZeroUsize,
    version: &FunctionVersion,
    input: impl Into<Vec<u8>>,
    ctx: &Context<'_>,
) -> Result<ProgramOutput, RunError> {
    let refused = |error: String| ProgramOutput {
        stderr: error,
        exit_code: 1,
        ..ProgramOutput::default()
    };
    let given = match read_function_output(input.into(), Dialect::Current) {
        Ok(given) => given,
        Err(error) => return Ok(refused(error.to_string())),
    };
    let ResourceList {
        wrapper,
        items,
        function_config: config,
        results,
    } = given;
    let results = results.map(|results| read_results(results.root()));
    let results = match results.transpose() {
        Ok(results) => results.unwrap_or_default(),
        Err(error) => return Ok(refused(error.to_string())),
    };
    let list = FunctionList {
        items,
        config,
        results: results.into(),
        ..FunctionList::default()
    };
    let SdkOutput {
        mut list,
        exit_code,
        below_the_list,
    } = perform(version, list, ctx, ListFormat::Wire)?;
    let sdk = version.sdk;
    if matches!(sdk, Sdk::Kyaml(..)) {
        for resource in &mut list.items {
            // The SDK's writer drops empty annotations and metadata; this changes only resources that have them.
            let _ = resource.clear_annotations(&[]);
        }
    }
    let heads = version.function.list_heads();
    if heads != ListHeads::Own {
        for resource in &mut list.items {
            list_heads::rearrange(resource.document_mut(), heads);
        }
    }
    let is_empty = |document: &&Document| document.root().is_empty();
    let config = list
        .config
        .as_ref()
        .filter(|config| !(sdk.omits_what_is_empty() && is_empty(config)));
    let results = sdk.results(&list.results);
    let wrapper = sdk.wrapper(wrapper);
    let limit = ctx.run.limits.max_output;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (items, results) = (&list.items, results.as_ref());
    let Some(mut stdout) = write_list_within(most, threads, &wrapper, items, config, results)
    else {
        return Err(RunError::OutputTooLarge { limit });
    };
    if list.items.is_empty() && sdk.omits_what_is_empty() {
        stdout = without_items(&stdout);
    }
    stdout.push_str(&below_the_list);
    Ok(ProgramOutput {
        stdout,
        is_random: list.is_random,
        stderr: list.stderr.into_string(),
        exit_code,
    })
}

/// Removes an empty `items` from a list.
fn without_items(list: &str) -> String {
    list.replacen("items: []\n", "", 1)
}
