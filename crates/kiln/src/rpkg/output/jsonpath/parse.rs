//! Parses templates and paths, with kubectl's error messages.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;

use super::{FilterComparison, JsonPathStep, Operand, Path, Slice, TemplatePart};

/// How deep ranges may nest.
const MAX_DEPTH: usize = 16;

pub(super) fn template(text: &str) -> Result<Vec<TemplatePart>> {
    // The open ranges, each with its path and its parts so far. The first is the template itself.
    let mut open: Vec<(Option<Path>, Vec<TemplatePart>)> = vec![(None, Vec::new())];
    let mut rest = text;
    while !rest.is_empty() {
        let part = match rest.strip_prefix('{') {
            None => {
                let end = rest.find('{').unwrap_or(rest.len());
                let (plain, after) = rest.split_at(end);
                rest = after;
                TemplatePart::Text(plain.to_owned())
            }
            Some(inner) => {
                let end = end_of(inner, '}').ok_or_else(|| anyhow!("unclosed action"))?;
                let (action, after) = inner.split_at(end);
                rest = after.get(1..).unwrap_or_default();
                let action = action.trim();
                if let Some(path) = action.strip_prefix("range ") {
                    if open.len() > MAX_DEPTH {
                        bail!("ranges are nested too deeply");
                    }
                    open.push((Some(self::path(path.trim())?), Vec::new()));
                    continue;
                }
                match action {
                    "end" => match open.pop() {
                        Some((Some(path), body)) => TemplatePart::Range(path, body),
                        _ => bail!("not in range, nothing to end"),
                    },
                    _ => match literal(action)? {
                        Some(text) => TemplatePart::Text(text),
                        None => TemplatePart::Path(self::path(action)?),
                    },
                }
            }
        };
        if let Some((_, parts)) = open.last_mut() {
            parts.push(part);
        } else {
            bail!("not in range, nothing to end");
        }
    }
    match open.pop() {
        Some((None, parts)) => Ok(parts),
        _ => bail!("unterminated range"),
    }
}

/// A path: `.a.b[0]`, `$.a`, `@.a`, `['a']`.
pub(super) fn path(text: &str) -> Result<Path> {
    let (is_absolute, mut rest) = match text.strip_prefix('$') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('@').unwrap_or(text)),
    };
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            steps.push(JsonPathStep::Below);
            rest = after;
            // `..name` goes on as `.name` does, `..[0]` as `[0]`.
            if !rest.starts_with('[') && !rest.is_empty() {
                rest = field(rest, &mut steps)?;
            }
        } else if let Some(after) = rest.strip_prefix('.') {
            rest = match after.starts_with('[') || after.is_empty() {
                true => after,
                false => field(after, &mut steps)?,
            };
        } else if let Some(inner) = rest.strip_prefix('[') {
            let end = end_of(inner, ']').ok_or_else(|| anyhow!("unterminated array"))?;
            let (inside, after) = inner.split_at(end);
            steps.push(brackets(inside.trim())?);
            rest = after.get(1..).unwrap_or_default();
        } else {
            bail!("unrecognized character in action: {:?}", first(rest));
        }
    }
    Ok(Path { is_absolute, steps })
}

fn first(text: &str) -> String {
    text.chars().take(1).collect()
}

/// Parses the name of a field, in which a backslash escapes the next character, and returns the rest of the text.
fn field<'a>(text: &'a str, steps: &mut Vec<JsonPathStep>) -> Result<&'a str> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    let mut end = text.len();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => {
                end = at;
                break;
            }
            ' ' | ']' | '(' | ')' | '{' | '}' | '\'' | '"' | ',' | '|' => {
                bail!("unrecognized character in action: {:?}", letter.to_string())
            }
            letter => name.push(letter),
        }
    }
    steps.push(match name.as_str() {
        "*" => JsonPathStep::All,
        _ => JsonPathStep::Fields(vec![name]),
    });
    Ok(text.get(end..).unwrap_or_default())
}

