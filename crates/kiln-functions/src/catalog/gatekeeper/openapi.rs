//! Whether constraints look as their templates want them to, in the words of Kubernetes' API server.
//!
//! Known are types, required fields, enumerations and patterns, which is what the schemas of templates consist of;
//! limits of numbers and lengths are left to the policies.

use kiln_go::quote;

use crate::port::go_json::{Content, JsonRef};

use super::limits::MAX_FAULT_BYTES;
use super::pattern;

/// What a value must look like.
#[derive(Debug, Default)]
pub(super) struct Schema {
    type_: Option<String>,
    is_nullable: bool,
    properties: Vec<(String, Schema)>,
    required: Vec<String>,
    /// Of items, or of fields that have no schema of their own.
    others: Option<Box<Schema>>,
    /// Strings only; an enumeration of anything else is not looked at.
    values: Vec<String>,
    /// Compiled when it is needed: many patterns, each of them small, can be large together once they are compiled.
    pattern: Option<String>,
}

/// What is wrong, up to a limit.
#[derive(Default)]
struct Faults {
    texts: Vec<String>,
    bytes: usize,
}

impl Faults {
    fn push(&mut self, text: String) {
        if self.are_enough() {
            return;
        }
        self.bytes += text.len();
        self.texts.push(text);
    }

    fn are_enough(&self) -> bool {
        self.bytes > MAX_FAULT_BYTES
    }
}

/// What is wrong with a constraint whose parameters have a schema, or have none; `namespaces` is the pattern for names of
/// namespaces.
pub(super) fn faults_of_constraint(
    constraint: JsonRef<'_>,
    parameters: Option<&Schema>,
    namespaces: &str,
) -> Vec<String> {
    let mut faults = Faults::default();
    if let Some(name) = constraint
        .get_path(&["metadata", "name"])
        .and_then(JsonRef::as_str)
        && name.chars().count() > 63
    {
        faults.push("[].metadata.name: Too long: must have at most 63 bytes".to_owned());
    }
    let Some(spec) = constraint.get("spec") else {
        return faults.texts;
    };
    let mut check = |schema: &Schema, field: &str| {
        if let Some(value) = spec.get(field) {
            schema.check(value, &format!("spec.{field}"), &mut faults);
        }
    };
    check(&Schema::of("string"), "enforcementAction");
    check(&match_schema(namespaces), "match");
    if let Some(parameters) = parameters {
        check(parameters, "parameters");
    }
    faults.texts
}

impl Schema {
    /// The schema that a template has.
    pub(super) fn read(json: JsonRef<'_>) -> Schema {
        let items = |name: &str| json.get(name).into_iter().flat_map(JsonRef::items);
        let strings = |name: &str| items(name).filter_map(JsonRef::as_str).map(str::to_owned);
        let string = |name: &str| json.get(name).and_then(JsonRef::as_str);
        let others = json.get("items").or(json.get("additionalProperties"));
        let fields = json.get("properties").into_iter().flat_map(JsonRef::fields);
        let values: Vec<String> = strings("enum").collect();
        Schema {
            type_: string("type").map(str::to_owned),
            is_nullable: json.get("nullable").map(JsonRef::content) == Some(Content::Bool(true)),
            properties: fields
                .map(|(name, schema)| (name.to_owned(), Schema::read(schema)))
                .collect(),
            required: strings("required").collect(),
            others: others
                .filter(|schema| schema.is_object())
                .map(|schema| Box::new(Schema::read(schema))),
            values: match values.len() == items("enum").count() {
                true => values,
                false => Vec::new(),
            },
            pattern: string("pattern").map(str::to_owned),
        }
    }

    fn of(type_: &str) -> Schema {
        Schema {
            type_: Some(type_.to_owned()),
            ..Schema::default()
        }
    }

    fn list_of(schema: Schema) -> Schema {
        Schema {
            others: Some(Box::new(schema)),
            ..Schema::of("array")
        }
    }

    fn one_of(values: &[&str]) -> Schema {
        Schema {
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..Schema::of("string")
        }
    }

