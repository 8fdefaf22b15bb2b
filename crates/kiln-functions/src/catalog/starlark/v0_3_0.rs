//! The function up to v0.3.0: built with kyaml's framework, which keeps the order of items.
//!
//! The script runs as in later versions. The configuration is read by other rules, and a script that fails leaves no
//! items.

use kiln_starlark::Dialect;
use kiln_yaml::{Document, NodeRef};

use super::config::go_gvk;
use super::execute::{ExecuteError, Lines, Script};
use super::modules::Library;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::go_sdk::field;
use crate::port::kyaml::failure;

pub(super) struct FormerStarlark;

/// The name of a script without a name.
const DEFAULT_NAME: &str = "stalark-function-run";

impl Function for FormerStarlark {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let (name, source) = match read(list.config.as_ref()) {
            Ok(config) => config,
            Err(message) => return fail(list, message),
        };
        let library = Library { match_gvk: None };
        let load = |module: &str| library.find(module);
        let script = Script {
            name: &name,
            source: source.as_bytes(),
            dialect: Dialect {
                complains_at_token: false,
                ..Dialect::extended()
            },
            api_version: "config.kubernetes.io/v1alpha1",
            lines: Lines::OfList,
            load: Some(&load),
        };
        match script.run(&list.items, list.config.as_ref(), ctx, &mut list.stderr) {
            Ok(items) => {
                super::replace_items(list, items);
                Ending::Success
            }
            Err(ExecuteError::Stopped) => Ending::Stopped,
            Err(ExecuteError::Message(message)) => {
                list.items.clear();
                list.unsettled.clear();
                fail(list, message)
            }
        }
    }
}

fn fail(list: &mut FunctionList, message: String) -> Ending {
    let ending = Ending::Error(format!("[error] : {message}"));
    list.results = failure(message).into();
    ending
}

/// The name and the source of the script; errors are the original's.
fn read(config: Option<&Document>) -> Result<(String, String), String> {
    let Some(root) = config.map(Document::root).filter(|root| !root.is_null()) else {
        return Err("unknown `functionConfig` kind: ".to_owned());
    };
    let has = |key: &str| field(root, key).is_some();
    if !has("apiVersion") && !has("kind") && !has("metadata") {
        return Err("missing Resource metadata".to_owned());
    }
    let text = |key: &str| field(root, key).and_then(NodeRef::as_text).unwrap_or("");
    let source = match (text("apiVersion"), text("kind")) {
        ("v1", "ConfigMap") => {
            let source = field(root, "data").and_then(|data| field(data, "source"));
            let source = source.map(|source| match source.is_null() {
                true => String::new(),
                false => source.value().to_owned(),
            });
            source.ok_or("`data.source` must not be empty in `ConfigMap`")?
        }
        ("fn.kpt.dev/v1alpha1", "StarlarkRun") => match text("source") {
            "" => return Err("`source` in `StarlarkRun` must not be empty".to_owned()),
            source => source.to_owned(),
        },
        (api_version, kind) => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let got = go_gvk(&kiln_krm::GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            });
            return Err(format!(
                "`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, \
                 Kind=StarlarkRun, but we got: {got}"
            ));
        }
    };
    let name = field(root, "metadata").and_then(|metadata| field(metadata, "name"));
    let name = name
        .and_then(NodeRef::as_text)
        .filter(|name| !name.is_empty());
    Ok((name.unwrap_or(DEFAULT_NAME).to_owned(), source))
}
