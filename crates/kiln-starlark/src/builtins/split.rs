//! Methods that split strings.

use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::text;
use crate::usage::Usage;
use crate::value::Value;

/// A list of strings, charged as it grows.
struct Parts<'a> {
    usage: &'a Usage<'a>,
    parts: Vec<Value>,
}

impl<'a> Parts<'a> {
    fn new(usage: &'a Usage<'a>) -> Parts<'a> {
        Parts {
            usage,
            parts: Vec::new(),
        }
    }

    fn push(&mut self, part: &[u8]) -> Result<(), Failure> {
        self.usage.charge(1)?;
        self.usage.allocate(2 * size_of::<Value>())?;
        self.parts.push(Value::new_string(self.usage, part)?);
        Ok(())
    }

    fn into_list(self) -> Value {
        Value::list(self.parts)
    }
}

/// `split` and `rsplit`.
pub(super) fn split(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Any, Want::Int64], 0)?;
    let this = args.this_text();
    let most = args.int(1)?.and_then(|most| usize::try_from(most).ok());
    let from_left = args.name == "split";
    let separator = args.get(0).filter(|separator| !separator.is_none());
    let mut parts = Parts::new(ctx.usage);
    let Some(separator) = separator else {
        match most {
            None => fields(this, usize::MAX, &mut parts)?,
            Some(most) if from_left => fields(this, most, &mut parts)?,
            Some(most) => fields_from_right(this, most, &mut parts)?,
        }
        return Ok(parts.into_list());
    };
    let Some(separator) = separator.as_str_bytes() else {
        let type_name = separator.type_name();
        return fail(format!("split: got {type_name} for separator, want string"));
    };
    if separator.is_empty() {
        return fail("split: empty separator");
    }
    // From the right, the first separators are skipped.
    let skipped = match most {
        Some(most) if !from_left => {
            let count = memchr::memmem::find_iter(this, separator).count();
            count.saturating_sub(most)
        }
        _ => 0,
    };
    let cuts = memchr::memmem::find_iter(this, separator).skip(skipped);
    let mut start = 0;
    for cut in cuts.take(most.unwrap_or(usize::MAX)) {
        parts.push(this.get(start..cut).unwrap_or_default())?;
        start = cut + separator.len();
    }
    parts.push(this.get(start..).unwrap_or_default())?;
    Ok(parts.into_list())
}

/// Words between white space; after `most` splits the rest is one part.
fn fields(this: &[u8], most: usize, parts: &mut Parts<'_>) -> Result<(), Failure> {
    let mut start = None;
    for (place, char) in text::chars(this) {
        match (text::is_space(char), start) {
            (true, Some(begin)) => {
                if parts.parts.len() == most {
                    break;
                }
                parts.push(this.get(begin..place).unwrap_or_default())?;
                start = None;
            }
            (false, None) => start = Some(place),
            _ => {}
        }
    }
    match start.and_then(|begin| this.get(begin..)) {
        Some(rest) => parts.push(rest),
        None => Ok(()),
    }
}

fn fields_from_right(this: &[u8], most: usize, parts: &mut Parts<'_>) -> Result<(), Failure> {
    let mut end = None;
    let mut place = this.len();
    while place > 0 {
        let (char, length) = text::decode_last_char(this.get(..place).unwrap_or_default());
        match (text::is_space(char), end) {
            (true, Some(stop)) => {
                if parts.parts.len() == most {
                    break;
                }
                parts.push(this.get(place..stop).unwrap_or_default())?;
                end = None;
            }
            (false, None) => end = Some(place),
            _ => {}
        }
        place -= length;
    }
    if let Some(rest) = end.and_then(|stop| this.get(..stop)) {
        parts.push(rest)?;
    }
    parts.parts.reverse();
    Ok(())
}

pub(super) fn splitlines(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Bool], 0)?;
    let keep_ends = args.get(0).is_some_and(Value::truth);
    let this = args.this_text();
    let mut parts = Parts::new(ctx.usage);
    let mut start = 0;
    for place in memchr::memchr_iter(b'\n', this) {
        let end = if keep_ends { place + 1 } else { place };
        parts.push(this.get(start..end).unwrap_or_default())?;
        start = place + 1;
    }
    if start < this.len() {
        parts.push(this.get(start..).unwrap_or_default())?;
    }
    Ok(parts.into_list())
}

/// `partition` and `rpartition`.
pub(super) fn partition(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String], 1)?;
    let this = args.this_text();
    let separator = args.text(0)?;
    if separator.is_empty() {
        return args.fail("empty separator");
    }
    let from_left = args.name == "partition";
    let cut = match from_left {
        true => memchr::memmem::find(this, separator),
        false => memchr::memmem::rfind(this, separator),
    };
    let parts: [&[u8]; 3] = match cut {
        Some(cut) => {
            let behind = this.get(cut + separator.len()..).unwrap_or_default();
            [this.get(..cut).unwrap_or_default(), separator, behind]
        }
        None if from_left => [this, b"", b""],
        None => [b"", b"", this],
    };
    ctx.allocate(this.len().saturating_add(separator.len()) + 256)?;
    Ok(Value::tuple(parts.iter().map(Value::string).collect()))
}

/// `strip`, `lstrip` and `rstrip`.
pub(super) fn strip(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String], 0)?;
    let mut cut: Vec<char> = Vec::new();
    for (_, char) in text::chars(args.text(0)?) {
        ctx.allocate(2 * size_of::<char>())?;
        cut.push(char);
    }
    cut.sort_unstable();
    cut.dedup();
    let is_cut = |char: char| match cut.is_empty() {
        true => text::is_space(char),
        false => cut.binary_search(&char).is_ok(),
    };
    let mut this = args.this_text();
    if args.name != "rstrip" {
        while !this.is_empty() {
            let (char, length) = text::decode_char(this);
            if !is_cut(char) {
                break;
            }
            this = this.get(length..).unwrap_or_default();
        }
    }
    if args.name != "lstrip" {
        while !this.is_empty() {
            let (char, length) = text::decode_last_char(this);
            if !is_cut(char) {
                break;
            }
            this = this.get(..this.len() - length).unwrap_or_default();
        }
    }
    Value::new_string(ctx.usage, this)
}