    fn object(properties: Vec<(&str, Schema)>) -> Schema {
        let properties = properties.into_iter();
        Schema {
            properties: properties
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect(),
            ..Schema::of("object")
        }
    }

    fn check(&self, value: JsonRef<'_>, path: &str, faults: &mut Faults) {
        let given = type_name(value);
        if given == "null" && self.is_nullable {
            return;
        }
        if let Some(wanted) = self.type_.as_deref().filter(|wanted| !fits(value, wanted)) {
            faults.push(format!(
                "[].{path}: Invalid value: \"{given}\": {path} in body must be of type {wanted}: \"{given}\""
            ));
            return;
        }
        for name in &self.required {
            if value.is_object() && value.get(name).is_none() {
                faults.push(format!("[].{path}.{name}: Required value"));
            }
        }
        for (name, part) in value.fields() {
            let property = self
                .properties
                .iter()
                .find(|(property, _)| property == name);
            let schema = property
                .map(|(_, schema)| schema)
                .or(self.others.as_deref());
            if let Some(schema) = schema {
                schema.check(part, &format!("{path}.{name}"), faults);
            }
        }
        if let Some(schema) = &self.others {
            for item in value.items() {
                schema.check(item, path, faults);
            }
        }
        let Some(text) = value.as_str() else {
            return;
        };
        if let Some(pattern) = self
            .pattern
            .as_ref()
            .filter(|source| pattern::compile(source).is_some_and(|regex| !regex.is_match(text)))
        {
            let text = quote(text);
            faults.push(format!(
                "[].{path}: Invalid value: {text}: {path} in body should match '{pattern}'"
            ));
        }
        if !self.values.is_empty() && !self.values.iter().any(|value| value == text) {
            let values: Vec<String> = self.values.iter().map(|value| quote(value)).collect();
            faults.push(format!(
                "[].{path}: Unsupported value: {}: supported values: {}",
                quote(text),
                values.join(", ")
            ));
        }
    }
}

/// What `match` must look like.
fn match_schema(namespaces: &str) -> Schema {
    let pattern = || Schema {
        pattern: Some(namespaces.to_owned()),
        ..Schema::of("string")
    };
    let strings = || {
        Schema::list_of(Schema {
            is_nullable: true,
            ..Schema::of("string")
        })
    };
    let selector = || {
        let operators = ["In", "NotIn", "Exists", "DoesNotExist"];
        let labels = Schema {
            others: Some(Box::new(Schema::of("string"))),
            ..Schema::of("object")
        };
        let expression = Schema::object(vec![
            ("key", Schema::of("string")),
            ("operator", Schema::one_of(&operators)),
            ("values", Schema::list_of(Schema::of("string"))),
        ]);
        Schema::object(vec![
            ("matchLabels", labels),
            ("matchExpressions", Schema::list_of(expression)),
        ])
    };
    let kinds = Schema::object(vec![("apiGroups", strings()), ("kinds", strings())]);
    Schema::object(vec![
        ("kinds", Schema::list_of(kinds)),
        ("namespaces", Schema::list_of(pattern())),
        ("excludedNamespaces", Schema::list_of(pattern())),
        ("labelSelector", selector()),
        ("namespaceSelector", selector()),
        ("scope", Schema::one_of(&["*", "Cluster", "Namespaced"])),
        ("name", pattern()),
    ])
}

fn fits(value: JsonRef<'_>, wanted: &str) -> bool {
    match (value.content(), wanted) {
        (Content::Int(_), "integer") => true,
        (Content::Float(number), "integer") => number.fract() == 0.0,
        _ => type_name(value) == wanted,
    }
}

fn type_name(value: JsonRef<'_>) -> &'static str {
    match value.content() {
        Content::Null => "null",
        Content::Bool(_) => "boolean",
        Content::Int(_) | Content::Float(_) => "number",
        Content::String(_) => "string",
        Content::Array => "array",
        Content::Object => "object",
    }
}
