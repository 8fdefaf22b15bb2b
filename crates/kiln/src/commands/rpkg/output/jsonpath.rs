//! The templates of kubectl's `-o jsonpath=`: text, and in braces paths into an object, literals, and `range` … `end`.
//!
//! What a path does not find is nothing, as with kubectl. Regular expressions in filters are not there; kubectl has none
//! either.

use anyhow::{Result, bail};
use serde_json::Value;

mod parse;

/// A template, or a part of one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, PartialEq, Debug)]
enum Part {
    Text(String),
    Path(Path),
    /// For each value that the path finds, the parts.
    Range(Path, Vec<Part>),
}

/// A path into a value.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Path {
    /// Whether it begins at the object rather than where a range or a filter is.
    is_absolute: bool,
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Fields(Vec<String>),
    /// All values of an object, or all items of a list.
    All,
    Items(Vec<Slice>),
    /// The value and everything below it.
    Below,
    Filter(Operand, Option<(Comparison, Operand)>),
}

/// Items from one number to another, counted from the end if negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slice {
    from: i64,
    to: Option<i64>,
    step: i64,
    is_single: bool,
}

#[derive(Clone, PartialEq, Debug)]
enum Operand {
    Literal(Value),
    Path(Path),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Template {
    /// Reads a template.
    pub(super) fn parse(text: &str) -> Result<Template> {
        if text.is_empty() {
            bail!("template format specified but no template given");
        }
        Ok(Template(parse::template(text)?))
    }

    /// Whether it is about a list of objects rather than one.
    pub(super) fn is_about_items(&self) -> bool {
        self.0.iter().any(|part| match part {
            Part::Path(path) | Part::Range(path, _) => match path.steps.first() {
                Some(Step::Fields(names)) => names.iter().any(|name| name == "items"),
                _ => false,
            },
            Part::Text(_) => false,
        })
    }

    /// What it says of an object.
    pub(super) fn text(&self, object: &Value) -> String {
        let mut out = String::new();
        write(&mut out, &self.0, object, object);
        out
    }
}

/// Ranges are nested no deeper than the parser lets them.
fn write(out: &mut String, parts: &[Part], root: &Value, here: &Value) {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Path(path) => {
                let texts: Vec<String> = path.find(root, here).into_iter().map(text).collect();
                out.push_str(&texts.join(" "));
            }
            Part::Range(path, body) => {
                for value in path.find(root, here) {
                    write(out, body, root, value);
                }
            }
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

impl Path {
    /// Reads a path as columns have them: `.a.b`, `a.b` or `{.a.b}`.
    pub(super) fn parse(text: &str) -> Result<Path> {
        let inner = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        let inner = inner.unwrap_or(text);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        if inner.is_empty() || inner.contains(['{', '}']) {
            bail!(
                "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{{name1.name2}}' or '{{.name1.name2}}'"
            );
        }
        parse::path(&format!(".{inner}"))
    }

    /// What is there.
    pub(super) fn find<'a>(&self, root: &'a Value, here: &'a Value) -> Vec<&'a Value> {
        let start = match self.is_absolute {
            true => root,
            false => here,
        };
        let mut found = vec![start];
        for step in &self.steps {
            found = found
                .into_iter()
                .flat_map(|value| step.find(root, value))
                .collect();
        }
        found
    }
}

impl Step {
    fn find<'a>(&self, root: &'a Value, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Step::Fields(names) => names.iter().filter_map(|name| value.get(name)).collect(),
            Step::All => children(value),
            Step::Items(slices) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let slices = slices.iter();
                slices.flat_map(|slice| slice.of(items)).collect()
            }
            Step::Below => {
                let mut all = vec![];
                let mut pending = vec![value];
                while let Some(value) = pending.pop() {
                    all.push(value);
                    pending.extend(children(value).into_iter().rev());
                }
                all
            }
            Step::Filter(left, test) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let items = items.iter();
                items
                    .filter(|item| passes(root, item, left, test.as_ref()))
                    .collect()
            }
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

impl Slice {
    fn of(self, items: &[Value]) -> Vec<&Value> {
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_start = |place: i64| match place < 0 {
            true => place.saturating_add(count),
            false => place,
        };
        let from = from_start(self.from);
        let to = match (self.is_single, self.to) {
            (true, _) => from.saturating_add(1),
            (false, Some(to)) => from_start(to).min(count),
            (false, None) => count,
        };
        let mut found = Vec::new();
        let mut place = from.max(if self.is_single { from } else { 0 });
        while place < to {
            found.extend(usize::try_from(place).ok().and_then(|at| items.get(at)));
            place = place.saturating_add(self.step.max(1));
        }
        found
    }
}

fn passes(
    root: &Value,
    item: &Value,
    left: &Operand,
    test: Option<&(Comparison, Operand)>,
) -> bool {
    let left = left.values(root, item);
    let Some((comparison, right)) = test else {
        return !left.is_empty();
    };
    let right = right.values(root, item);
    match (left.first(), right.first()) {
        (Some(left), Some(right)) => comparison.holds(left, right),
        _ => false,
    }
}

impl Operand {
    fn values<'a>(&'a self, root: &'a Value, item: &'a Value) -> Vec<&'a Value> {
        match self {
            Operand::Literal(value) => vec![value],
            Operand::Path(path) => path.find(root, item),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => left.partial_cmp(&right),
                _ => None,
            },
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        order.is_some_and(|order| match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        })
    }
}

#[cfg(test)]
mod tests;
