//! The setters and substitutions of a v1alpha1 Kptfile, and the file that they move to.

use std::collections::{BTreeMap, BTreeSet};

use kiln_krm::Resource;
use kiln_yaml::{Document, NodeRef, SequenceStyle, Style};

use super::{FixError, FixRelease};
use crate::port::kyaml::{KyamlRelease, format};

pub(super) const SETTER: &str = "io.k8s.cli.setters.";
pub(super) const SUBSTITUTION: &str = "io.k8s.cli.substitutions.";

/// How deep substitutions may nest, and how long patterns may get. The original has no limit.
const MAX_DEPTH: usize = 200;
const MAX_PATTERN: usize = 1 << 20;

/// The `openAPI` section of a Kptfile.
pub(super) struct Setters {
    document: Document,
}

pub(super) enum Definition<'a> {
    Setter {
        name: &'a str,
        /// The text that `enumValues` maps its value to.
        meaning: Option<&'a str>,
    },
    Substitution(NodeRef<'a>),
    Neither,
}

impl Setters {
    /// The setters of a Kptfile, if it has some.
    pub(super) fn of(kptfile: NodeRef<'_>) -> Result<Option<Setters>, FixError> {
        let Some(section) = kptfile.get("openAPI") else {
            return Ok(None);
        };
        if section.is_null() || !section.is_scalar() && section.is_empty() {
            return Ok(None);
        }
        let wrong = |node: NodeRef<'_>, place: &str| {
            let kind = json_kind(node);
            FixError::Setters(format!("json: cannot unmarshal {kind} into Go {place}"))
        };
        if !section.is_mapping() {
            let place = "value of type struct { spec.SchemaProps; spec.SwaggerSchemaProps }";
            return Err(wrong(section, place));
        }
        let definitions = section.get("definitions");
        if let Some(node) = definitions.filter(|node| !node.is_null() && !node.is_mapping()) {
            let place = "struct field .SchemaProps.definitions of type spec.Definitions";
            return Err(wrong(node, place));
        }
        Ok(Some(Setters {
            document: Document::from_node(section),
        }))
    }

    pub(super) fn definition(&self, name: &str) -> Option<NodeRef<'_>> {
        self.document.root().get("definitions")?.get(name)
    }

    /// The pattern of a substitution, with nested substitutions expanded.
    pub(super) fn pattern(&self, substitution: NodeRef<'_>) -> Result<String, String> {
        self.expand(substitution, &mut BTreeSet::new(), 0)
    }

    fn expand(
        &self,
        substitution: NodeRef<'_>,
        visited: &mut BTreeSet<String>,
        depth: usize,
    ) -> Result<String, String> {
        let text = |node: NodeRef<'_>, key: &str| {
            let text = node.get(key).and_then(NodeRef::as_text);
            text.unwrap_or_default().to_owned()
        };
        let name = text(substitution, "name");
        if !visited.insert(name.clone()) {
            return Err(format!("cyclic substitution detected with name {name}"));
        }
        if depth > MAX_DEPTH {
            return Err(format!("substitution {name} is nested too deeply"));
        }
        let mut pattern = text(substitution, "pattern");
        let values = substitution.get("values").into_iter();
        for value in values.flat_map(NodeRef::children) {
            let reference = text(value, "ref");
            if reference.is_empty() {
                return Err(format!("missing reference on substitution {name}"));
            }
            let wanted = reference
                .strip_prefix("#/definitions/")
                .unwrap_or(&reference);
            let definition = self
                .definition(wanted)
                .ok_or_else(|| format!("object has no key \"{wanted}\""))?;
            let replacement = match meaning(definition)? {
                Definition::Substitution(inner) => self.expand(inner, visited, depth + 1)?,
                Definition::Setter {
                    meaning: Some(meaning),
                    ..
                } => meaning.to_owned(),
                Definition::Setter { name, .. } => format!("${{{name}}}"),
                Definition::Neither => {
                    return Err(format!("{wanted} is neither a setter nor a substitution"));
                }
            };
            let marker = text(value, "marker");
            let added = pattern
                .matches(&marker)
                .count()
                .saturating_mul(replacement.len());
            if pattern.len().saturating_add(added) > MAX_PATTERN {
                return Err(format!("the pattern of substitution {name} is too long"));
            }
            pattern = pattern.replace(&marker, &replacement);
        }
        Ok(pattern)
    }
}

