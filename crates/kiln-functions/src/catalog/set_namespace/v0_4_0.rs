//! v0.4.0 and v0.4.1, which most packages use.
//!
//! Resources that become duplicates are reported, but the function does not fail.

use std::collections::{BTreeSet, HashSet};

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::NodeRef;

use super::depends_on;
use super::visit::{FoundNamespace, NamespaceFields, UnexpectedType};
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::go_sdk::{is_local_config, is_namespace_scoped, text};

pub(super) struct SetNamespaceV0_4_0;

const PLACES: NamespaceFields = NamespaceFields {
    role_bindings: true,
    both: true,
    is_scoped: is_namespace_scoped,
};

impl Function for SetNamespaceV0_4_0 {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        let config = list.config.as_ref().map(|config| config.root());
        let namespace = match read_config(config) {
            Ok(namespace) => namespace,
            Err(error) => {
                list.report(Severity::Error, error);
                return Ending::Failure;
            }
        };
        let (mut old, mut count) = (BTreeSet::new(), 0);
        let mut replace = |found: FoundNamespace<'_>| {
            if found.namespace != namespace {
                old.insert(found.namespace.to_owned());
                count += 1;
            }
            namespace.clone()
        };
        let is_ours = |resource: &&mut Resource| !is_local_config(resource.root());
        let mut resources = list.items.iter_mut().filter(is_ours);
        let visited = resources.try_for_each(|resource| PLACES.visit(resource, &mut replace));
        if let Err(UnexpectedType(path)) = visited {
            // The original lacks the closing backquote.
            let error = format!("SubObject has unmatched field type: `{path}");
            list.report(Severity::Error, error.clone());
            return Ending::Error(error);
        }
        depends_on::follow(&mut list.items, &PLACES, &namespace, |was| {
            old.contains(was)
        });
        let (severity, message) = match duplicate(&list.items) {
            Some(duplicate) => (Severity::Error, duplicate),
            None => (Severity::Info, summary(&old, count, &namespace)),
        };
        list.report(severity, message);
        Ending::Success
    }
}

fn read_config(config: Option<NodeRef<'_>>) -> Result<String, String> {
    let Some(config) = config.filter(|config| !config.is_empty()) else {
        return Err("FunctionConfig is missing. Expect `ConfigMap` or `SetNamespace`".to_owned());
    };
    namespace_of(config)
}

/// The namespace of a configuration.
pub(super) fn namespace_of(config: NodeRef<'_>) -> Result<String, String> {
    let (api_version, kind) = (text(config, &["apiVersion"]), text(config, &["kind"]));
    let not_empty = |field: &str, value: &str| match value {
        "" => Err(format!("`{field}` should not be empty")),
        value => Ok(value.to_owned()),
    };
    match (api_version, kind) {
        ("v1", "ConfigMap") => match text(config, &["data", "namespace"]) {
            "" if text(config, &["metadata", "name"]) == "kptfile.kpt.dev" => {
                not_empty("data.name", text(config, &["data", "name"]))
            }
            namespace => not_empty("data.namespace", namespace),
        },
        ("fn.kpt.dev/v1alpha1", "SetNamespace") => {
            not_empty("namespace", text(config, &["namespace"]))
        }
        _ => Err(format!(
            "unknown functionConfig Kind={kind} ApiVersion={api_version}, expect `SetNamespace` or `ConfigMap`"
        )),
    }
}

fn duplicate(items: &[Resource]) -> Option<String> {
    let mut seen = HashSet::new();
    items.iter().find_map(|resource| {
        let id = resource.id();
        let meta = resource.meta();
        let text = format!(
            "duplicate Resource(apiVersion={}, kind={}, Namespace={}, Name={})",
            meta.api_version, meta.kind, meta.namespace, meta.name
        );
        (!seen.insert(id)).then_some(text)
    })
}

/// The old namespaces are sorted; the original prints them in random order.
fn summary(old: &BTreeSet<String>, count: usize, namespace: &str) -> String {
    let namespace = kiln_go::quote(namespace);
    if count == 0 {
        return format!("all namespaces are already {namespace}. no value changed");
    }
    let old: Vec<String> = old.iter().map(|old| format!("\"{old}\"")).collect();
    let old = old.join(",");
    format!("namespace {old} updated to {namespace}, {count} value(s) changed")
}
