//! Whether a constraint applies to a resource.

use std::collections::BTreeMap;

use regorus::Value;

use crate::port::go_json::{JsonContent, JsonRef};

use super::policy;
use super::release::GatekeeperRelease;

/// A resource under review.
pub(super) struct Review<'a> {
    pub(super) api_version: &'a str,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// Empty for cluster-scoped resources.
    pub(super) namespace: &'a str,
    pub(super) object: JsonRef<'a>,
}

impl<'a> Review<'a> {
    pub(super) fn new(
        object: JsonRef<'a>,
        release: GatekeeperRelease,
    ) -> Result<Review<'a>, String> {
        let string = |path: &[&str]| {
            let value = object.get_path(path).and_then(JsonRef::as_str);
            value.unwrap_or_default()
        };
        let api_version = string(&["apiVersion"]);
        let (group, version) = match api_version.split_once('/') {
            Some((_, version)) if version.contains('/') => ("", ""),
            Some(both) => both,
            None => ("", api_version),
        };
        let (kind, name) = (string(&["kind"]), string(&["metadata", "name"]));
        if version.is_empty() {
            return Err(release.no_version(group, kind, name));
        }
        Ok(Review {
            api_version,
            group,
            version,
            kind,
            name,
            namespace: string(&["metadata", "namespace"]),
            object,
        })
    }

    /// What identifies the resource in the inventory.
    pub(super) fn place(&self) -> [&'a str; 4] {
        [self.namespace, self.api_version, self.kind, self.name]
    }

    pub(super) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    /// The review as policies get it.
    pub(super) fn value(&self) -> Value {
        let kind = policy::object([
            ("group", self.group.into()),
            ("version", self.version.into()),
            ("kind", self.kind.into()),
        ]);
        let mut fields = vec![
            ("kind", kind),
            ("name", self.name.into()),
            ("object", policy::value(self.object)),
        ];
        if !self.namespace.is_empty() {
            fields.push(("namespace", self.namespace.into()));
        }
        policy::object(fields)
    }
}

/// Whether the `match` of a constraint selects a resource.
pub(super) fn matches(
    rules: Option<JsonRef<'_>>,
    review: &Review<'_>,
    namespaces: &BTreeMap<&str, JsonRef<'_>>,
) -> bool {
    let Some(rules) = rules else {
        return true;
    };
    let rule = |name: &str| rules.get(name);
    rule("kinds").is_none_or(|kinds| is_null(kinds) || of_kind(kinds, review))
        && rule("namespaces").is_none_or(|list| in_namespaces(list, review, true))
        && rule("excludedNamespaces").is_none_or(|list| in_namespaces(list, review, false))
        && rule("namespaceSelector")
            .is_none_or(|selector| in_selected_namespace(selector, review, namespaces))
        && rule("scope").is_none_or(|scope| in_scope(scope, review))
        && rule("name").is_none_or(|name| has_name(name, review))
        && rule("labelSelector").is_none_or(|selector| selects(selector, review.object))
}

fn is_null(value: JsonRef<'_>) -> bool {
    value.content() == JsonContent::Null
}

fn strings<'a>(value: Option<JsonRef<'a>>) -> impl Iterator<Item = &'a str> {
    let items = value.into_iter().flat_map(JsonRef::items);
    items.filter_map(JsonRef::as_str)
}

fn of_kind(kinds: JsonRef<'_>, review: &Review<'_>) -> bool {
    let has = |list: Option<JsonRef<'_>>, wanted: &str| {
        strings(list).any(|item| item == "*" || item == wanted)
    };
    let mut kinds = kinds.items();
    kinds.any(|kinds| {
        has(kinds.get("apiGroups"), review.group) && has(kinds.get("kinds"), review.kind)
    })
}

/// Whether the namespace of a resource is in a list. Cluster-scoped resources always pass.
fn in_namespaces(list: JsonRef<'_>, review: &Review<'_>, wanted: bool) -> bool {
    let namespace = match review.is_namespace() {
        true => review.name,
        false => review.namespace,
    };
    let fits = |pattern: &str| pattern == namespace || fits_glob(pattern, namespace);
    namespace.is_empty() || strings(Some(list)).any(fits) == wanted
}

/// A `*` at the beginning or the end matches anything but dots.
fn fits_glob(pattern: &str, text: &str) -> bool {
    let rest = match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(suffix), None) => text.strip_suffix(suffix),
        (None, Some(prefix)) => text.strip_prefix(prefix),
        _ => None,
    };
    rest.is_some_and(|rest| !rest.contains('.'))
}

fn in_selected_namespace(
    selector: JsonRef<'_>,
    review: &Review<'_>,
    namespaces: &BTreeMap<&str, JsonRef<'_>>,
) -> bool {
    if review.is_namespace() {
        return selects(selector, review.object);
    }
    let namespace = namespaces.get(review.namespace);
    review.namespace.is_empty() || namespace.is_some_and(|namespace| selects(selector, *namespace))
}

fn in_scope(scope: JsonRef<'_>, review: &Review<'_>) -> bool {
    match scope.as_str() {
        Some("*") => true,
        Some("Namespaced") => !review.namespace.is_empty(),
        Some("Cluster") => review.namespace.is_empty(),
        _ => false,
    }
}

fn has_name(name: JsonRef<'_>, review: &Review<'_>) -> bool {
    name.as_str().is_some_and(|name| {
        name == review.name || (name.ends_with('*') && fits_glob(name, review.name))
    })
}

fn selects(selector: JsonRef<'_>, object: JsonRef<'_>) -> bool {
    let label = |key: &str| {
        let labels = object.get_path(&["metadata", "labels"])?;
        labels
            .get(key)
            .filter(|label| label.content() != JsonContent::Null)
    };
    let mut wanted = selector
        .get("matchLabels")
        .into_iter()
        .flat_map(JsonRef::fields);
    let mut expressions = selector
        .get("matchExpressions")
        .into_iter()
        .flat_map(JsonRef::items);
    wanted.all(|(key, value)| label(key).map(JsonRef::content) == Some(value.content()))
        && expressions.all(|expression| {
            let string = |name: &str| expression.get(name).and_then(JsonRef::as_str);
            let label = label(string("key").unwrap_or_default());
            let mut values = strings(expression.get("values"));
            let mut is_one = || values.any(|value| label.and_then(JsonRef::as_str) == Some(value));
            match string("operator") {
                Some("In") => is_one(),
                Some("NotIn") => !is_one(),
                Some("Exists") => label.is_some(),
                Some("DoesNotExist") => label.is_none(),
                _ => true,
            }
        })
}
