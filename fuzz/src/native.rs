//! Native functions on any input: no panic, and no more memory than the limits of the call allow.

use std::time::Duration;

use kiln_functions::registry::{FunctionVersion, Registry};
use kiln_functions::{Context, NoFiles, wire};
use kiln_krm::{Dialect, Resource, Wrapper, write_list};
use kiln_runtime::{Deadline, Limits, RunContext, RunError};

use crate::bounded;

/// The allowance of a call that may write a mebibyte is 98 MiB; trees, texts and results of that size may exist together.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_BYTES: usize = 400 << 20;

/// The first byte chooses the function, the second repeats the items, and the rest are documents: the first is the
/// configuration, the others are items. `LONG` in the text stands for a long value.
pub fn native(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else {
        return;
    };
    let Some((repeat, text)) = rest.split_first() else {
        return;
    };
    let functions: Vec<&'static FunctionVersion> = Registry::builtin()
        .functions()
        .filter(|info| info.name != "sleep")
        .flat_map(|info| info.versions)
        .collect();
    let Some(version) = functions.get(usize::from(*choice) % functions.len().max(1)) else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let text = text.replacen("LONG", &"v".repeat(20_000), 20);
    let Ok(mut documents) = kiln_yaml::parse_all(text.as_bytes()) else {
        return;
    };
    if documents.is_empty() {
        return;
    }
    let config = documents.remove(0);
    let items: Vec<Resource> = documents.into_iter().map(Resource::new).collect();
    let count = items.len() * (1 + usize::from(*repeat));
    let items: Vec<Resource> = items.into_iter().cycle().take(count).collect();
    let wrapper = Wrapper::resource_list(Dialect::Current);
    let list = write_list(&wrapper, &items, Some(&config), None);
    if list.len() > 2 << 20 {
        return;
    }
    drop((items, config));
    let run = RunContext {
        deadline: Deadline::after(Duration::from_secs(5)),
        limits: Limits {
            max_output: MAX_OUTPUT,
            ..Limits::default()
        },
        ..RunContext::default()
    };
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &run,
    };
    match bounded::run(MAX_BYTES, || wire::run(version, list.as_bytes(), &ctx)) {
        Ok(answer) => {
            assert!(answer.stdout.len() as u64 <= MAX_OUTPUT + 4096);
            assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        }
        Err(RunError::OutputTooLarge { .. } | RunError::TimedOut { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