fn brackets(inside: &str) -> Result<JsonPathStep> {
    if inside == "*" {
        return Ok(JsonPathStep::All);
    }
    if let Some(filter) = inside.strip_prefix("?(") {
        let filter = filter.strip_suffix(')');
        return self::filter(filter.ok_or_else(|| anyhow!("unterminated filter"))?);
    }
    let parts = split(inside, ',');
    let mut names = Vec::new();
    let mut slices = Vec::new();
    for part in parts {
        let part = part.trim();
        match literal(part)? {
            Some(name) => names.push(name),
            None => slices.push(slice(part)?),
        }
    }
    match (names.is_empty(), slices.is_empty()) {
        (false, true) => Ok(JsonPathStep::Fields(names)),
        (true, false) => Ok(JsonPathStep::Items(slices)),
        _ => bail!("invalid array index {inside}"),
    }
}

fn slice(text: &str) -> Result<Slice> {
    let invalid = || anyhow!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |at: usize| -> Result<Option<i64>> {
        match parts.get(at).copied() {
            None | Some("") => Ok(None),
            Some(text) => Ok(Some(text.parse().map_err(|_| invalid())?)),
        }
    };
    let step = number(2)?.unwrap_or(1);
    if parts.len() > 3 || step <= 0 || parts == [""] {
        return Err(invalid());
    }
    Ok(Slice {
        from: number(0)?.unwrap_or(0),
        to: number(1)?,
        step,
        is_single: parts.len() == 1,
    })
}

fn filter(text: &str) -> Result<JsonPathStep> {
    let comparisons = [
        ("==", FilterComparison::Equal),
        ("!=", FilterComparison::NotEqual),
        ("<=", FilterComparison::LessOrEqual),
        (">=", FilterComparison::GreaterOrEqual),
        ("<", FilterComparison::Less),
        (">", FilterComparison::Greater),
    ];
    for (sign, comparison) in comparisons {
        if let Some(at) = find(text, |rest| rest.starts_with(sign)) {
            let (left, right) = text.split_at(at);
            let right = right.get(sign.len()..).unwrap_or_default();
            return Ok(JsonPathStep::Filter(
                operand(left.trim())?,
                Some((comparison, operand(right.trim())?)),
            ));
        }
    }
    Ok(JsonPathStep::Filter(operand(text.trim())?, None))
}

fn operand(text: &str) -> Result<Operand> {
    if let Some(text) = literal(text)? {
        return Ok(Operand::Literal(Value::String(text)));
    }
    if text.starts_with(['@', '$', '.']) {
        return Ok(Operand::Path(path(text)?));
    }
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Operand::Literal(value)),
        _ => bail!("unrecognized character in action: {:?}", first(text)),
    }
}

/// The value of a quoted text; `None` if the text is not quoted.
fn literal(text: &str) -> Result<Option<String>> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return Ok(None);
    };
    let mut out = String::new();
    let mut letters = text.chars().skip(1);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => break,
            },
            letter if letter == quote => {
                return match letters.next() {
                    None => Ok(Some(out)),
                    Some(_) => bail!("invalid literal {text}"),
                };
            }
            letter => out.push(letter),
        }
    }
    bail!("unterminated quoted string")
}

/// The position of the closing bracket, outside quotes and inner brackets.
fn end_of(text: &str, close: char) -> Option<usize> {
    find(text, |rest| rest.starts_with(close))
}

fn split(text: &str, by: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, |rest| rest.starts_with(by)) {
        let (part, after) = rest.split_at(at);
        parts.push(part);
        rest = after.get(by.len_utf8()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}

/// The first position outside quotes and brackets where the rest of the text passes the test.
fn find(text: &str, is_match: impl Fn(&str) -> bool) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if quote.is_none() && depth == 0 && is_match(text.get(at..).unwrap_or_default()) {
            return Some(at);
        }
        match (quote, letter) {
            (_, '\\') => {
                letters.next();
            }
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
