//! v0.3: replaces one namespace with another, and must know which one.
//!
//! The old namespace is the name of the only Namespace, or `namespaceMatcher`, or the only namespace that occurs. If
//! it is ambiguous, the function reports that and succeeds.

use std::collections::{BTreeMap, BTreeSet};

use kiln_go::quote;
use kiln_krm::Resource;
use kiln_krm::results::{Field, File, ResultItem, Severity};
use kiln_yaml::{Document, NodeRef};

use super::depends_on;
use super::visit::{FoundNamespace, NamespaceFields, UnexpectedType};
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::go_sdk::{about_object, has_namespace, is_local_config, text};

pub(super) struct SetNamespaceV0_3(pub(super) SetNamespaceRelease);

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum SetNamespaceRelease {
    /// Sets one field of a resource only.
    V0_3_0,
    /// Also sets subjects of role bindings.
    V0_3_2,
    /// Counts changes, and leaves a debugging result.
    V0_3_3,
    V0_3_4,
}

static FIRST: NamespaceFields = NamespaceFields {
    role_bindings: false,
    both: false,
    is_scoped: has_namespace,
};
static LATER: NamespaceFields = NamespaceFields {
    role_bindings: true,
    both: true,
    is_scoped: has_namespace,
};

struct SetNamespaceV0_3Config {
    namespace: String,
    matcher: String,
}

impl Function for SetNamespaceV0_3 {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        // The SDK ignores the results of earlier functions.
        list.results.clear();
        let Some(config) = list.config.as_ref().map(Document::root) else {
            let text =
                "panic with runtime error: invalid memory address or nil pointer dereference";
            list.report(Severity::Error, text);
            return SILENT_FAILURE;
        };
        let config = match read(config) {
            Ok(config) => config,
            Err(error) => {
                let result = about_object(Severity::Error, error, config);
                list.results.push(result);
                return Ending::Success;
            }
        };
        let counted = match self.replace(&mut list.items, config) {
            Ok(counted) => counted,
            Err(UnexpectedType(path)) => {
                // The original ends with a stack trace.
                list.report(
                    Severity::Error,
                    format!("SubObject has unmatched field type: `{path}"),
                );
                return SILENT_FAILURE;
            }
        };
        let (severity, message) = match &counted.outcome {
            Ok(count) if self.0 >= SetNamespaceRelease::V0_3_3 => {
                let (old, new) = (quote(&counted.old), quote(&counted.new));
                let text = format!("namespace {old} updated to {new}, {count} values changed");
                (Severity::Info, text)
            }
            Ok(_) => (Severity::Info, "namespace updated".to_owned()),
            Err(Refusal::Reported(error)) => (Severity::Error, error.clone()),
            Err(Refusal::Crash(error)) => {
                list.report(Severity::Error, *error);
                return SILENT_FAILURE;
            }
        };
        list.report(severity, message);
        if self.0 == SetNamespaceRelease::V0_3_3 {
            list.results.push(counted.left_over());
        }
        Ending::Success
    }
}

const SILENT_FAILURE: Ending = Ending::Exit {
    code: 1,
    stderr: String::new(),
};

/// The old and the new namespace, and the number of changes or why there are none.
struct Counted {
    old: String,
    new: String,
    outcome: Result<usize, Refusal>,
}

