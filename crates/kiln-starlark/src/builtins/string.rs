//! Methods of strings.

use std::rc::Rc;

use super::{Method, format, methods, split};
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want, indices};
use crate::text;
use crate::value::{Iter, Repr, Value, View, ViewKind};

pub(super) const METHODS: &[Method] = methods! {
    capitalize: capitalize,
    codepoint_ords: view,
    codepoints: view,
    count: count,
    elem_ords: view,
    elems: view,
    endswith: affix,
    find: find,
    format: format::format,
    index: find,
    isalnum: isalnum,
    isalpha: isalpha,
    isdigit: isdigit,
    islower: islower,
    isspace: isspace,
    istitle: istitle,
    isupper: isupper,
    join: join,
    lower: lower,
    lstrip: split::strip,
    partition: split::partition,
    removeprefix: remove_affix,
    removesuffix: remove_affix,
    replace: replace,
    rfind: find,
    rindex: find,
    rpartition: split::partition,
    rsplit: split::split,
    rstrip: split::strip,
    split: split::split,
    splitlines: split::splitlines,
    startswith: affix,
    strip: split::strip,
    title: title,
    upper: upper,
};

/// Maps the characters of the string one by one; the mapping gets their indices too.
fn map_chars(
    ctx: &mut Context<'_>,
    args: &Arguments<'_>,
    mut map: impl FnMut(usize, char) -> char,
) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let this = args.this_text();
    let mut out = TextBuilder::new(ctx.usage);
    for (place, char) in text::chars(this) {
        out.push(map(place, char).encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    out.into_string()
}

fn capitalize(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    map_chars(ctx, args, |place, char| match place {
        0 => text::title(char),
        _ => kiln_go::lower_char(char),
    })
}

fn lower(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    map_chars(ctx, args, |_, char| kiln_go::lower_char(char))
}

fn upper(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    map_chars(ctx, args, |_, char| text::upper(char))
}

fn title(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let mut after_cased = false;
    map_chars(ctx, args, |_, char| {
        let mapped = if after_cased {
            kiln_go::lower_char(char)
        } else {
            text::title(char)
        };
        after_cased = text::is_cased(mapped);
        mapped
    })
}

fn view(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let bytes = match &args.receiver.0 {
        Repr::String(bytes) => Rc::clone(bytes),
        _ => Rc::from([]),
    };
    ctx.allocate(64)?;
    let kind = match args.name {
        "elems" => ViewKind::Elements,
        "elem_ords" => ViewKind::ElementOrds,
        "codepoints" => ViewKind::CodePoints,
        _ => ViewKind::CodePointOrds,
    };
    Ok(Value(Repr::View(Rc::new(View { bytes, kind }))))
}

/// The part of the string between the optional start and end arguments, and its offset.
fn part<'a>(args: &Arguments<'a>) -> Result<(&'a [u8], usize), Failure> {
    let this = args.this_text();
    let (start, end) = args.naming(indices(args.get(1), args.get(2), this.len()))?;
    Ok((this.get(start..end).unwrap_or_default(), start))
}

fn count(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String, Want::Any, Want::Any], 1)?;
    let (part, _) = part(args)?;
    let wanted = args.text(0)?;
    ctx.charge(if wanted.is_empty() { part.len() / 8 } else { 0 })?;
    let count = match wanted.is_empty() {
        true => text::chars(part).count() + 1,
        false => memchr::memmem::find_iter(part, wanted).count(),
    };
    Ok(Value::from(count))
}

/// `find`, `index`, `rfind` and `rindex`.
fn find(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String, Want::Any, Want::Any], 1)?;
    let (part, start) = part(args)?;
    let wanted = args.text(0)?;
    let found = match args.name.starts_with('r') {
        true => memchr::memmem::rfind(part, wanted),
        false => memchr::memmem::find(part, wanted),
    };
    match found {
        Some(place) => Ok(Value::from(start + place)),
        None if args.name.ends_with("find") => Ok(Value::from(-1)),
        None => args.fail("substring not found"),
    }
}

