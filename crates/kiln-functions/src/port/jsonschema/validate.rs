//! Validates a value against a schema, with the messages and the order of the library that kubeconform uses
//! (santhosh-tekuri/jsonschema v6).
//!
//! The library nests errors: several errors of one object become a group that counts as one error of the enclosing
//! object. kubeconform prints the outermost group only, so an inner group is reported as `validation failed`. Where
//! the library follows Go's map order, this follows the order of the text.

use std::cell::Cell;

use crate::budget::is_stopped;
use crate::port::go_json::{Json, JsonContent, JsonRef};

use super::schema::{Additional, Range, Schema, SchemaId, Schemas, Type};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    /// Names and indices, each after a slash.
    pub(crate) path: String,
    pub(crate) message: String,
}

/// Schema or value nest too deep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the resource, or its schema, is nested too deeply")]
pub(crate) struct TooDeep;

/// How deep schemas are followed. Those of Kubernetes are finite; those of users may not be.
const MAX_DEPTH: usize = 300;

/// The errors of a value; empty if it is valid.
pub(crate) fn validate(schemas: &Schemas, value: JsonRef<'_>) -> Result<Vec<Violation>, TooDeep> {
    let Some(root) = schemas.root() else {
        return Ok(Vec::new());
    };
    let mut validator = Validator {
        schemas,
        path: String::new(),
        depth: 0,
        bytes: Cell::new(0),
    };
    let outermost = match validator.validate(root, value)? {
        None => Vec::new(),
        Some(fault) if fault.is_group => fault.causes,
        Some(fault) => vec![fault],
    };
    let reported = outermost.into_iter().map(|fault| Violation {
        path: fault.path,
        message: fault.message,
    });
    Ok(reported.collect())
}

struct Fault {
    path: String,
    message: String,
    is_group: bool,
    causes: Vec<Fault>,
}

struct Validator<'a> {
    schemas: &'a Schemas,
    path: String,
    depth: usize,
    /// The length of all errors, including discarded ones.
    bytes: Cell<usize>,
}

type SchemaCheck = Result<Option<Fault>, TooDeep>;

impl<'a> Validator<'a> {
    fn validate(&mut self, id: SchemaId, value: JsonRef<'_>) -> SchemaCheck {
        if self.depth >= MAX_DEPTH {
            return Err(TooDeep);
        }
        self.depth += 1;
        let checked = match self.schemas.get(id) {
            Some(schema) if !is_stopped() => self.check(schema, value),
            _ => Ok(None),
        };
        self.depth -= 1;
        checked
    }

    fn validate_part(&mut self, id: SchemaId, part: JsonRef<'_>, name: &str) -> SchemaCheck {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(name);
        let checked = self.validate(id, part);
        self.path.truncate(length);
        checked
    }

    fn check(&mut self, schema: &'a Schema, value: JsonRef<'_>) -> SchemaCheck {
        if let Some(fault) = self.at_once(schema, value) {
            return Ok(Some(self.fault(fault)));
        }
        let mut faults = Vec::new();
        if let Some(reference) = schema.reference {
            let fault = self.validate(reference, value)?;
            let fault = fault.map(|fault| self.of_reference(fault));
            if schema.reference_only {
                return Ok(fault);
            }
            faults.extend(fault);
        }
        match value.content() {
            JsonContent::Object => self.object(schema, value, &mut faults)?,
            JsonContent::Array => self.array(schema, value, &mut faults)?,
            JsonContent::String(text) => self.string(schema, text, &mut faults),
            JsonContent::Int(number) => self.number(schema, number as f64, &mut faults),
            JsonContent::Float(number) => self.number(schema, number, &mut faults),
            JsonContent::Null | JsonContent::Bool(_) => {}
        }
        self.combinations(schema, value, &mut faults)?;
        if faults.len() > 1 {
            return Ok(Some(Fault {
                is_group: true,
                ..self.fault_with("validation failed".to_owned(), faults)
            }));
        }
        Ok(faults.pop())
    }

    /// Errors that end the validation of a value.
    fn at_once(&self, schema: &Schema, value: JsonRef<'_>) -> Option<String> {
        if schema.verdict == Some(false) {
            return Some("false schema".to_owned());
        }
        if !schema.types.admit(value) {
            let wanted: Vec<&str> = schema.types.iter().map(Type::name).collect();
            let got = Type::of(value).name();
            return Some(format!("got {got}, want {}", wanted.join(" or ")));
        }
        if let Some(constant) = &schema.constant
            && !equal(constant.root(), value)
        {
            return Some(match constant.root().content() {
                JsonContent::Array | JsonContent::Object => "const failed".to_owned(),
                _ => format!("value must be {}", display(constant.root())),
            });
        }
        if let Some(values) = &schema.enumeration
            && !values.iter().any(|allowed| equal(allowed.root(), value))
        {
            return Some(outside_of(values));
        }
        let format = schema.format.filter(|_| self.schemas.checks_formats)?;
        let text = value.as_str()?;
        let fault = format.fault(text)?;
        Some(format!(
            "{} is not valid {}: {fault}",
            quote(text),
            format.name()
        ))
    }

