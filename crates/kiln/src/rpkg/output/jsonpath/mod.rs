//! The templates of kubectl's `-o jsonpath=`: text, and in braces paths into an object, literals, and `range` … `end`.
//!
//! As with kubectl, a path that finds nothing prints nothing, and filters have no regular expressions.

use anyhow::{Result, bail};
use serde_json::Value;

mod parse;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Template(Vec<TemplatePart>);

#[derive(Clone, PartialEq, Debug)]
enum TemplatePart {
    Text(String),
    Path(Path),
    /// The parts are repeated for each value that the path finds.
    Range(Path, Vec<TemplatePart>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Path {
    /// Whether it starts at the object and not at the current value of a range or a filter.
    is_absolute: bool,
    steps: Vec<JsonPathStep>,
}

#[derive(Clone, PartialEq, Debug)]
enum JsonPathStep {
    Fields(Vec<String>),
    /// All values of an object, or all items of a list.
    All,
    Items(Vec<Slice>),
    /// The value and everything below it.
    Below,
    Filter(Operand, Option<(FilterComparison, Operand)>),
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
enum FilterComparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Template> {
        if text.is_empty() {
            bail!("template format specified but no template given");
        }
        Ok(Template(parse::template(text)?))
    }

    /// Whether it applies to a list of objects and not to each of them.
    pub(super) fn applies_to_list(&self) -> bool {
        self.0.iter().any(|part| match part {
            TemplatePart::Path(path) | TemplatePart::Range(path, _) => match path.steps.first() {
                Some(JsonPathStep::Fields(names)) => names.iter().any(|name| name == "items"),
                _ => false,
            },
            TemplatePart::Text(_) => false,
        })
    }

    /// Fills in the template for an object.
    pub(super) fn text(&self, object: &Value) -> String {
        let mut out = String::new();
        write(&mut out, &self.0, object, object);
        out
    }
}

/// Recurses only as deep as the parser lets ranges nest.
fn write(out: &mut String, parts: &[TemplatePart], root: &Value, current: &Value) {
    for part in parts {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Path(path) => {
                let texts: Vec<String> = path.find(root, current).into_iter().map(text).collect();
                out.push_str(&texts.join(" "));
            }
            TemplatePart::Range(path, body) => {
                for value in path.find(root, current) {
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
    /// Parses the path of a column: `.a.b`, `a.b` or `{.a.b}`.
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

    /// The values that the path leads to.
    pub(super) fn find<'a>(&self, root: &'a Value, current: &'a Value) -> Vec<&'a Value> {
        let start = match self.is_absolute {
            true => root,
            false => current,
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

impl JsonPathStep {
    fn find<'a>(&self, root: &'a Value, value: &'a Value) -> Vec<&'a Value> {
        match self {
            JsonPathStep::Fields(names) => {
                names.iter().filter_map(|name| value.get(name)).collect()
            }
            JsonPathStep::All => children(value),
            JsonPathStep::Items(slices) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let slices = slices.iter();
                slices.flat_map(|slice| slice.of(items)).collect()
            }
            JsonPathStep::Below => {
                let mut all = vec![];
                let mut pending = vec![value];
                while let Some(value) = pending.pop() {
                    all.push(value);
                    pending.extend(children(value).into_iter().rev());
                }
                all
            }
            JsonPathStep::Filter(left, test) => {
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
        let from_start = |index: i64| match index < 0 {
            true => index.saturating_add(count),
            false => index,
        };
        let from = from_start(self.from);
        let to = match (self.is_single, self.to) {
            (true, _) => from.saturating_add(1),
            (false, Some(to)) => from_start(to).min(count),
            (false, None) => count,
        };
        let mut found = Vec::new();
        let mut index = from.max(if self.is_single { from } else { 0 });
        while index < to {
            found.extend(usize::try_from(index).ok().and_then(|at| items.get(at)));
            index = index.saturating_add(self.step.max(1));
        }
        found
    }
}

fn passes(
    root: &Value,
    item: &Value,
    left: &Operand,
    test: Option<&(FilterComparison, Operand)>,
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

impl FilterComparison {
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
            FilterComparison::Equal => order.is_eq(),
            FilterComparison::NotEqual => order.is_ne(),
            FilterComparison::Less => order.is_lt(),
            FilterComparison::LessOrEqual => order.is_le(),
            FilterComparison::Greater => order.is_gt(),
            FilterComparison::GreaterOrEqual => order.is_ge(),
        })
    }
}

#[cfg(test)]
mod tests;
