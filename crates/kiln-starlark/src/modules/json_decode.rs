//! `encoding/json.star`: decoding, and indenting what is JSON already.

use std::rc::Rc;

use num_bigint::BigInt;

use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::text::{self, quote_char};
use crate::value::{Dict, Repr, Value};

pub(super) fn decode(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [text, default] = args.unpack([("x", Want::String), ("default?", Want::Any)])?;
    if args.positional.is_empty() {
        return args.fail("unexpected keyword argument x");
    }
    let text = text.unwrap_or(Value::NONE);
    let text = text.as_str_bytes().unwrap_or_default();
    ctx.allocate(text.len())?;
    ctx.charge(text.len() / 4)?;
    let mut decoder = Decoder { text, offset: 0 };
    match (decoder.document(), default) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(default)) => Ok(default),
        (Err(message), None) => fail(format!(
            "json.decode: at offset {}, {message}",
            decoder.offset
        )),
    }
}

struct Decoder<'a> {
    text: &'a [u8],
    offset: usize,
}

/// A container that is not closed yet.
enum Open {
    Array(Vec<Value>),
    Object(Rc<Dict>, Option<Value>),
}

type Decoded<T> = Result<T, String>;

impl Decoder<'_> {
    fn document(&mut self) -> Decoded<Value> {
        let value = self.value()?;
        self.skip_space();
        match self.text.get(self.offset) {
            Some(byte) => {
                let shown = quote_char(char::from(*byte));
                Err(format!("unexpected character {shown} after value"))
            }
            None => Ok(value),
        }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.offset) {
            self.offset += 1;
        }
    }

    /// The next byte that is not space.
    fn peek(&mut self) -> Decoded<u8> {
        self.skip_space();
        self.text
            .get(self.offset)
            .copied()
            .ok_or_else(|| "unexpected end of file".to_owned())
    }

    fn value(&mut self) -> Decoded<Value> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            // Begin a value, going down into containers.
            let mut value = match self.peek()? {
                b'[' => {
                    self.offset += 1;
                    if self.peek()? != b']' {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    self.offset += 1;
                    Value::list(Vec::new())
                }
                b'{' => {
                    self.offset += 1;
                    if self.peek()? != b'}' {
                        open.push(Open::Object(Rc::default(), None));
                        continue;
                    }
                    self.offset += 1;
                    Value::from(Dict::default())
                }
                first => self.scalar(first)?,
            };
            // End it, going up out of containers.
            loop {
                match open.pop() {
                    None => return Ok(value),
                    Some(Open::Array(mut elements)) => {
                        elements.push(value);
                        if self.separator(b']', "got", "want ',' or ']'")? {
                            open.push(Open::Array(elements));
                            break;
                        }
                        value = Value::list(elements);
                    }
                    Some(Open::Object(dict, None)) => {
                        if value.as_str_bytes().is_none() {
                            let type_name = value.type_name();
                            return Err(format!("got {type_name} for object key, want string"));
                        }
                        let colon = self.peek()?;
                        if colon != b':' {
                            let shown = quote_char(char::from(colon));
                            return Err(format!("after object key, got {shown}, want ':' "));
                        }
                        self.offset += 1;
                        open.push(Open::Object(dict, Some(value)));
                        break;
                    }
                    Some(Open::Object(dict, Some(key))) => {
                        dict.insert(key, value)
                            .map_err(|failure| failure.message().to_owned())?;
                        if self.separator(b'}', "in object, got", "want ',' or '}'")? {
                            open.push(Open::Object(dict, None));
                            break;
                        }
                        value = Value(Repr::Dict(dict));
                    }
                }
            }
        }
    }

    /// Takes a comma (true) or the end of a container (false).
    fn separator(&mut self, end: u8, got: &str, wanted: &str) -> Decoded<bool> {
        let byte = self.peek()?;
        if byte != b',' && byte != end {
            let shown = quote_char(char::from(byte));
            return Err(format!("{got} {shown}, {wanted}"));
        }
        self.offset += 1;
        Ok(byte == b',')
    }

    fn scalar(&mut self, first: u8) -> Decoded<Value> {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        for (word, value) in [
            ("null", Value::NONE),
            ("true", Value::from(true)),
            ("false", Value::from(false)),
        ] {
            if rest.starts_with(word.as_bytes()) {
                self.offset += word.len();
                return Ok(value);
            }
        }
        match first {
            b'"' => self.string(),
            b'0'..=b'9' | b'-' => self.number(),
            _ => Err(format!(
                "unexpected character {}",
                quote_char(char::from(first))
            )),
        }
    }

    fn string(&mut self) -> Decoded<Value> {
        let rest = self.text.get(self.offset + 1..).unwrap_or_default();
        let mut plain = true;
        let mut place = 0;
        loop {
            match rest.get(place) {
                None => return Err("unclosed string literal".to_owned()),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    place += 2;
                }
                Some(byte) => {
                    plain &= byte.is_ascii();
                    place += 1;
                }
            }
        }
        let inner = rest.get(..place).unwrap_or_default();
        self.offset += place + 2;
        if plain {
            return Ok(Value::string(inner));
        }
        unescape(inner).map(Value::string)
    }

    fn number(&mut self) -> Decoded<Value> {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let in_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        let length = 1 + rest
            .iter()
            .skip(1)
            .take_while(|byte| in_number(byte))
            .count();
        let number = rest.get(..length).unwrap_or_default();
        self.offset += length;
        let shown = String::from_utf8_lossy(number).into_owned();
        let invalid = || format!("invalid number: {shown}");
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let leading_zero =
            digits.first() == Some(&b'0') && digits.get(1).is_some_and(u8::is_ascii_digit);
        if digits.is_empty() || leading_zero {
            return Err(invalid());
        }
        if number.iter().skip(1).all(u8::is_ascii_digit) {
            let big = BigInt::parse_bytes(number, 10).ok_or_else(invalid)?;
            return Ok(Value::from(big));
        }
        let float = crate::builtins::go_float(&shown).filter(|float| float.is_finite());
        float.map(Value::from).ok_or_else(invalid)
    }
}