/// `startswith` and `endswith`.
fn affix(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 3)?;
    let (part, _) = part(args)?;
    let matches = |affix: &[u8]| match args.name {
        "endswith" => part.ends_with(affix),
        _ => part.starts_with(affix),
    };
    let wanted = args.value(0);
    match &wanted.0 {
        Repr::String(affix) => Ok(Value::from(matches(affix))),
        Repr::Tuple(affixes) => {
            for (i, affix) in affixes.0.iter().enumerate() {
                ctx.charge(1 + affix.length().unwrap_or(0) / 64)?;
                let Some(affix) = affix.as_str_bytes() else {
                    let type_name = affix.type_name();
                    return args.fail(format!("want string, got {type_name}, for element {i}"));
                };
                if matches(affix) {
                    return Ok(Value::from(true));
                }
            }
            Ok(Value::from(false))
        }
        _ => args.fail(format!(
            "got {}, want string or tuple of string",
            wanted.type_name()
        )),
    }
}

fn remove_affix(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String], 1)?;
    let this = args.this_text();
    let affix = args.text(0)?;
    let rest = match args.name {
        "removeprefix" => this.strip_prefix(affix),
        _ => this.strip_suffix(affix),
    };
    Value::new_string(ctx.usage, rest.unwrap_or(this))
}

fn join(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::Iterable], 1)?;
    let separator = args.this_text();
    let mut out = TextBuilder::new(ctx.usage);
    for (i, element) in Iter::new(&args.value(0)).into_iter().flatten().enumerate() {
        let Some(text) = element.as_str_bytes() else {
            return fail(format!(
                "join: in list, want string, got {}",
                element.type_name()
            ));
        };
        ctx.charge(1)?;
        if i > 0 {
            out.push(separator)?;
        }
        out.push(text)?;
    }
    out.into_string()
}

fn replace(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String, Want::String, Want::Int64], 2)?;
    let (this, old, new) = (args.this_text(), args.text(0)?, args.text(1)?);
    let most = args.int(2)?.unwrap_or(-1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut out = TextBuilder::new(ctx.usage);
    let mut rest = 0;
    // The empty text is found before every character and at the end.
    let places: &mut dyn Iterator<Item = usize> = match old.is_empty() {
        true => &mut text::chars(this)
            .map(|(place, _)| place)
            .chain([this.len()])
            .take(most),
        false => &mut memchr::memmem::find_iter(this, old).take(most),
    };
    for place in places {
        ctx.charge(1)?;
        out.push(this.get(rest..place).unwrap_or_default())?;
        out.push(new)?;
        rest = place + old.len();
    }
    out.push(this.get(rest..).unwrap_or_default())?;
    out.into_string()
}

/// Whether the string is not empty and all characters satisfy a condition.
fn all_chars(
    ctx: &Context<'_>,
    args: &Arguments<'_>,
    kind: impl Fn(char) -> bool,
) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let this = args.this_text();
    ctx.charge(this.len() / 4)?;
    let all = text::chars(this).all(|(_, char)| kind(char));
    Ok(Value::from(all && !this.is_empty()))
}

fn isalnum(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    all_chars(ctx, args, |char| {
        char.is_alphabetic() || text::is_digit(char)
    })
}

fn isalpha(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    all_chars(ctx, args, char::is_alphabetic)
}

fn isdigit(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    all_chars(ctx, args, text::is_digit)
}

fn isspace(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    all_chars(ctx, args, text::is_space)
}

/// Whether there is a cased character and a mapping changes nothing.
fn unchanged(
    ctx: &Context<'_>,
    args: &Arguments<'_>,
    map: impl Fn(char) -> char,
) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let this = args.this_text();
    ctx.charge(this.len() / 2)?;
    let cased = text::chars(this).any(|(_, char)| text::is_cased(char));
    let same = text::chars(this).all(|(_, char)| map(char) == char);
    Ok(Value::from(cased && same))
}

fn islower(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    unchanged(ctx, args, kiln_go::lower_char)
}

fn isupper(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    unchanged(ctx, args, text::upper)
}

fn istitle(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    ctx.charge(args.this_text().len() / 2)?;
    let mut cased = false;
    let mut after_cased = false;
    for (_, char) in text::chars(args.this_text()) {
        let is_title = char.is_ascii_uppercase()
            || (text::title(char) == char
                && kiln_go::lower_char(char) != char
                && text::upper(char) != char);
        let wrong = if is_title {
            after_cased
        } else if char.is_lowercase() {
            !after_cased
        } else {
            char.is_uppercase()
        };
        if wrong {
            return Ok(Value::from(false));
        }
        after_cased = is_title || char.is_lowercase();
        cased |= after_cased;
    }
    Ok(Value::from(cased))
}
