//! `re.star`: regular expressions of Go's `regexp`.
//!
//! The `regex` crate works alike: no back-references, linear time, leftmost-first. Common errors about patterns have
//! Go's wording.

use std::any::Any;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::module as make_module;
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::usage::Usage;
use crate::value::{Builtin, NativeFn, Object, Value};

pub(super) fn module() -> Value {
    make_module(
        "re",
        &[
            ("compile", "compile", compile),
            ("search", "search", search),
            ("match", "match", matches),
            ("split", "split", split),
            ("findall", "findall", findall),
            ("sub", "sub", sub),
        ],
    )
}

#[derive(Clone)]
struct Pattern {
    regex: Regex,
    /// The maximum of its memory.
    size: usize,
}

const METHODS: &[(&str, NativeFn)] = &[
    ("findall", findall),
    ("match", matches),
    ("search", search),
    ("split", split),
    ("sub", sub),
];

impl Object for Pattern {
    fn type_name(&self) -> &str {
        "regexp"
    }

    fn repr(&self) -> Vec<u8> {
        self.regex.as_str().as_bytes().to_vec()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn truth(&self) -> bool {
        !self.regex.as_str().is_empty()
    }

    fn is_hashable(&self) -> bool {
        true
    }

    fn attribute(&self, this: &Value, name: &str) -> Option<Value> {
        let (name, function) = METHODS.iter().find(|(method, _)| *method == name)?;
        Some(Value::from(Builtin::method(name, *function, this.clone())))
    }

    fn attribute_names(&self) -> Vec<&'static str> {
        METHODS.iter().map(|(name, _)| *name).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Size limits of compiled patterns. The engine does not report a size, so these are tried in order.
const SIZES: [usize; 5] = [1 << 14, 1 << 16, 1 << 18, 1 << 20, 10 << 20];

/// The maximum product of a pattern's size and a text's length, except for small patterns. The worst-case time of the
/// engine is proportional to it, and the engine cannot be interrupted.
const MAX_SEARCH: usize = 1 << 36;

/// The bytes of the syntax tree of a pattern per byte of the pattern.
const BYTES_PER_PATTERN_BYTE: usize = 256;

fn new_pattern(usage: &Usage<'_>, pattern: &Value) -> Result<Pattern, Failure> {
    let pattern = String::from_utf8_lossy(pattern.as_str_bytes().unwrap_or_default());
    let mut message = String::new();
    for size in SIZES {
        // Compiling takes time proportional to the text of the pattern and to the result.
        usage.charge(pattern.len().saturating_add(size / 16))?;
        let tree = pattern.len().saturating_mul(BYTES_PER_PATTERN_BYTE);
        usage.allocate(size.saturating_add(tree))?;
        let built = RegexBuilder::new(&pattern)
            .size_limit(size)
            .dfa_size_limit(size.min(2 << 20))
            .build();
        match built {
            Ok(regex) => {
                let size = 2 * size;
                return Ok(Pattern { regex, size });
            }
            Err(regex::Error::CompiledTooBig(_)) => message = "expression too large".to_owned(),
            Err(error) => return fail(go_message(&pattern, &error.to_string())),
        }
    }
    fail(go_message(&pattern, &message))
}

impl Pattern {
    /// Charges the time of a search, and rejects one that would take too long.
    fn charge(&self, usage: &Usage<'_>, text: &[u8]) -> Result<(), Failure> {
        let product = text.len().saturating_mul(self.size);
        if product > MAX_SEARCH && self.size > 1 << 17 {
            return fail(format!(
                "regular expression is too large for a text of {} bytes",
                text.len()
            ));
        }
        usage.charge((text.len() / 4).saturating_add(product >> 16))
    }
}

/// Go's message about an invalid pattern.
fn go_message(pattern: &str, message: &str) -> String {
    let reason = message.rsplit("error: ").next().unwrap_or(message).trim();
    let words = if reason.starts_with("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if reason.starts_with("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if reason.starts_with("unclosed character class") {
        let class = pattern.rfind('[').and_then(|place| pattern.get(place..));
        format!("missing closing ]: `{}`", class.unwrap_or(pattern))
    } else if reason.starts_with("repetition operator missing expression") {
        let operator = pattern
            .find(['*', '+', '?'])
            .and_then(|place| pattern.get(place..=place));
        format!(
            "missing argument to repetition operator: `{}`",
            operator.unwrap_or("*")
        )
    } else if reason.starts_with("incomplete escape sequence") {
        "trailing backslash at end of expression: ``".to_owned()
    } else {
        format!("{reason}: `{pattern}`")
    };
    format!("error parsing regexp: {words}")
}

fn compile(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [pattern, _] = args.unpack([("pattern", Want::String), ("flags?", Want::Int)])?;
    let pattern = new_pattern(ctx.usage, &pattern.unwrap_or(Value::NONE))?;
    Ok(Value::object(Rc::new(pattern)))
}

/// The pattern and the other arguments, for functions and methods of the same name.
struct RegexCall {
    pattern: Result<Pattern, Failure>,
    text: Value,
    replacement: Value,
    limit: i64,
}

impl RegexCall {
    fn new(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<RegexCall, Failure> {
        let object = match args.receiver.kind() {
            crate::value::ValueKind::Object(object) => object.as_any().downcast_ref::<Pattern>(),
            _ => None,
        };
        let string = ("string", Want::String);
        let flags = ("flags?", Want::Int);
        let pattern = ("pattern", Want::String);
        let replacement = ("repl", Want::String);
        let count = ("count?", Want::Int);
        let splits = ("maxsplit?", Want::Int);
        let none = || None;
        let (pattern, replacement, text, limit) = match (args.name, object.is_some()) {
            ("sub", true) => {
                let [repl, text, _, _] = args.unpack([replacement, string, count, flags])?;
                (none(), repl, text, none())
            }
            ("sub", false) => {
                let [pattern, repl, text, _, _] =
                    args.unpack([pattern, replacement, string, count, flags])?;
                (pattern, repl, text, none())
            }
            ("split", true) => {
                let [text, limit, _] = args.unpack([string, splits, flags])?;
                (none(), none(), text, limit)
            }
            ("split", false) => {
                let [pattern, text, limit, _] = args.unpack([pattern, string, splits, flags])?;
                (pattern, none(), text, limit)
            }
            (_, true) => {
                let [text, _] = args.unpack([string, flags])?;
                (none(), none(), text, none())
            }
            (_, false) => {
                let [pattern, text, _] = args.unpack([pattern, string, flags])?;
                (pattern, none(), text, none())
            }
        };
        let text = text.unwrap_or(Value::NONE);
        let pattern = match object {
            Some(pattern) => Ok(pattern.clone()),
            None => new_pattern(ctx.usage, &pattern.unwrap_or(Value::NONE)),
        };
        if let Ok(pattern) = &pattern {
            pattern.charge(ctx.usage, text.as_str_bytes().unwrap_or_default())?;
        }
        let limit = limit
            .and_then(|limit| crate::value::as_i64(&limit).ok())
            .unwrap_or(0);
        Ok(RegexCall {
            pattern,
            text,
            replacement: replacement.unwrap_or(Value::NONE),
            limit,
        })
    }

    fn text(&self) -> &[u8] {
        self.text.as_str_bytes().unwrap_or_default()
    }
}

fn search(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let call = RegexCall::new(ctx, args)?;
    let text = call.text.clone();
    let found = call
        .pattern?
        .regex
        .find(text.as_str_bytes().unwrap_or_default())
        .map(|m| m.range());
    Ok(found.map_or(Value::NONE, |range| {
        Value::list(vec![Value::from(range.start), Value::from(range.end)])
    }))
}

fn matches(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let call = RegexCall::new(ctx, args)?;
    let text = call.text.clone();
    let text = text.as_str_bytes().unwrap_or_default();
    let mut out = Vec::new();
    for captures in call.pattern?.regex.captures_iter(text) {
        ctx.charge(captures.len())?;
        ctx.allocate_values(1)?;
        let groups = captures.iter();
        let groups = groups.map(|group| group.map_or(&b""[..], |group| group.as_bytes()));
        out.push(strings(ctx, groups)?);
    }
    Ok(Value::list(out))
}

fn strings<'p>(ctx: &Context<'_>, parts: impl Iterator<Item = &'p [u8]>) -> Result<Value, Failure> {
    let mut strings = Vec::new();
    for part in parts {
        ctx.charge(1)?;
        ctx.allocate_values(1)?;
        strings.push(Value::new_string(ctx.usage, part)?);
    }
    ctx.allocate(64)?;
    Ok(Value::tuple(strings))
}

fn split(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let call = RegexCall::new(ctx, args)?;
    let value = call.text.clone();
    let text = value.as_str_bytes().unwrap_or_default();
    let limit = usize::try_from(call.limit).ok().filter(|limit| *limit > 0);
    let regex = call.pattern?.regex;
    if !regex.as_str().is_empty() && text.is_empty() {
        return strings(ctx, [&b""[..]].into_iter());
    }
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in regex.find_iter(text) {
        if limit.is_some_and(|limit| parts.len() + 1 == limit) {
            break;
        }
        ctx.charge(1)?;
        ctx.allocate(2 * size_of::<&[u8]>())?;
        end = found.start();
        if found.end() != 0 {
            parts.push(text.get(begin..end).unwrap_or_default());
        }
        begin = found.end();
    }
    if end != text.len() {
        parts.push(text.get(begin..).unwrap_or_default());
    }
    strings(ctx, parts.into_iter())
}

fn findall(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let call = RegexCall::new(ctx, args)?;
    let text = call.text.clone();
    let text = text.as_str_bytes().unwrap_or_default();
    let regex = call.pattern?.regex;
    strings(ctx, regex.find_iter(text).map(|found| found.as_bytes()))
}

fn sub(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let call = RegexCall::new(ctx, args)?;
    let Ok(pattern) = &call.pattern else {
        // As in the original, an invalid pattern is not reported here.
        return Ok(Value::NONE);
    };
    let (text, template) = (
        call.text(),
        call.replacement.as_str_bytes().unwrap_or_default(),
    );
    let mut out = TextBuilder::new(ctx.usage);
    let mut rest = 0;
    for captures in pattern.regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        ctx.charge(captures.len())?;
        out.push(text.get(rest..whole.start()).unwrap_or_default())?;
        expand(template, &captures, &mut out)?;
        rest = whole.end();
    }
    out.push(text.get(rest..).unwrap_or_default())?;
    out.into_string()
}

/// Expands a template with groups: `$name`, `${name}`, `$1`; `$$` and a `$` without a name are dollars.
fn expand(
    template: &[u8],
    captures: &Captures<'_>,
    out: &mut TextBuilder<'_>,
) -> Result<(), Failure> {
    let mut rest = template;
    while let Some(dollar) = memchr::memchr(b'$', rest) {
        let (before, behind) = rest.split_at(dollar);
        out.push(before)?;
        rest = behind.get(1..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(b"$") {
            out.push(b"$")?;
            rest = behind;
            continue;
        }
        let inner = rest.strip_prefix(b"{").unwrap_or(rest);
        let braced = inner.len() < rest.len();
        let in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let (name, behind) = inner.split_at(inner.iter().take_while(in_name).count());
        let closed = !braced || behind.first() == Some(&b'}');
        if name.is_empty() || !closed {
            out.push(b"$")?;
            continue;
        }
        let name = std::str::from_utf8(name).unwrap_or_default();
        let group = match name.parse::<usize>() {
            Ok(number) => captures.get(number),
            Err(_) => captures.name(name),
        };
        out.push(group.map_or(b"", |group| group.as_bytes()))?;
        rest = if braced {
            behind.get(1..).unwrap_or_default()
        } else {
            behind
        };
    }
    out.push(rest)
}