    fn object(
        &mut self,
        schema: &'a Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), TooDeep> {
        self.count(
            "Properties",
            schema.properties_count,
            value.fields().len(),
            faults,
        );
        let required = schema.required.iter().map(AsRef::as_ref);
        let missing: Vec<&str> = required.filter(|name| value.get(name).is_none()).collect();
        match missing.as_slice() {
            [] => {}
            [name] => faults.push(self.fault(format!("missing property {}", quote(name)))),
            names => faults.push(self.fault(format!("missing properties {}", quote_all(names)))),
        }
        let mut additional = Vec::new();
        for (name, part) in value.fields() {
            let mut is_known = false;
            if let Some(property) = schema.properties.get(name) {
                is_known = true;
                faults.extend(self.validate_part(*property, part, name)?);
            }
            for (pattern, property) in &schema.pattern_properties {
                if pattern.is_match(name) {
                    is_known = true;
                    faults.extend(self.validate_part(*property, part, name)?);
                }
            }
            match schema.additional {
                Some(Additional::Refused) if !is_known => additional.push(name),
                Some(Additional::Schema(property)) if !is_known => {
                    faults.extend(self.validate_part(property, part, name)?);
                }
                _ => {}
            }
        }
        if !additional.is_empty() {
            let names = quote_all(&additional);
            faults.push(self.fault(format!("additional properties {names} not allowed")));
        }
        Ok(())
    }

    fn array(
        &mut self,
        schema: &'a Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), TooDeep> {
        self.count("Items", schema.items_count, value.items().len(), faults);
        if schema.is_unique
            && let Some((first, second)) = duplicates(value)
        {
            faults.push(self.fault(format!("items at {first} and {second} are equal")));
        }
        let mut first_items = schema.first_items.iter();
        for (at, item) in value.items().enumerate() {
            let Some(id) = first_items.next().copied().or(schema.items) else {
                break;
            };
            faults.extend(self.validate_part(id, item, &at.to_string())?);
        }
        Ok(())
    }

    fn string(&self, schema: &Schema, text: &str, faults: &mut Vec<Fault>) {
        if schema.length != Range::default() {
            self.count("Length", schema.length, text.chars().count(), faults);
        }
        if let Some(pattern) = &schema.pattern
            && !pattern.is_match(text)
        {
            let (text, pattern) = (quote(text), quote(pattern.as_str()));
            faults.push(self.fault(format!("{text} does not match pattern {pattern}")));
        }
    }

    fn number(&self, schema: &Schema, number: f64, faults: &mut Vec<Fault>) {
        let mut refuse = |keyword: &str, want: Option<f64>, breaks: fn(f64, f64) -> bool| {
            if let Some(want) = want.filter(|want| breaks(number, *want)) {
                let (got, want) = (with_commas(number), with_commas(want));
                faults.push(self.fault(format!("{keyword}: got {got}, want {want}")));
            }
        };
        refuse("minimum", schema.minimum, |got, want| got < want);
        refuse("maximum", schema.maximum, |got, want| got > want);
        refuse("exclusiveMinimum", schema.exclusive_minimum, |got, want| {
            got <= want
        });
        refuse("exclusiveMaximum", schema.exclusive_maximum, |got, want| {
            got >= want
        });
        refuse("multipleOf", schema.multiple_of, |got, want| {
            want != 0.0 && (got / want).fract() != 0.0
        });
    }

    /// `not`, `allOf` and the like.
    fn combinations(
        &mut self,
        schema: &'a Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), TooDeep> {
        if let Some(not) = schema.not
            && self.validate(not, value)?.is_none()
        {
            faults.push(self.fault("not failed".to_owned()));
        }
        let mut failed = Vec::new();
        for id in &schema.all_of {
            failed.extend(self.validate(*id, value)?);
        }
        if !failed.is_empty() {
            faults.push(self.fault_with("allOf failed".to_owned(), failed));
        }
        if !schema.any_of.is_empty() {
            let (matched, failed) = self.matching(&schema.any_of, value, 1)?;
            if matched.is_empty() {
                faults.push(self.fault_with("anyOf failed".to_owned(), failed));
            }
        }
        if !schema.one_of.is_empty() {
            let (matched, failed) = self.matching(&schema.one_of, value, 2)?;
            match matched.as_slice() {
                [] => faults.push(self.fault_with("oneOf failed, none matched".to_owned(), failed)),
                [_] => {}
                [first, second, ..] => faults.push(self.fault(format!(
                    "oneOf failed, subschemas {first}, {second} matched"
                ))),
            }
        }
        if let Some((condition, then, otherwise)) = schema.if_then_else {
            let next = match self.validate(condition, value)? {
                None => then,
                Some(_) => otherwise,
            };
            if let Some(next) = next {
                faults.extend(self.validate(next, value)?);
            }
        }
        Ok(())
    }

