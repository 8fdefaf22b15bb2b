//! The differences between the releases of the function.
//!
//! v0.2.1 uses an earlier constraint framework (October 2021, OPA v0.29.4): it reports the same errors in fewer
//! words, requires a name for every resource, and does not review ConstraintTemplates. Its messages are those of the
//! function built from the tag `functions/go/gatekeeper/v0.2.1`.

use kiln_go::quote;

use crate::port::go_json::JsonRef;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GatekeeperRelease {
    V0_2_1,
    V0_2_2,
}

use GatekeeperRelease::{V0_2_1, V0_2_2};

impl GatekeeperRelease {
    pub(super) fn refused_template(self, name: &str, why: &str) -> String {
        match self {
            V0_2_1 => why.to_owned(),
            V0_2_2 => format!("adding template {}: {why}", quote(name)),
        }
    }

    pub(super) fn invalid_template(self, why: &str) -> String {
        match self {
            V0_2_1 => why.to_owned(),
            V0_2_2 => format!("invalid ConstraintTemplate: {why}"),
        }
    }

    pub(super) fn uncompiled(self, why: &str) -> String {
        match self {
            V0_2_1 => why.to_owned(),
            V0_2_2 => format!("unable to compile modules: unable to compile modules: {why}"),
        }
    }

    pub(super) fn no_violation_rule(self) -> &'static str {
        match self {
            V0_2_1 => "invalid rego: \nmissing required rule: violation",
            V0_2_2 => "invalid rego: invalid module: missing required rules: [violation]",
        }
    }

    /// `path` is the path of the module.
    pub(super) fn disallowed_references(self, path: &str, references: &[String]) -> String {
        let lines = references.iter();
        let lines: String = lines
            .map(|reference| format!("\ndisallowed ref {reference}"))
            .collect();
        let count = references.len();
        let why = format!("check refs failed on module {{{path}}}: errors ({count}):{lines}");
        match self {
            V0_2_1 => format!("{why}\n"),
            V0_2_2 => format!("invalid data references: {why}\n"),
        }
    }

    pub(super) fn unknown_target(self, target: &str) -> String {
        match self {
            V0_2_1 => format!("target {target} not recognized"),
            V0_2_2 => {
                let (target, known) = (quote(target), super::TARGET);
                format!("target {target} not recognized, known targets [{known}]")
            }
        }
    }

    pub(super) fn refused_constraint(self, name: &str, why: &str) -> String {
        match self {
            V0_2_1 => why.to_owned(),
            V0_2_2 => format!("adding constraint {}: {why}", quote(name)),
        }
    }

    pub(super) fn unknown_kind(self, kind: &str, known: &[&str]) -> String {
        match self {
            V0_2_1 => format!("Constraint kind {kind} is not recognized"),
            V0_2_2 => format!(
                "missing ConstraintTemplate: Constraint kind {} is not recognized, known kinds [{}]",
                quote(kind),
                known.join(" ")
            ),
        }
    }

    pub(super) fn invalid_name(self, faults: &[String]) -> String {
        let faults = faults.join("\n");
        match self {
            V0_2_1 => format!("invalid Name: {faults}"),
            V0_2_2 => format!("invalid Constraint: invalid name: {}", quote(&faults)),
        }
    }

    pub(super) fn wrong_kind(self, name: &str, kind: &str, wanted: &str) -> String {
        match self {
            V0_2_1 => format!("wrong kind for constraint {name}. Have {kind}, want {wanted}"),
            // The original swaps kind and name.
            V0_2_2 => format!(
                "invalid Constraint: wrong kind {} for constraint {}; want {}",
                quote(name),
                quote(kind),
                quote(wanted)
            ),
        }
    }

    pub(super) fn wrong_version(self, name: &str, version: &str) -> String {
        const SUPPORTED: &str = "map[v1alpha1:true v1beta1:true]";
        match self {
            V0_2_1 => format!(
                "wrong version for constraint {name}. Have {version}, supported: {SUPPORTED}"
            ),
            V0_2_2 => format!(
                "invalid Constraint: unsupported version {} for Constraint {}; supported versions: {SUPPORTED}",
                quote(version),
                quote(name)
            ),
        }
    }

    /// The pattern for namespace names in a constraint.
    pub(super) fn namespaces(self) -> &'static str {
        match self {
            V0_2_1 => r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\*|-\*)?$",
            V0_2_2 => {
                r"^(\*|\*-)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\*|-\*)?$"
            }
        }
    }

    pub(super) fn no_version(self, group: &str, kind: &str, resource: &str) -> String {
        let why = format!("{}: resource {resource} has no version\n", super::TARGET);
        match self {
            V0_2_1 => why,
            V0_2_2 => format!("adding data of GVK \"{group}/, Kind={kind}\": {why}"),
        }
    }

    /// The error in the metadata of a resource that the release reports before all other errors.
    pub(super) fn metadata_fault(self, object: JsonRef<'_>) -> Option<String> {
        if self == V0_2_2 {
            return None;
        }
        let string = |path: &[&str]| {
            let value = object.get_path(path).and_then(JsonRef::as_str);
            value.unwrap_or_default()
        };
        let (kind, name) = (string(&["kind"]), string(&["metadata", "name"]));
        let missing = match (kind, name) {
            ("", _) => "kind",
            (kind, "") if !kind.ends_with("List") => "metadata.name",
            _ => return None,
        };
        let map = |field: &str| {
            let fields = object.get_path(&["metadata", field]).into_iter();
            let mut fields: Vec<String> = fields
                .flat_map(JsonRef::fields)
                .map(|(name, value)| format!("{name}:{}", value.as_str().unwrap_or_default()))
                .collect();
            fields.sort();
            fields.join(" ")
        };
        let (api_version, namespace) =
            (string(&["apiVersion"]), string(&["metadata", "namespace"]));
        let (labels, annotations) = (map("labels"), map("annotations"));
        Some(format!(
            "missing {missing} in object {{{{{api_version} {kind}}} {{{{{name} {namespace}}} map[{labels}] \
             map[{annotations}]}}}}"
        ))
    }
}