/// The text of a JSON string, by the rules of Go's decoder.
fn unescape(inner: &[u8]) -> Decoded<Vec<u8>> {
    let mut out = Vec::with_capacity(inner.len());
    let chars: Vec<char> = text::chars(inner).map(|(_, char)| char).collect();
    let mut rest = chars.as_slice();
    while let Some((char, behind)) = rest.split_first() {
        rest = behind;
        if *char < ' ' {
            return Err(format!(
                "invalid character {} in string literal",
                quote_char(*char)
            ));
        }
        if *char != '\\' {
            text::push_char(&mut out, *char);
            continue;
        }
        let Some((escape, behind)) = rest.split_first() else {
            break;
        };
        rest = behind;
        let decoded = match escape {
            '"' | '\\' | '/' => *escape,
            'b' => '\x08',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => code_point(&mut rest)?,
            _ => {
                let shown = quote_char(*escape);
                return Err(format!("invalid character {shown} in string escape code"));
            }
        };
        text::push_char(&mut out, decoded);
    }
    Ok(out)
}

/// The character of the digits behind `\u`, and of a second escape if two are one character.
fn code_point(rest: &mut &[char]) -> Decoded<char> {
    let first = hex4(rest)?;
    if let Some(char) = char::from_u32(first) {
        return Ok(char);
    }
    if (0xD800..0xDC00).contains(&first)
        && let ['\\', 'u', behind @ ..] = *rest
    {
        let mut behind = behind;
        let second = hex4(&mut behind)?;
        if (0xDC00..0xE000).contains(&second) {
            *rest = behind;
            let number = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
    Ok(char::REPLACEMENT_CHARACTER)
}

fn hex4(rest: &mut &[char]) -> Decoded<u32> {
    let mut number = 0;
    for _ in 0..4 {
        let char = rest.first().copied().unwrap_or('"');
        let Some(digit) = char.to_digit(16) else {
            let shown = quote_char(char);
            return Err(format!(
                "invalid character {shown} in \\u hexadecimal character escape"
            ));
        };
        number = number * 16 + digit;
        *rest = rest.get(1..).unwrap_or_default();
    }
    Ok(number)
}

pub(super) fn indent(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (prefix, unit) = indentation(args)?;
    let positional = Arguments {
        named: &[],
        ..*args
    };
    positional.check(&[Want::String], 1)?;
    let text = args.text(0)?;
    let mut decoder = Decoder { text, offset: 0 };
    if let Err(message) = decoder.document() {
        return args.fail(format!("at offset {}, {message}", decoder.offset));
    }
    reindent(ctx, text, &prefix, &unit)
}

/// The named arguments of the functions that indent.
pub(super) fn indentation(args: &Arguments<'_>) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let params = [("prefix?", Want::String), ("indent?", Want::String)];
    let [prefix, unit] = args.unpack_named(params)?;
    let bytes = |value: Option<Value>, default: &[u8]| {
        value
            .as_ref()
            .and_then(Value::as_str_bytes)
            .unwrap_or(default)
            .to_vec()
    };
    Ok((bytes(prefix, b""), bytes(unit, b"\t")))
}

/// JSON text with its structure shown by line breaks and indentation.
pub(super) fn reindent(
    ctx: &mut Context<'_>,
    text: &[u8],
    prefix: &[u8],
    unit: &[u8],
) -> Result<Value, Failure> {
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut just_opened = false;
    for byte in text {
        if in_string {
            out.push(*byte);
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        let closing = matches!(byte, b'}' | b']');
        if just_opened && !closing {
            depth += 1;
            new_line(ctx, &mut out, depth, prefix, unit)?;
        }
        if closing && !just_opened {
            depth = depth.saturating_sub(1);
            new_line(ctx, &mut out, depth, prefix, unit)?;
        }
        just_opened = matches!(byte, b'{' | b'[');
        in_string = *byte == b'"';
        out.push(*byte);
        match byte {
            b',' => new_line(ctx, &mut out, depth, prefix, unit)?,
            b':' => out.push(b' '),
            _ => {}
        }
    }
    ctx.allocate(out.len())?;
    Ok(Value::string(out))
}

fn new_line(
    ctx: &mut Context<'_>,
    out: &mut Vec<u8>,
    depth: usize,
    prefix: &[u8],
    unit: &[u8],
) -> Result<(), Failure> {
    ctx.allocate(1 + prefix.len() + depth.saturating_mul(unit.len()))?;
    out.push(b'\n');
    out.extend_from_slice(prefix);
    for _ in 0..depth {
        out.extend_from_slice(unit);
    }
    Ok(())
}
