//! Constraints: to which resources a policy applies, with which parameters and which enforcement action.

use std::collections::BTreeMap;

use regorus::Value;

use crate::port::go_json::JsonRef;

use super::matching::{self, Review};
use super::openapi;
use super::policy::{self, Policy};
use super::release::GatekeeperRelease;

pub(super) struct Constraint<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// `enforcementAction`, `deny` if not given.
    pub(super) action: &'a str,
    rules: Option<JsonRef<'a>>,
    parameters: Option<JsonRef<'a>>,
}

const GROUP: &str = "constraints.gatekeeper.sh";

impl<'a> Constraint<'a> {
    pub(super) fn read(
        object: JsonRef<'a>,
        policies: &BTreeMap<String, Policy>,
        release: GatekeeperRelease,
    ) -> Result<Option<Constraint<'a>>, String> {
        let string = |path: &[&str]| object.get_path(path).and_then(JsonRef::as_str);
        let api_version = string(&["apiVersion"]).unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        if group != GROUP {
            return Ok(None);
        }
        let kind = string(&["kind"]).unwrap_or_default();
        let name = string(&["metadata", "name"]).unwrap_or_default();
        let refused = |why: String| release.refused_constraint(name, &why);
        let Some(policy) = policies.get(&kind.to_lowercase()) else {
            let known: Vec<&str> = policies.keys().map(String::as_str).collect();
            return Err(refused(release.unknown_kind(kind, &known)));
        };
        check(object, (kind, name, version), policy, release).map_err(refused)?;
        Ok(Some(Constraint {
            kind,
            name,
            action: string(&["spec", "enforcementAction"]).unwrap_or("deny"),
            rules: object.get_path(&["spec", "match"]),
            parameters: object.get_path(&["spec", "parameters"]),
        }))
    }

    pub(super) fn matches(
        &self,
        review: &Review<'_>,
        namespaces: &BTreeMap<&str, JsonRef<'_>>,
    ) -> bool {
        matching::matches(self.rules, review, namespaces)
    }

    pub(super) fn parameters(&self) -> Value {
        self.parameters
            .map_or_else(Value::new_object, policy::value)
    }
}

fn check(
    object: JsonRef<'_>,
    (kind, name, version): (&str, &str, &str),
    policy: &Policy,
    release: GatekeeperRelease,
) -> Result<(), String> {
    if name.is_empty() {
        return Err("creating Constraint subpath: invalid Constraint: missing name".to_owned());
    }
    let namespaces = release.namespaces();
    let faults = openapi::faults_of_constraint(object, policy.parameters(), namespaces);
    match faults.as_slice() {
        [] => {}
        [fault] => return Err(fault.clone()),
        faults => return Err(format!("[{}]", faults.join(", "))),
    }
    let faults = subdomain_faults(name);
    if !faults.is_empty() {
        return Err(release.invalid_name(&faults));
    }
    if kind != policy.kind() {
        return Err(release.wrong_kind(name, kind, policy.kind()));
    }
    if !matches!(version, "v1alpha1" | "v1beta1") {
        return Err(release.wrong_version(name, version));
    }
    for selector in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = object.get_path(&["spec", "match", selector]) {
            let faults = selector_faults(selector);
            match faults.as_slice() {
                [] => {}
                [fault] => return Err(fault.clone()),
                faults => return Err(format!("[{}]", faults.join(", "))),
            }
        }
    }
    Ok(())
}

/// The errors of a name that must be a subdomain.
fn subdomain_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !name.split('.').all(is_label) {
        faults.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    faults
}

/// The errors in the expressions of a selector that a schema does not report.
fn selector_faults(selector: JsonRef<'_>) -> Vec<String> {
    let expressions = selector.get("matchExpressions").into_iter();
    let mut faults = Vec::new();
    for (at, expression) in expressions.flat_map(JsonRef::items).enumerate() {
        let values = expression
            .get("values")
            .map_or(0, |values| values.items().len());
        let operator = expression.get("operator").and_then(JsonRef::as_str);
        let path = format!("spec.labelSelector.matchExpressions[{at}].values");
        match operator {
            Some("In" | "NotIn") if values == 0 => faults.push(format!(
                "{path}: Required value: must be specified when `operator` is 'In' or 'NotIn'"
            )),
            Some("Exists" | "DoesNotExist") if values > 0 => faults.push(format!(
                "{path}: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )),
            _ => {}
        }
    }
    faults
}
