//! Validates a value against a schema, with the messages and the order of the library that kubeval uses
//! (xeipuuv/gojsonschema, 2018). Where that follows Go's map order, this follows the order of the text.

use crate::budget::is_stopped;
use crate::port::go_json::{JsonContent, JsonRef};
use crate::port::jsonschema::{Additional, Format, Schema, SchemaId, Schemas, TooDeep, Type};

const MAX_DEPTH: usize = 300;

/// Errors, each a path, a colon and a message.
pub(super) fn validate(schemas: &Schemas, value: JsonRef<'_>) -> Result<Vec<String>, TooDeep> {
    let mut validator = Validator {
        schemas,
        path: String::new(),
        depth: 0,
        bytes: 0,
    };
    let mut faults = Vec::new();
    if let Some(root) = schemas.root() {
        validator.validate(root, value, &mut faults)?;
    }
    Ok(faults)
}

struct Validator<'a> {
    schemas: &'a Schemas,
    path: String,
    depth: usize,
    /// The length of all errors, including discarded ones.
    bytes: usize,
}

type KubevalCheck = Result<(), TooDeep>;

impl Validator<'_> {
    fn validate(
        &mut self,
        id: SchemaId,
        value: JsonRef<'_>,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        let Some(schema) = self.schemas.get(id).filter(|_| !is_stopped()) else {
            return Ok(());
        };
        if self.depth >= MAX_DEPTH {
            return Err(TooDeep);
        }
        self.depth += 1;
        let checked = match schema.reference {
            Some(reference) => self.validate(reference, value, faults),
            None => self.check(schema, value, faults),
        };
        self.depth -= 1;
        checked
    }

    fn validate_part(
        &mut self,
        id: SchemaId,
        part: JsonRef<'_>,
        name: &str,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        let length = self.path.len();
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
        let checked = self.validate(id, part, faults);
        self.path.truncate(length);
        checked
    }

    fn check(
        &mut self,
        schema: &Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        if !schema.types.admit(value) {
            let wanted = expected(schema);
            let given = given(value);
            self.complain(
                faults,
                &format!("Invalid type. Expected: {wanted}, given: {given}"),
            );
            return Ok(());
        }
        self.combinations(schema, value, faults)?;
        match value.content() {
            JsonContent::Object => self.object(schema, value, faults)?,
            JsonContent::Array => self.array(schema, value, faults)?,
            _ => {}
        }
        self.enumeration(schema, value, faults);
        if let JsonContent::String(text) = value.content() {
            self.string(schema, text, faults);
        }
        for (name, part) in value.fields() {
            if let Some(property) = schema.properties.get(name) {
                self.validate_part(*property, part, name, faults)?;
            }
        }
        Ok(())
    }

    /// `anyOf` and the like. If all alternatives fail, the first is reported.
    fn combinations(
        &mut self,
        schema: &Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        if !schema.any_of.is_empty() {
            let (matched, first) = self.alternatives(&schema.any_of, value)?;
            if matched == 0 {
                self.complain(faults, "Must validate at least one schema (anyOf)");
                faults.extend(first);
            }
        }
        if !schema.one_of.is_empty() {
            let (matched, first) = self.alternatives(&schema.one_of, value)?;
            if matched != 1 {
                self.complain(faults, "Must validate one and only one schema (oneOf)");
            }
            if matched == 0 {
                faults.extend(first);
            }
        }
        let before = faults.len();
        for id in &schema.all_of {
            self.validate(*id, value, faults)?;
        }
        if faults.len() > before {
            self.complain(faults, "Must validate all the schemas (allOf)");
        }
        if let Some(not) = schema.not {
            let mut found = Vec::new();
            self.validate(not, value, &mut found)?;
            if found.is_empty() {
                self.complain(faults, "Must not validate the schema (not)");
            }
        }
        Ok(())
    }

    /// How many alternatives match a value, and the errors of the first that does not.
    fn alternatives(
        &mut self,
        ids: &[SchemaId],
        value: JsonRef<'_>,
    ) -> Result<(usize, Vec<String>), TooDeep> {
        let mut matched = 0;
        let mut first = Vec::new();
        for id in ids {
            let mut found = Vec::new();
            self.validate(*id, value, &mut found)?;
            match found.is_empty() {
                true => matched += 1,
                false if first.is_empty() => first = found,
                false => {}
            }
        }
        Ok((matched, first))
    }

    fn object(
        &mut self,
        schema: &Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        for name in &schema.required {
            if value.get(name).is_none() {
                faults.push(format!("{name}: {name} is required"));
            }
        }
        for (name, part) in value.fields() {
            if schema.properties.contains_key(name) {
                continue;
            }
            match schema.additional {
                Some(Additional::Refused) => {
                    faults.push(format!("{name}: Additional property {name} is not allowed"));
                }
                // The library does not report which field it was.
                Some(Additional::Schema(id)) => self.validate(id, part, faults)?,
                None => {}
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        schema: &Schema,
        value: JsonRef<'_>,
        faults: &mut Vec<String>,
    ) -> KubevalCheck {
        if let Some(id) = schema.items {
            for (at, item) in value.items().enumerate() {
                self.validate_part(id, item, &at.to_string(), faults)?;
            }
        }
        let count = value.items().len();
        if let Some(min) = schema.items_count.min.filter(|min| count < *min) {
            self.complain(faults, &format!("Array must have at least {min} items"));
        }
        if let Some(max) = schema.items_count.max.filter(|max| count > *max) {
            self.complain(faults, &format!("Array must have at most {max} items"));
        }
        Ok(())
    }

    fn enumeration(&mut self, schema: &Schema, value: JsonRef<'_>, faults: &mut Vec<String>) {
        let Some(values) = &schema.enumeration else {
            return;
        };
        let text = value.to_text();
        let texts: Vec<String> = values
            .iter()
            .filter_map(|value| value.root().to_text())
            .collect();
        if !texts.iter().any(|allowed| Some(allowed) == text.as_ref()) {
            let message = format!(
                "{} must be one of the following: {}",
                self.place(),
                texts.join(", ")
            );
            self.complain(faults, &message);
        }
    }

    fn string(&mut self, schema: &Schema, text: &str, faults: &mut Vec<String>) {
        let length = text.chars().count();
        if let Some(min) = schema.length.min.filter(|min| length < *min) {
            self.complain(
                faults,
                &format!("String length must be greater than or equal to {min}"),
            );
        }
        if let Some(max) = schema.length.max.filter(|max| length > *max) {
            self.complain(
                faults,
                &format!("String length must be less than or equal to {max}"),
            );
        }
        if let Some(pattern) = &schema.pattern
            && !pattern.is_match(text)
        {
            self.complain(faults, &format!("Does not match pattern '{pattern}'"));
        }
        if let Some(format) = schema.format.filter(|format| !fits(*format, text)) {
            self.complain(
                faults,
                &format!("Does not match format '{}'", format.name()),
            );
        }
    }

    fn complain(&mut self, faults: &mut Vec<String>, message: &str) {
        self.bytes += self.path.len() + message.len();
        if kiln_yaml::may_build(self.bytes) {
            faults.push(format!("{}: {message}", self.place()));
        }
    }

    fn place(&self) -> &str {
        match self.path.as_str() {
            "" => "(root)",
            path => path,
        }
    }
}

/// The types of a schema, null last.
fn expected(schema: &Schema) -> String {
    let (null, others): (Vec<Type>, Vec<Type>) =
        schema.types.iter().partition(|type_| *type_ == Type::Null);
    let names: Vec<&str> = others.into_iter().chain(null).map(Type::name).collect();
    match names.as_slice() {
        [name] => (*name).to_owned(),
        names => format!("[{}]", names.join(",")),
    }
}

fn given(value: JsonRef<'_>) -> &'static str {
    match value.content() {
        JsonContent::Int(_) => "integer",
        JsonContent::Float(number) if number.fract() == 0.0 => "integer",
        _ => Type::of(value).name(),
    }
}

/// This library also accepts a date or a time of day as a time.
fn fits(format: Format, text: &str) -> bool {
    let is = |format: Format, text: &str| format.fault(text).is_none();
    match format {
        Format::DateTime => {
            is(Format::DateTime, text)
                || is(Format::Date, text)
                || is(Format::Time, text)
                || is(Format::Time, &format!("{text}Z"))
        }
        format => is(format, text),
    }
}