/// The JSON type of a node.
fn json_kind(node: NodeRef<'_>) -> &'static str {
    match node.tag() {
        "!!str" | "!!timestamp" => "string",
        "!!null" => "null",
        "!!bool" => "bool",
        "!!map" => "object",
        "!!seq" => "array",
        _ => "number",
    }
}

/// Reads a definition. Names and values must be strings.
pub(super) fn meaning(definition: NodeRef<'_>) -> Result<Definition<'_>, String> {
    let Some(extension) = definition.get("x-k8s-cli").filter(|node| !node.is_null()) else {
        return Ok(Definition::Neither);
    };
    let given = |key: &str| extension.get(key).filter(|node| !node.is_null());
    let list = given("setter").and_then(|setter| setter.get("listValues"));
    let list = list.into_iter().flat_map(NodeRef::items);
    let list = list.map(|item| ("setter", "listValues", Some(item)));
    let texts = [
        ("setter", "name"),
        ("setter", "value"),
        ("substitution", "name"),
        ("substitution", "pattern"),
    ];
    let texts = texts.map(|(part, field)| {
        let node = given(part).and_then(|part| part.get(field));
        (part, field, node)
    });
    for (part, field, node) in list.chain(texts) {
        let kind = match node.map(json_kind) {
            None | Some("string" | "null") => continue,
            Some(kind) => kind,
        };
        return Err(format!(
            "json: cannot unmarshal {kind} into Go struct field {part}.{part}.{field} of type string"
        ));
    }
    if let Some(setter) = given("setter") {
        let text = |key: &str| {
            setter
                .get(key)
                .and_then(NodeRef::as_text)
                .unwrap_or_default()
        };
        let meanings = setter.get("enumValues");
        let meaning = meanings.and_then(|meanings| meanings.get(text("value")));
        return Ok(Definition::Setter {
            name: text("name"),
            meaning: meaning.map(NodeRef::value),
        });
    }
    Ok(given("substitution").map_or(Definition::Neither, Definition::Substitution))
}

/// All setters of a Kptfile with their values; lists as text.
pub(super) fn values(kptfile: NodeRef<'_>) -> Result<BTreeMap<String, String>, FixError> {
    let definitions = kptfile.get_path(&["openAPI", "definitions"]);
    let mut values = BTreeMap::new();
    for (key, definition) in definitions.into_iter().flat_map(NodeRef::entries) {
        let key = key.value();
        if !key.starts_with(SETTER) {
            continue;
        }
        let setter = definition.get_path(&["x-k8s-cli", "setter"]);
        let Some(setter) = setter.filter(|node| !node.is_null()) else {
            let text = format!("missing x-k8s-cli.setter for {key}");
            return Err(FixError::Setters(text));
        };
        check_texts(setter)?;
        let text = |key: &str| {
            setter
                .get(key)
                .and_then(NodeRef::as_text)
                .unwrap_or_default()
        };
        let list: Vec<&str> = setter
            .get("listValues")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter(|item| !item.is_null())
            .map(|item| item.as_text().unwrap_or_default())
            .collect();
        let value = match list.is_empty() {
            true => text("value").to_owned(),
            false => format!("[{}]", list.join(", ").trim_start_matches(", ")),
        };
        values.insert(text("name").to_owned(), value);
    }
    Ok(values)
}

/// Checks that the strings of a setter are strings. Line numbers in messages count from the setter.
fn check_texts(setter: NodeRef<'_>) -> Result<(), FixError> {
    let text = kiln_yaml::to_string(&Document::from_node(setter), SequenceStyle::Compact);
    let Ok(Some(document)) = kiln_yaml::parse(&text) else {
        return Ok(());
    };
    let problems: Vec<String> = document
        .root()
        .entries()
        .filter(|(key, value)| ["name", "value"].contains(&key.value()) && !value.is_scalar())
        .map(|(_, value)| {
            let line = value.position().map_or(1, |position| position.line);
            let tag = value.tag();
            format!("  line {line}: cannot unmarshal {tag} into string")
        })
        .collect();
    match problems.is_empty() {
        true => Ok(()),
        false => {
            let problems = problems.join("\n");
            Err(FixError::Setters(format!(
                "yaml: unmarshal errors:\n{problems}"
            )))
        }
    }
}

pub(super) fn resource(
    setters: &BTreeMap<String, String>,
    path: &str,
    release: FixRelease,
) -> Result<Resource, FixError> {
    let name = match release {
        FixRelease::V0_2_0 => "setters-config",
        FixRelease::V0_2_1 => "setters",
    };
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    \
         config.kubernetes.io/path: {path}\n    config.kubernetes.io/index: \"0\"\n"
    );
    let document = kiln_yaml::parse(&text).map_err(|error| FixError::Setters(error.to_string()))?;
    let mut document = document.unwrap_or_else(Document::new_mapping);
    let data = document.new_mapping_node();
    for (name, value) in setters {
        let value = list_text(value, release)?;
        let key = document.new_scalar(name, "");
        let node = document.new_scalar(&value, "");
        if value.is_empty() {
            document.set_style(node, Style::DOUBLE_QUOTED);
        }
        document.push_entry(data, key, node);
    }
    if !setters.is_empty() {
        let (root, key) = (document.root().id(), document.new_scalar("data", ""));
        document.push_entry(root, key, data);
    }
    if release == FixRelease::V0_2_1 {
        let formatted = format(&mut document, Some(KyamlRelease::V0_10));
        formatted.map_err(|error| FixError::Setters(error.to_string()))?;
    }
    Ok(Resource::new(document))
}

/// A list with one item per line; any other value unchanged.
fn list_text(value: &str, release: FixRelease) -> Result<String, FixError> {
    if release == FixRelease::V0_2_1 && !value.starts_with('[') {
        return Ok(value.to_owned());
    }
    let parsed = kiln_yaml::parse(value).map_err(|error| {
        FixError::Setters(match release {
            FixRelease::V0_2_0 => error.to_string(),
            FixRelease::V0_2_1 => format!(
                "failed to parse the array node value {} with error {}",
                kiln_go::quote(value),
                kiln_go::quote(&error.to_string())
            ),
        })
    })?;
    let Some(mut document) = parsed else {
        return match release {
            FixRelease::V0_2_0 => Err(FixError::Setters("EOF".to_owned())),
            FixRelease::V0_2_1 => Ok(value.to_owned()),
        };
    };
    if !document.root().is_sequence() {
        return Ok(value.to_owned());
    }
    let root = document.root().id();
    document.set_style(root, Style::NONE);
    Ok(kiln_yaml::to_string(&document, SequenceStyle::Wide))
}
