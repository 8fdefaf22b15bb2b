//! Functions of Rego that the engine lacks, or has in another way than OPA v0.35.
//!
//! OPA has since dropped `any`, `all`, `re_match` and others; policies for Gatekeeper are full of them. Its `sprintf` is Go's,
//! so that calls are sent to one that does as Go does: an odd verb must not make a violation disappear.

use std::collections::BTreeSet;

use regorus::{Engine, Value};

use super::sprintf;

/// What `sprintf` is called for the engine, whose own cannot be replaced.
const SPRINTF: &str = "go_sprintf";

/// A function; nothing stands for undefined.
type Builtin = fn(&[Value]) -> Option<Value>;

/// Makes the functions known. Calls that make no sense are undefined, as OPA has it.
pub(super) fn add(engine: &mut Engine) -> Result<(), String> {
    let functions: [(&str, u8, Builtin); 11] = [
        (SPRINTF, 2, |args| {
            let [format, values] = args else { return None };
            let text = sprintf::sprintf(format.as_string().ok()?, values.as_array().ok()?);
            Some(Value::from(text))
        }),
        ("re_match", 2, |args| {
            let [pattern, text] = args else { return None };
            let pattern = regex::Regex::new(pattern.as_string().ok()?).ok()?;
            Some(Value::from(pattern.is_match(text.as_string().ok()?)))
        }),
        ("any", 1, |args| {
            let mut items = items(args.first()?)?;
            Some(Value::from(items.any(|item| *item == Value::Bool(true))))
        }),
        ("all", 1, |args| {
            let mut items = items(args.first()?)?;
            Some(Value::from(items.all(|item| *item == Value::Bool(true))))
        }),
        ("set_diff", 2, |args| {
            let [left, right] = args else { return None };
            let right: BTreeSet<&Value> = items(right)?.collect();
            let rest = items(left)?.filter(|item| !right.contains(item));
            Some(Value::from(rest.cloned().collect::<BTreeSet<_>>()))
        }),
        ("cast_array", 1, |args| {
            Some(Value::from(
                items(args.first()?)?.cloned().collect::<Vec<_>>(),
            ))
        }),
        ("cast_set", 1, |args| {
            let items = items(args.first()?)?;
            Some(Value::from(items.cloned().collect::<BTreeSet<_>>()))
        }),
        ("cast_string", 1, |args| {
            only(args, |value| matches!(value, Value::String(_)))
        }),
        ("cast_boolean", 1, |args| {
            only(args, |value| matches!(value, Value::Bool(_)))
        }),
        ("cast_null", 1, |args| {
            only(args, |value| matches!(value, Value::Null))
        }),
        ("cast_object", 1, |args| {
            only(args, |value| matches!(value, Value::Object(_)))
        }),
    ];
    for (name, arguments, function) in functions {
        let extension = move |args: Vec<Value>| Ok(function(&args).unwrap_or(Value::Undefined));
        let added = engine.add_extension(name.to_owned(), arguments, Box::new(extension));
        added.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A policy whose calls of `sprintf` go where they should. Lines stay where they are.
pub(super) fn redirect(rego: &str) -> String {
    let mut text = String::with_capacity(rego.len());
    let mut word = String::new();
    let mut quote = None;
    let mut chars = rego.chars().peekable();
    while let Some(c) = chars.next() {
        if quote.is_none() && (c.is_alphanumeric() || matches!(c, '_' | '.')) {
            word.push(c);
            continue;
        }
        text.push_str(if word == "sprintf" { SPRINTF } else { &word });
        word.clear();
        text.push(c);
        match (quote, c) {
            (None, '"' | '`') => quote = Some(c),
            (None, '#') => quote = Some('\n'),
            (Some('"'), '\\') => text.extend(chars.next()),
            (Some(end), c) if end == c => quote = None,
            _ => {}
        }
    }
    text.push_str(if word == "sprintf" { SPRINTF } else { &word });
    text
}

fn items(value: &Value) -> Option<Box<dyn Iterator<Item = &Value> + '_>> {
    match value {
        Value::Array(items) => Some(Box::new(items.iter())),
        Value::Set(items) => Some(Box::new(items.iter())),
        _ => None,
    }
}

fn only(args: &[Value], is: fn(&Value) -> bool) -> Option<Value> {
    args.first().filter(|value| is(value)).cloned()
}

#[cfg(test)]
mod tests {
    use super::redirect;

    #[test]
    fn only_calls_are_redirected() {
        let rego = "a = sprintf(\"sprintf(\\\" %v\", [x.sprintf]) # sprintf\nb = `sprintf`; my_sprintf(sprintf)";
        let expect = "a = go_sprintf(\"sprintf(\\\" %v\", [x.sprintf]) # sprintf\nb = `sprintf`; my_sprintf(go_sprintf)";
        assert_eq!(redirect(rego), expect);
    }
}