    /// Which schemas match a value, until enough are found, and the errors of the others.
    fn matching(
        &mut self,
        ids: &[SchemaId],
        value: JsonRef<'_>,
        enough: usize,
    ) -> Result<(Vec<usize>, Vec<Fault>), TooDeep> {
        let mut matched = Vec::new();
        let mut failed = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            match self.validate(*id, value)? {
                Some(fault) => failed.push(fault),
                None => matched.push(at),
            }
            if matched.len() == enough {
                break;
            }
        }
        Ok((matched, failed))
    }

    fn count(&self, what: &str, range: Range, got: usize, faults: &mut Vec<Fault>) {
        let mut refuse = |keyword: &str, want: usize| {
            let (got, want) = (with_commas(got as f64), with_commas(want as f64));
            faults.push(self.fault(format!("{keyword}{what}: got {got}, want {want}")));
        };
        if let Some(min) = range.min.filter(|min| got < *min) {
            refuse("min", min);
        }
        if let Some(max) = range.max.filter(|max| got > *max) {
            refuse("max", max);
        }
    }

    fn of_reference(&self, fault: Fault) -> Fault {
        let causes = match fault.is_group {
            true => fault.causes,
            false => vec![fault],
        };
        self.fault_with("validation failed".to_owned(), causes)
    }

    fn fault(&self, message: String) -> Fault {
        self.fault_with(message, Vec::new())
    }

    fn fault_with(&self, message: String, causes: Vec<Fault>) -> Fault {
        self.bytes
            .set(self.bytes.get() + self.path.len() + message.len());
        let may_build = kiln_yaml::may_build(self.bytes.get());
        Fault {
            path: match may_build {
                true => self.path.clone(),
                false => Default::default(),
            },
            message,
            is_group: false,
            causes,
        }
    }
}

fn outside_of(values: &[Json]) -> String {
    let is_simple = |value: &Json| {
        let content = value.root().content();
        !matches!(content, JsonContent::Array | JsonContent::Object)
    };
    if !values.iter().all(is_simple) {
        return "enum failed".to_owned();
    }
    let texts: Vec<String> = values.iter().map(|value| display(value.root())).collect();
    match texts.as_slice() {
        [one] => format!("value must be {one}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

/// Whether two values are equal; integers are, whether they are written with a point or not.
fn equal(left: JsonRef<'_>, right: JsonRef<'_>) -> bool {
    let mut open = vec![(left, right)];
    while let Some((left, right)) = open.pop() {
        let same = match (left.content(), right.content()) {
            (JsonContent::Int(left), JsonContent::Float(right)) => left as f64 == right,
            (JsonContent::Float(left), JsonContent::Int(right)) => left == right as f64,
            (JsonContent::Array, JsonContent::Array) => {
                open.extend(left.items().zip(right.items()));
                left.items().len() == right.items().len()
            }
            (JsonContent::Object, JsonContent::Object) => {
                let before = open.len();
                let pairs = left
                    .fields()
                    .take_while(|_| !is_stopped())
                    .filter_map(|(name, part)| Some((part, right.get(name)?)));
                open.extend(pairs);
                let (left, right) = (left.fields().len(), right.fields().len());
                left == right && open.len() - before == left
            }
            (left, right) => left == right,
        };
        if !same {
            return false;
        }
    }
    true
}

fn duplicates(array: JsonRef<'_>) -> Option<(usize, usize)> {
    let items: Vec<JsonRef<'_>> = array.items().collect();
    let mut pairs = items.iter().enumerate();
    pairs.find_map(|(second, item)| {
        let before = items.get(..second)?;
        let mut before = before.iter().take_while(|_| !is_stopped());
        let first = before.position(|other| equal(*other, *item))?;
        Some((first, second))
    })
}

fn display(value: JsonRef<'_>) -> String {
    match value.content() {
        JsonContent::Null => "<nil>".to_owned(),
        JsonContent::Bool(value) => value.to_string(),
        JsonContent::Int(value) => value.to_string(),
        JsonContent::Float(value) => value.to_string(),
        JsonContent::String(text) => quote(text),
        JsonContent::Array | JsonContent::Object => "value".to_owned(),
    }
}

/// The library's single quotes around Go's escapes.
fn quote(text: &str) -> String {
    let quoted = kiln_go::quote(text)
        .replace("\\\"", "\"")
        .replace('\'', "\\'");
    let inner = quoted
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'));
    format!("'{}'", inner.unwrap_or(&quoted))
}

fn quote_all(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
    quoted.join(", ")
}

/// A number with thousands separators.
fn with_commas(number: f64) -> String {
    let text = number.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        "" => format!("{sign}{grouped}"),
        fraction => format!("{sign}{grouped}.{fraction}"),
    }
}
