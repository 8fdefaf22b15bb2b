//! Reading `table.txt`, whose format its first lines describe.
//!
//! The table is part of the program, so a line that makes no sense is a bug; it is taken for "anything" here and
//! found by the tests.

use std::collections::HashMap;

use kiln_yaml::TypeId;

use super::{Schema, Scope, Shape};

pub(super) fn read(text: &'static str) -> Schema {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let is_type = |line: &&str| !line.starts_with([' ', '@']);
    let mut schema = Schema {
        shapes: vec![Shape::Any; lines().filter(is_type).count()],
        names: HashMap::new(),
        resources: HashMap::new(),
        any: TypeId(0),
    };
    let mut expressions = HashMap::new();
    let mut place = 0;
    let mut fields = Vec::new();
    for line in lines() {
        if let Some(field) = line.strip_prefix(' ') {
            if let Some((name, expression)) = field.split_once(' ') {
                let of = type_of(&mut schema, &mut expressions, expression);
                fields.push((name, of));
            }
        } else if let Some(resource) = line.strip_prefix('@') {
            add_resource(&mut schema, resource, current(place));
        } else {
            finish(&mut schema, place, &mut fields);
            let (name, expression) = line.split_once('=').unwrap_or((line, ""));
            schema.names.insert(name, TypeId(place));
            if !expression.is_empty() {
                let of = type_of(&mut schema, &mut expressions, expression);
                schema.shapes[place as usize] = schema.shape(of).clone();
            }
            place += 1;
        }
    }
    finish(&mut schema, place, &mut fields);
    schema.any = type_of(&mut schema, &mut expressions, "o");
    schema
}

/// The type whose lines are being read: the one before the place of the next.
fn current(next: u32) -> TypeId {
    TypeId(next.saturating_sub(1))
}

/// Gives the fields read so far to the type that they belong to.
fn finish(schema: &mut Schema, next: u32, fields: &mut Vec<(&'static str, TypeId)>) {
    if !fields.is_empty() {
        schema.shapes[current(next).0 as usize] = Shape::Object(std::mem::take(fields));
    }
}

fn add_resource(schema: &mut Schema, line: &'static str, of: TypeId) {
    let mut words = line.split(' ');
    if let (Some(api_version), Some(kind)) = (words.next(), words.next()) {
        let scope = match words.next() {
            Some("n") => Some(Scope::Namespaced),
            Some("c") => Some(Scope::Cluster),
            _ => None,
        };
        schema.resources.insert((api_version, kind), (of, scope));
    }
}

/// The type that an expression means. Each expression becomes a type once.
fn type_of(
    schema: &mut Schema,
    expressions: &mut HashMap<&'static str, TypeId>,
    expression: &'static str,
) -> TypeId {
    if let Ok(place) = expression.parse() {
        return TypeId(place);
    }
    if let Some(known) = expressions.get(expression) {
        return *known;
    }
    let shape = if let Some(inner) = expression.strip_prefix('{') {
        Shape::Map(type_of(schema, expressions, inner))
    } else if let Some(inner) = expression.strip_prefix('[') {
        let item = type_of(schema, expressions, inner);
        Shape::List { item, keys: None }
    } else if let Some((keys, inner)) = expression
        .strip_prefix('*')
        .and_then(|rest| rest.split_once(':'))
    {
        let item = type_of(schema, expressions, inner);
        let keys = Some(keys.split('+').filter(|key| !key.is_empty()).collect());
        Shape::List { item, keys }
    } else {
        match expression {
            "s" => Shape::String,
            "i" => Shape::Integer,
            "b" => Shape::Boolean,
            "n" => Shape::Number,
            "q" => Shape::IntegerOrString,
            _ => Shape::Any,
        }
    };
    let of = TypeId(schema.shapes.len() as u32);
    schema.shapes.push(shape);
    expressions.insert(expression, of);
    of
}
