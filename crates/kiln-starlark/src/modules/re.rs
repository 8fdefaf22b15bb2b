//! `re.star`: regular expressions of Go's `regexp`.
//!
//! The `regex` crate works alike: no back-references, linear time, leftmost-first. The syntax is Go's.

use std::any::Any;
use std::rc::Rc;

use kiln_go::regexp::{GoRegexp, NEST_LIMIT, ReplacementPart, SplitRanges, replacement_parts};
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
    expression: Rc<GoRegexp>,
    regex: Regex,
    /// The maximum of the memory of the compiled pattern.
    compiled: usize,
    /// The maximum of the memory of the engine's cache of states.
    cache: usize,
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
        self.expression.source().as_bytes().to_vec()
    }

    fn size(&self) -> usize {
        self.searched().saturating_add(self.search_bytes())
    }

    fn truth(&self) -> bool {
        !self.expression.source().is_empty()
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
const SIZES: [usize; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 10 << 20];

/// The least and the most memory of the engine's cache of states.
const CACHE: std::ops::RangeInclusive<usize> = 1 << 14..=2 << 20;

/// The maximum product of a pattern's size and a text's length, except for small patterns. The worst-case time of the
/// engine is proportional to it, and the engine cannot be interrupted.
const MAX_SEARCH: usize = 1 << 36;

/// The bytes of the syntax tree of a pattern per byte of the pattern.
const BYTES_PER_PATTERN_BYTE: usize = 256;

fn new_pattern(usage: &Usage<'_>, pattern: &Value) -> Result<Pattern, Failure> {
    let pattern = String::from_utf8_lossy(pattern.as_str_bytes().unwrap_or_default());
    let tree = pattern.len().saturating_mul(BYTES_PER_PATTERN_BYTE);
    usage.allocate(tree)?;
    let expression = match GoRegexp::parse(&pattern) {
        Ok(expression) => Rc::new(expression),
        Err(error) => return fail(error.to_string()),
    };
    for size in SIZES {
        // Compiling takes time proportional to the text of the pattern and to the result.
        usage.charge(pattern.len().saturating_add(size / 16))?;
        let cache = size.clamp(*CACHE.start(), *CACHE.end());
        usage.allocate(size.saturating_add(tree))?;
        let built = RegexBuilder::new(expression.translation())
            .nest_limit(NEST_LIMIT)
            .size_limit(size)
            .dfa_size_limit(cache)
            .build();
        if let Ok(regex) = built {
            let pattern = Pattern {
                expression,
                regex,
                compiled: size,
                cache,
            };
            usage.allocate(cache.saturating_add(pattern.search_bytes()))?;
            return Ok(pattern);
        }
    }
    fail(format!(
        "error parsing regexp: expression too large: `{pattern}`"
    ))
}

impl Pattern {
    /// The most memory that is read for a byte of the text.
    fn searched(&self) -> usize {
        self.compiled.saturating_add(self.cache)
    }

    /// The most memory that a search takes.
    fn search_bytes(&self) -> usize {
        self.expression.search_bytes(self.compiled)
    }

    /// Charges the time of a search, and rejects one that would take too long.
    fn charge(&self, usage: &Usage<'_>, text: &[u8]) -> Result<(), Failure> {
        let size = self.searched().max(self.search_bytes() / 8);
        let product = text.len().saturating_mul(size);
        if product > MAX_SEARCH && size > 1 << 17 {
            return fail(format!(
                "regular expression is too large for a text of {} bytes",
                text.len()
            ));
        }
        usage.charge((text.len() / 4).saturating_add(product >> 16))
    }

    /// The group that a replacement refers to.
    fn group<'t>(&self, captures: &Captures<'t>, part: ReplacementPart<'_>) -> Option<&'t [u8]> {
        let group = |number| captures.get(number).map(|group| group.as_bytes());
        match part {
            ReplacementPart::Text(_) => None,
            ReplacementPart::Number(number) => group(number),
            ReplacementPart::Name(name) => self.expression.groups_named(name).find_map(group),
        }
    }
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
    let pattern = call.pattern?;
    let matches = pattern.regex.find_iter(text).map(|found| found.range());
    let expression = pattern.expression.source();
    let mut parts = Vec::new();
    for range in SplitRanges::new(expression, text.len(), limit, matches) {
        ctx.charge(1)?;
        ctx.allocate(2 * size_of::<&[u8]>())?;
        parts.push(text.get(range).unwrap_or_default());
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
        for part in replacement_parts(template) {
            match part {
                ReplacementPart::Text(text) => out.push(text)?,
                group => out.push(pattern.group(&captures, group).unwrap_or_default())?,
            }
        }
        rest = whole.end();
    }
    out.push(text.get(rest..).unwrap_or_default())?;
    out.into_string()
}
