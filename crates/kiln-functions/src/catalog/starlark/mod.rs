//! `starlark`: runs a script that is part of the configuration.
//!
//! The script gets the list as dicts and lists; the output is what it leaves in `ctx.resource_list["items"]`.
//! Everything is written from those values: sorted keys, strings quoted only if necessary, no comments.
//!
//! Dicts keep the order of their source; the original uses Go's random map order.

mod config;
mod decode;
mod encode;
mod execute;
mod limits;
mod modules;
mod open_api;
mod script;
#[cfg(test)]
mod tests;
mod time;
mod v0_3_0;
mod yaml_v2;

pub use script::StarlarkScript;

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_starlark::Dialect;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use config::StarlarkRun;
use encode::EncodedItem;
use execute::{ExecuteError, Lines, Script};
use modules::{Library, MatchGvk};
use v0_3_0::FormerStarlark;

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "starlark",
    former_names: &[],
    summary: "Runs a Starlark script on resources",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.3.0"],
            Sdk::Kyaml(ResultsForm::Object("starlark"), ErrorsPrinted::Once),
            &FormerStarlark,
        )
        .with_behaviour(2),
        FunctionVersion::new(
            &["v0.4.0"],
            Sdk::SilentGo,
            &Starlark {
                library: Library { match_gvk: None },
                complaints: Complaints::BehindTheToken,
                default_name: FORMER_DEFAULT_NAME,
            },
        )
        .with_behaviour(2),
        FunctionVersion::new(&["v0.4.1", "v0.4.2"], Sdk::SilentGo, &WITH_MATCH_GVK)
            .with_behaviour(2),
        FunctionVersion::new(&["v0.4.3", "v0.5.0"], Sdk::Go, &WITH_MATCH_GVK).with_behaviour(2),
        FunctionVersion::new(
            &["v0.5.1", "v0.5.2", "unstable"],
            Sdk::Go,
            &Starlark {
                library: Library {
                    match_gvk: Some(MatchGvk::CoreOnly),
                },
                complaints: Complaints::AtTheToken,
                default_name: DEFAULT_NAME,
            },
        )
        .with_behaviour(2),
        FunctionVersion::new(
            &["v0.5.5", "latest"],
            Sdk::Go,
            &Starlark {
                library: Library {
                    match_gvk: Some(MatchGvk::Lenient),
                },
                complaints: Complaints::AtTheToken,
                default_name: DEFAULT_NAME,
            },
        )
        .with_behaviour(2),
    ],
};

/// v0.4.1 to v0.5.0.
const WITH_MATCH_GVK: Starlark = Starlark {
    library: Library {
        match_gvk: Some(MatchGvk::ApiVersion),
    },
    complaints: Complaints::BehindTheToken,
    default_name: FORMER_DEFAULT_NAME,
};

struct Starlark {
    library: Library,
    complaints: Complaints,
    /// The name of a script without a name.
    default_name: &'static str,
}

const DEFAULT_NAME: &str = "starlark-function-run";

/// The default name up to v0.5.0.
const FORMER_DEFAULT_NAME: &str = "stalark-function-run";

/// The position that go.starlark.net reports for a token that is not an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Complaints {
    /// The position of the parser, before 2024.
    BehindTheToken,
    AtTheToken,
}

impl Function for Starlark {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        match self.transform(list, ctx) {
            Ok(()) => Ending::Success,
            Err(ExecuteError::Stopped) => Ending::Stopped,
            Err(ExecuteError::Message(message)) => {
                list.results.clear();
                list.report(Severity::Error, message);
                Ending::Failure
            }
        }
    }
}

impl Starlark {
    fn transform(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Result<(), ExecuteError> {
        let config = StarlarkRun::read(list.config.as_ref(), self.default_name)?;
        let load = |module: &str| self.library.find(module);
        let script = Script {
            name: &config.name,
            source: config.source.as_bytes(),
            dialect: Dialect {
                complains_at_token: self.complaints == Complaints::AtTheToken,
                ..Dialect::extended()
            },
            api_version: "config.kubernetes.io/v1",
            lines: Lines::OfItem,
            load: Some(&load),
        };
        let items = script.run(&list.items, list.config.as_ref(), ctx, &mut list.stderr)?;
        replace_items(list, items);
        Ok(())
    }
}

/// Replaces the items of a list with the output of a script.
fn replace_items(list: &mut FunctionList, items: Vec<EncodedItem>) {
    let unsettled = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_unsettled);
    list.unsettled = unsettled.map(|(place, _)| place).collect();
    let documents = items.into_iter().map(|item| item.document);
    list.items = documents.map(Resource::new).collect();
}
