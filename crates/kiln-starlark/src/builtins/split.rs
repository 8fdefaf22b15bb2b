//! Methods that cut strings up.

use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::text;
use crate::value::Value;

/// A list of strings.
fn strings(ctx: &mut Context<'_>, parts: Vec<&[u8]>) -> Result<Value, Failure> {
    let bytes: usize = parts.iter().map(|part| part.len() + 16).sum();
    ctx.allocate(bytes)?;
    ctx.allocate_values(parts.len())?;
    Ok(Value::list(parts.into_iter().map(Value::string).collect()))
}

/// `split` and `rsplit`.
pub(super) fn split(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Any, Want::Int64], 0)?;
    let this = args.this_text();
    let most = args.int(1)?.and_then(|most| usize::try_from(most).ok());
    let from_left = args.name == "split";
    let separator = args.get(0).filter(|separator| !separator.is_none());
    let Some(separator) = separator else {
        let parts = match most {
            None => fields(this, usize::MAX),
            Some(most) if from_left => fields(this, most),
            Some(most) => fields_from_right(this, most),
        };
        return strings(ctx, parts);
    };
    let Some(separator) = separator.as_str_bytes() else {
        let type_name = separator.type_name();
        return fail(format!("split: got {type_name} for separator, want string"));
    };
    if separator.is_empty() {
        return fail("split: empty separator");
    }
    let all: Vec<usize> = memchr::memmem::find_iter(this, separator).collect();
    let cuts = match most {
        Some(most) if from_left => all.get(..most.min(all.len())),
        Some(most) => all.get(all.len().saturating_sub(most)..),
        None => Some(all.as_slice()),
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for cut in cuts.unwrap_or_default() {
        parts.push(this.get(start..*cut).unwrap_or_default());
        start = cut + separator.len();
    }
    parts.push(this.get(start..).unwrap_or_default());
    strings(ctx, parts)
}

/// Words between white space; after `most` cuts the rest is one part.
fn fields(this: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut start = None;
    for (place, char) in text::chars(this) {
        match (text::is_space(char), start) {
            (true, Some(begin)) => {
                if parts.len() == most {
                    break;
                }
                parts.push(this.get(begin..place).unwrap_or_default());
                start = None;
            }
            (false, None) => start = Some(place),
            _ => {}
        }
    }
    parts.extend(start.and_then(|begin| this.get(begin..)));
    parts
}

fn fields_from_right(this: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut end = None;
    let mut place = this.len();
    while place > 0 {
        let (char, length) = text::decode_last_char(this.get(..place).unwrap_or_default());
        match (text::is_space(char), end) {
            (true, Some(stop)) => {
                if parts.len() == most {
                    break;
                }
                parts.push(this.get(place..stop).unwrap_or_default());
                end = None;
            }
            (false, None) => end = Some(place),
            _ => {}
        }
        place -= length;
    }
    parts.extend(end.and_then(|stop| this.get(..stop)));
    parts.reverse();
    parts
}

pub(super) fn splitlines(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Bool], 0)?;
    let keep_ends = args.get(0).is_some_and(Value::truth);
    let this = args.this_text();
    let mut parts = Vec::new();
    let mut start = 0;
    for place in memchr::memchr_iter(b'\n', this) {
        let end = if keep_ends { place + 1 } else { place };
        parts.push(this.get(start..end).unwrap_or_default());
        start = place + 1;
    }
    if start < this.len() {
        parts.push(this.get(start..).unwrap_or_default());
    }
    strings(ctx, parts)
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
    ctx.allocate(this.len() + 128)?;
    Ok(Value::tuple(parts.iter().map(Value::string).collect()))
}

/// `strip`, `lstrip` and `rstrip`.
pub(super) fn strip(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String], 0)?;
    let cut: Vec<char> = text::chars(args.text(0)?).map(|(_, char)| char).collect();
    let is_cut = |char: char| match cut.is_empty() {
        true => text::is_space(char),
        false => cut.contains(&char),
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
    ctx.allocate(this.len())?;
    Ok(Value::string(this))
}
