//! How a step is declared: its configuration, what it selects, and the command that runs it alone.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::kptfile::{Function, Selector};
use kiln_krm::secrets::{MASKED, SecretMask};
use kiln_yaml::{Document, NodeRef, SequenceStyle};

use super::secrets::mask_document;

/// Whether the values of a configuration are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigValues {
    Show,
    /// They are arguments of the command line, where users pass passwords.
    Hide,
}

/// Annotations that say where a resource is, and belong to no configuration.
const INTERNAL_ANNOTATIONS: [&str; 4] = [
    "config.k8s.io/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "internal.kpt.dev/",
];

/// A configuration as text: the data of a ConfigMap, or the resource.
pub(super) fn config_text(config: &Document, values: ConfigValues, secrets: &SecretMask) -> String {
    let root = config.root();
    let is_config_map = root
        .get("kind")
        .is_some_and(|kind| kind.has_value("ConfigMap"));
    let data = root.get("data").filter(|data| data.is_mapping());
    if is_config_map || values == ConfigValues::Hide {
        let entries = data.into_iter().flat_map(NodeRef::entries);
        let lines = entries.map(|(key, value)| match values {
            ConfigValues::Show => {
                format!("{}: {}\n", key.value(), value.value().replace('\n', "\n  "))
            }
            ConfigValues::Hide => format!("{}: {MASKED}\n", key.value()),
        });
        return lines.collect();
    }
    let mut resource = Resource::new(config.clone());
    let keys: Vec<String> = resource
        .annotations()
        .map(|(key, _)| key.to_owned())
        .filter(|key| {
            INTERNAL_ANNOTATIONS
                .iter()
                .any(|known| key.starts_with(known))
        })
        .collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    // A resource that cannot have annotations has none to drop.
    let _ = resource.clear_annotations(&keys);
    let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
    mask_document(&text, secrets)
}

/// `kind=Deployment, label app=web`
pub(super) fn selector_text(selector: &Selector) -> String {
    let parts = fields(selector).map(|(_, name, value)| format!("{name}={value}"));
    let maps = maps(selector).map(|(_, name, pair)| format!("{name} {pair}"));
    parts.chain(maps).collect::<Vec<String>>().join(", ")
}

/// The words of the command that runs a function of a pipeline on the package in `directory`; none if no command can.
pub(super) fn step_command(directory: &str, function: &str, declared: &Function) -> Vec<String> {
    let (selectors, exclusions) = (&declared.selectors, &declared.exclusions);
    // `eval` takes one of each.
    if selectors.len() > 1 || exclusions.len() > 1 {
        return Vec::new();
    }
    let mut words: Vec<String> = ["kiln", "fn", "eval"].map(str::to_owned).to_vec();
    words.push(match directory {
        "" => ".".to_owned(),
        directory => directory.to_owned(),
    });
    words.push(match declared.exec.as_str() {
        "" => "--image".to_owned(),
        _ => "--exec".to_owned(),
    });
    words.push(function.to_owned());
    for (prefix, selector) in [("--match", selectors), ("--exclude", exclusions)] {
        let Some(selector) = selector.first() else {
            continue;
        };
        for (flag, _, value) in fields(selector) {
            words.extend([format!("{prefix}-{flag}"), value.to_owned()]);
        }
        for (flag, _, pair) in maps(selector) {
            words.extend([format!("{prefix}-{flag}"), pair]);
        }
    }
    if !declared.config_path.is_empty() {
        let path = match directory {
            "" | "." => declared.config_path.clone(),
            directory => format!(
                "{}/{}",
                directory.trim_end_matches('/'),
                declared.config_path
            ),
        };
        words.extend(["--fn-config".to_owned(), path]);
    }
    if !declared.config_map.is_empty() {
        words.push("--".to_owned());
        let pairs = declared.config_map.iter();
        words.extend(pairs.map(|(key, value)| format!("{key}={value}")));
    }
    words
}

/// The flag, the name and the value of each field that is set.
fn fields(selector: &Selector) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
    let fields = [
        ("api-version", "apiVersion", selector.api_version.as_str()),
        ("kind", "kind", selector.kind.as_str()),
        ("name", "name", selector.name.as_str()),
        ("namespace", "namespace", selector.namespace.as_str()),
    ];
    let fields = fields.into_iter();
    fields.filter(|(_, _, value)| !value.is_empty())
}

/// The flag, the name and the pair of each label and annotation.
fn maps(selector: &Selector) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let of = |flag, name, map: &BTreeMap<String, String>| {
        let pairs = map.iter().map(|(key, value)| format!("{key}={value}"));
        pairs.map(|pair| (flag, name, pair)).collect::<Vec<_>>()
    };
    let labels = of("labels", "label", &selector.labels);
    labels
        .into_iter()
        .chain(of("annotations", "annotation", &selector.annotations))
}
