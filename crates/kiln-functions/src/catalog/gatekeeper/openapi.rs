//! Checks constraints against the schemas of their templates, with the messages of the Kubernetes API server.
//!
//! Supported are types, required fields, enumerations and patterns, which are what the schemas of templates use;
//! limits of numbers and lengths are left to the policies.

use kiln_go::quote;

use crate::port::go_json::{JsonContent, JsonRef};

use super::limits::MAX_FAULT_BYTES;
use super::pattern;

#[derive(Debug, Default)]
pub(super) struct ParameterSchema {
    type_: Option<String>,
    is_nullable: bool,
    properties: Vec<(String, ParameterSchema)>,
    required: Vec<String>,
    /// Of items, or of fields without their own schema.
    others: Option<Box<ParameterSchema>>,
    /// Strings only; other enumerations are ignored.
    values: Vec<String>,
    /// Compiled when needed: many small patterns can be large together once compiled.
    pattern: Option<String>,
}

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

/// The errors of a constraint, whose parameters may have a schema. `namespaces` is the pattern for namespace names.
pub(super) fn faults_of_constraint(
    constraint: JsonRef<'_>,
    parameters: Option<&ParameterSchema>,
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
    let mut check = |schema: &ParameterSchema, field: &str| {
        if let Some(value) = spec.get(field) {
            schema.check(value, &format!("spec.{field}"), &mut faults);
        }
    };
    check(&ParameterSchema::of("string"), "enforcementAction");
    check(&match_schema(namespaces), "match");
    if let Some(parameters) = parameters {
        check(parameters, "parameters");
    }
    faults.texts
}

impl ParameterSchema {
    pub(super) fn read(json: JsonRef<'_>) -> ParameterSchema {
        let items = |name: &str| json.get(name).into_iter().flat_map(JsonRef::items);
        let strings = |name: &str| items(name).filter_map(JsonRef::as_str).map(str::to_owned);
        let string = |name: &str| json.get(name).and_then(JsonRef::as_str);
        let others = json.get("items").or(json.get("additionalProperties"));
        let fields = json.get("properties").into_iter().flat_map(JsonRef::fields);
        let values: Vec<String> = strings("enum").collect();
        ParameterSchema {
            type_: string("type").map(str::to_owned),
            is_nullable: json.get("nullable").map(JsonRef::content)
                == Some(JsonContent::Bool(true)),
            properties: fields
                .map(|(name, schema)| (name.to_owned(), ParameterSchema::read(schema)))
                .collect(),
            required: strings("required").collect(),
            others: others
                .filter(|schema| schema.is_object())
                .map(|schema| Box::new(ParameterSchema::read(schema))),
            values: match values.len() == items("enum").count() {
                true => values,
                false => Vec::new(),
            },
            pattern: string("pattern").map(str::to_owned),
        }
    }

    fn of(type_: &str) -> ParameterSchema {
        ParameterSchema {
            type_: Some(type_.to_owned()),
            ..ParameterSchema::default()
        }
    }

    fn list_of(schema: ParameterSchema) -> ParameterSchema {
        ParameterSchema {
            others: Some(Box::new(schema)),
            ..ParameterSchema::of("array")
        }
    }

    fn one_of(values: &[&str]) -> ParameterSchema {
        ParameterSchema {
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..ParameterSchema::of("string")
        }
    }

    fn object(properties: Vec<(&str, ParameterSchema)>) -> ParameterSchema {
        let properties = properties.into_iter();
        ParameterSchema {
            properties: properties
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect(),
            ..ParameterSchema::of("object")
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

fn match_schema(namespaces: &str) -> ParameterSchema {
    let pattern = || ParameterSchema {
        pattern: Some(namespaces.to_owned()),
        ..ParameterSchema::of("string")
    };
    let strings = || {
        ParameterSchema::list_of(ParameterSchema {
            is_nullable: true,
            ..ParameterSchema::of("string")
        })
    };
    let selector = || {
        let operators = ["In", "NotIn", "Exists", "DoesNotExist"];
        let labels = ParameterSchema {
            others: Some(Box::new(ParameterSchema::of("string"))),
            ..ParameterSchema::of("object")
        };
        let expression = ParameterSchema::object(vec![
            ("key", ParameterSchema::of("string")),
            ("operator", ParameterSchema::one_of(&operators)),
            (
                "values",
                ParameterSchema::list_of(ParameterSchema::of("string")),
            ),
        ]);
        ParameterSchema::object(vec![
            ("matchLabels", labels),
            ("matchExpressions", ParameterSchema::list_of(expression)),
        ])
    };
    let kinds = ParameterSchema::object(vec![("apiGroups", strings()), ("kinds", strings())]);
    ParameterSchema::object(vec![
        ("kinds", ParameterSchema::list_of(kinds)),
        ("namespaces", ParameterSchema::list_of(pattern())),
        ("excludedNamespaces", ParameterSchema::list_of(pattern())),
        ("labelSelector", selector()),
        ("namespaceSelector", selector()),
        (
            "scope",
            ParameterSchema::one_of(&["*", "Cluster", "Namespaced"]),
        ),
        ("name", pattern()),
    ])
}

fn fits(value: JsonRef<'_>, wanted: &str) -> bool {
    match (value.content(), wanted) {
        (JsonContent::Int(_), "integer") => true,
        (JsonContent::Float(number), "integer") => number.fract() == 0.0,
        _ => type_name(value) == wanted,
    }
}

fn type_name(value: JsonRef<'_>) -> &'static str {
    match value.content() {
        JsonContent::Null => "null",
        JsonContent::Bool(_) => "boolean",
        JsonContent::Int(_) | JsonContent::Float(_) => "number",
        JsonContent::String(_) => "string",
        JsonContent::Array => "array",
        JsonContent::Object => "object",
    }
}
