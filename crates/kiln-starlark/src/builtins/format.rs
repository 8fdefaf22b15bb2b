//! `string.format`.

use kiln_go::quote;

use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::value::{Value, write_repr};

/// How positional arguments have been named so far; the two ways do not mix.
#[derive(Clone, Copy, PartialEq)]
enum Numbering {
    Undecided,
    Automatic,
    Manual,
}

pub(super) fn format(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let mut rest = args.this_text();
    let mut out = TextBuilder::new(ctx.usage);
    let mut numbering = Numbering::Undecided;
    let mut next = 0;
    loop {
        let open = memchr::memchr(b'{', rest);
        literal(
            rest.get(..open.unwrap_or(rest.len())).unwrap_or_default(),
            &mut out,
        )?;
        let Some(open) = open else {
            break;
        };
        rest = rest.get(open + 1..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(b"{") {
            out.push(b"{")?;
            rest = behind;
            continue;
        }
        let Some(close) = memchr::memchr(b'}', rest) else {
            return fail("format: unmatched '{' in format");
        };
        let (field, behind) = rest.split_at(close);
        rest = behind.get(1..).unwrap_or_default();
        // A named argument is searched for among all.
        ctx.charge(1 + args.named().count() / 8)?;
        let field = ReplacementField::parse(&String::from_utf8_lossy(field));
        let value = field.value(args, &mut numbering, &mut next)?;
        field.write(&value, &mut out)?;
    }
    out.into_string()
}

/// Text between fields, in which a closing brace must be doubled.
fn literal(mut text: &[u8], out: &mut TextBuilder<'_>) -> Result<(), Failure> {
    while let Some(brace) = memchr::memchr(b'}', text) {
        if text.get(brace + 1) != Some(&b'}') {
            return fail("format: single '}' in format");
        }
        out.push(text.get(..=brace).unwrap_or_default())?;
        text = text.get(brace + 2..).unwrap_or_default();
    }
    out.push(text)
}

struct ReplacementField {
    name: String,
    conversion: String,
    spec: String,
}

impl ReplacementField {
    fn parse(field: &str) -> ReplacementField {
        let (name, conversion, spec) = match field.split_once('!') {
            None => {
                let (name, spec) = field.split_once(':').unwrap_or((field, ""));
                (name, "s", spec)
            }
            Some((name, rest)) => {
                let (conversion, spec) = rest.split_once(':').unwrap_or((rest, ""));
                (name, conversion, spec)
            }
        };
        ReplacementField {
            name: name.to_owned(),
            conversion: conversion.to_owned(),
            spec: spec.to_owned(),
        }
    }

    fn value(
        &self,
        args: &Arguments<'_>,
        numbering: &mut Numbering,
        next: &mut usize,
    ) -> Result<Value, Failure> {
        let name = self.name.as_str();
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && (name.is_empty() || name.parse::<i64>().is_ok()) {
            let (own, other, message) = match name.is_empty() {
                true => (
                    Numbering::Automatic,
                    Numbering::Manual,
                    "manual field specification to automatic field numbering",
                ),
                false => (
                    Numbering::Manual,
                    Numbering::Automatic,
                    "automatic field numbering to manual field specification",
                ),
            };
            if *numbering == other {
                return fail(format!("format: cannot switch from {message}"));
            }
            *numbering = own;
            let place = name.parse().unwrap_or(*next);
            if name.is_empty() {
                *next += 1;
            }
            return match args.get(place) {
                Some(value) => Ok(value.clone()),
                None => fail("format: tuple index out of range"),
            };
        }
        let named = args
            .named()
            .find(|(key, _)| key.as_str_bytes() == Some(name.as_bytes()));
        if let Some((_, value)) = named {
            return Ok(value.clone());
        }
        let fields = "is not supported in replacement fields";
        if name.contains('.') {
            return fail(format!("format: attribute syntax x.y {fields}: {name}"));
        }
        if name.contains('[') {
            return fail(format!("format: element syntax a[i] {fields}: {name}"));
        }
        if name.contains('{') {
            return fail("format: nested replacement fields not supported");
        }
        fail(format!("format: keyword {name} not found"))
    }

    fn write(&self, value: &Value, out: &mut TextBuilder<'_>) -> Result<(), Failure> {
        if !self.spec.is_empty() {
            let message = "format spec features not supported in replacement fields";
            return fail(format!("{message}: {}", self.spec));
        }
        match (self.conversion.as_str(), value.as_str_bytes()) {
            ("s", Some(text)) => out.push(text),
            ("s" | "r", _) => write_repr(value, out),
            (conversion, _) => fail(format!("format: unknown conversion {}", quote(conversion))),
        }
    }
}