/// Why nothing was replaced.
enum Refusal {
    /// A result.
    Reported(String),
    /// The function fails.
    Crash(&'static str),
}

impl Counted {
    /// The debugging result of v0.3.3.
    fn left_over(&self) -> ResultItem {
        ResultItem {
            field: Some(Field {
                path: String::new(),
                current_value: self.old.clone(),
                proposed_value: self.new.clone(),
            }),
            file: Some(File {
                path: "test".to_owned(),
                index: 0,
            }),
            ..ResultItem::new(
                Severity::Info,
                format!("set image from {} to {}", self.old, self.new),
            )
        }
    }
}

impl SetNamespaceV0_3 {
    fn replace(
        &self,
        items: &mut [Resource],
        config: SetNamespaceV0_3Config,
    ) -> Result<Counted, UnexpectedType> {
        let places = match self.0 {
            SetNamespaceRelease::V0_3_0 => &FIRST,
            _ => &LATER,
        };
        let is_ours = |resource: &&mut Resource| !is_local_config(resource.root());
        let mut all = BTreeSet::new();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut look = |found: FoundNamespace<'_>| {
            if !found.namespace.is_empty() {
                all.insert(found.namespace.to_owned());
                if found.is_of_namespace {
                    *names.entry(found.namespace.to_owned()).or_default() += 1;
                }
            }
            found.namespace.to_owned()
        };
        for resource in items.iter_mut().filter(is_ours) {
            places.visit(resource, &mut look)?;
        }
        let SetNamespaceV0_3Config {
            namespace: new,
            matcher,
        } = config;
        let old = match self.old_namespace(&matcher, &all, &names) {
            Ok(old) => old,
            Err(refusal) => {
                let (old, outcome) = (matcher, Err(refusal));
                return Ok(Counted { old, new, outcome });
            }
        };
        let mut count = 0;
        let mut replace = |found: FoundNamespace<'_>| {
            if found.namespace != old {
                return found.namespace.to_owned();
            }
            count += 1;
            new.clone()
        };
        if old != new && !old.is_empty() {
            for resource in items.iter_mut().filter(is_ours) {
                places.visit(resource, &mut replace)?;
            }
        }
        depends_on::follow(items, places, &new, |was| was == old);
        let outcome = Ok(count);
        Ok(Counted { old, new, outcome })
    }

    /// The namespace to replace.
    fn old_namespace(
        &self,
        matcher: &str,
        all: &BTreeSet<String>,
        names: &BTreeMap<String, usize>,
    ) -> Result<String, Refusal> {
        let refuse = |text: String| Err(Refusal::Reported(text));
        let in_quotes = |text: &str| match self.0 {
            SetNamespaceRelease::V0_3_0 | SetNamespaceRelease::V0_3_2 => text.to_owned(),
            SetNamespaceRelease::V0_3_3 | SetNamespaceRelease::V0_3_4 => quote(text),
        };
        if !matcher.is_empty() {
            return match names.is_empty() {
                true => Ok(matcher.to_owned()),
                false => refuse(
                    "found Namespace objects from the input resources, you cannot use `namespaceMatcher` in FunctionConfig together with Namespace objects"
                        .to_owned(),
                ),
            };
        }
        if names.len() > 1 {
            let counts: Vec<String> = names.iter().map(|(n, c)| format!("{n}:{c}")).collect();
            return refuse(format!(
                "cannot accept more than one Namespace objects from the input resources, found map[{}]",
                counts.join(" ")
            ));
        }
        if let Some((name, count)) = names.first_key_value() {
            return match count {
                1 => Ok(name.clone()),
                _ => refuse(format!(
                    "found more than one Namespace objects of the same name {}",
                    in_quotes(name)
                )),
            };
        }
        let mut each = all.iter();
        match (each.next(), each.next()) {
            (Some(only), None) => Ok(only.clone()),
            (Some(_), Some(_)) => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                refuse(format!(
                    "all input namespace-scoped resources should be under the same namespace but found different namespaces: {} ",
                    in_quotes(&all.join(","))
                ))
            }
            (None, _) if self.0 < SetNamespaceRelease::V0_3_3 => Err(Refusal::Crash(
                "panic with runtime error: index out of range [0] with length 0",
            )),
            (None, _) => refuse(
                "could not find any namespace fields to update. This function requires at least one of Namespace objects or namespace-scoped resources to have their namespace field set."
                    .to_owned(),
            ),
        }
    }
}

fn read(config: NodeRef<'_>) -> Result<SetNamespaceV0_3Config, String> {
    let namespace = super::v0_4_0::namespace_of(config)?;
    Ok(SetNamespaceV0_3Config {
        namespace,
        matcher: text(config, &["data", "namespaceMatcher"]).to_owned(),
    })
}
