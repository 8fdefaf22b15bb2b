//! `encoding/json.star`: decoding, and indenting existing JSON.

use std::rc::Rc;

use kiln_go::quote_char;
use num_bigint::BigInt;

use crate::builder::{STRING_BYTES, TextBuilder};
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::limits::MAX_INT_DIGITS;
use crate::text;
use crate::usage::Usage;
use crate::value::{Dict, Repr, Value, int};

/// The bytes of a value while it is decoded and in its container.
const VALUE_BYTES: usize = 3 * size_of::<Value>() + STRING_BYTES;

pub(super) fn decode(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [text, default] = args.unpack([("x", Want::String), ("default?", Want::Any)])?;
    if args.positional.is_empty() {
        return args.fail("unexpected keyword argument x");
    }
    let text = text.unwrap_or(Value::NONE);
    let text = text.as_str_bytes().unwrap_or_default();
    let mut decoder = JsonDecoder {
        usage: ctx.usage,
        text,
        offset: 0,
    };
    match (decoder.document(), default) {
        (Ok(value), _) => Ok(value),
        (Err(JsonDecodeError::Stopped(failure)), _) => Err(failure),
        (Err(JsonDecodeError::Syntax(_)), Some(default)) => Ok(default),
        (Err(JsonDecodeError::Syntax(message)), None) => fail(format!(
            "json.decode: at offset {}, {message}",
            decoder.offset
        )),
    }
}

struct JsonDecoder<'a> {
    usage: &'a Usage<'a>,
    text: &'a [u8],
    offset: usize,
}

/// A container that is not closed yet.
enum OpenJson {
    Array(Vec<Value>),
    Object(Rc<Dict>, Option<Value>),
}

enum JsonDecodeError {
    Syntax(String),
    /// A limit of the run, regardless of the text.
    Stopped(Failure),
}

impl From<String> for JsonDecodeError {
    fn from(message: String) -> JsonDecodeError {
        JsonDecodeError::Syntax(message)
    }
}

impl From<Failure> for JsonDecodeError {
    fn from(failure: Failure) -> JsonDecodeError {
        JsonDecodeError::Stopped(failure)
    }
}

type Decoded<T> = Result<T, JsonDecodeError>;

impl JsonDecoder<'_> {
    fn document(&mut self) -> Decoded<Value> {
        let value = self.value()?;
        self.skip_space();
        match self.text.get(self.offset) {
            Some(byte) => {
                let shown = quote_char(char::from(*byte));
                Err(format!("unexpected character {shown} after value").into())
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
            .ok_or_else(|| "unexpected end of file".to_owned().into())
    }

    fn value(&mut self) -> Decoded<Value> {
        let mut open: Vec<OpenJson> = Vec::new();
        loop {
            // Begin a value, descending into containers.
            self.usage.charge(1)?;
            self.usage.allocate(VALUE_BYTES)?;
            let mut value = match self.peek()? {
                b'[' => {
                    self.offset += 1;
                    if self.peek()? != b']' {
                        open.push(OpenJson::Array(Vec::new()));
                        continue;
                    }
                    self.offset += 1;
                    Value::list(Vec::new())
                }
                b'{' => {
                    self.offset += 1;
                    if self.peek()? != b'}' {
                        open.push(OpenJson::Object(Rc::default(), None));
                        continue;
                    }
                    self.offset += 1;
                    Value::from(Dict::default())
                }
                first => self.scalar(first)?,
            };
            // End it, ascending out of containers.
            loop {
                match open.pop() {
                    None => return Ok(value),
                    Some(OpenJson::Array(mut elements)) => {
                        elements.push(value);
                        if self.separator(b']', "got", "want ',' or ']'")? {
                            open.push(OpenJson::Array(elements));
                            break;
                        }
                        value = Value::list(elements);
                    }
                    Some(OpenJson::Object(dict, None)) => {
                        if value.as_str_bytes().is_none() {
                            let type_name = value.type_name();
                            let message = format!("got {type_name} for object key, want string");
                            return Err(message.into());
                        }
                        let colon = self.peek()?;
                        if colon != b':' {
                            let shown = quote_char(char::from(colon));
                            let message = format!("after object key, got {shown}, want ':' ");
                            return Err(message.into());
                        }
                        self.offset += 1;
                        open.push(OpenJson::Object(dict, Some(value)));
                        break;
                    }
                    Some(OpenJson::Object(dict, Some(key))) => {
                        dict.insert(self.usage, key, value)?;
                        if self.separator(b'}', "in object, got", "want ',' or '}'")? {
                            open.push(OpenJson::Object(dict, None));
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
            return Err(format!("{got} {shown}, {wanted}").into());
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
            _ => {
                let shown = quote_char(char::from(first));
                Err(format!("unexpected character {shown}").into())
            }
        }
    }

    fn string(&mut self) -> Decoded<Value> {
        let rest = self.text.get(self.offset + 1..).unwrap_or_default();
        let mut plain = true;
        let mut place = 0;
        loop {
            match rest.get(place) {
                None => return Err("unclosed string literal".to_owned().into()),
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
        self.usage.charge(inner.len() / 16)?;
        if plain {
            return Ok(Value::new_string(self.usage, inner)?);
        }
        // Invalid UTF-8 becomes longer.
        self.usage.allocate(inner.len().saturating_mul(3))?;
        let text = unescape(inner)?;
        Ok(Value::new_string(self.usage, text)?)
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
        self.usage.charge(length / 8)?;
        self.usage.check_room(length)?;
        let shown = String::from_utf8_lossy(number).into_owned();
        let invalid = || format!("invalid number: {shown}");
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let leading_zero =
            digits.first() == Some(&b'0') && digits.get(1).is_some_and(u8::is_ascii_digit);
        if digits.is_empty() || leading_zero {
            return Err(invalid().into());
        }
        if number.iter().skip(1).all(u8::is_ascii_digit) {
            if number.len() > MAX_INT_DIGITS {
                let message = format!("int too large: {} digits", number.len());
                return Err(message.into());
            }
            if number.len() > 18 {
                int::charge_bits(self.usage, number.len() as u64 * 4)?;
            }
            let big = BigInt::parse_bytes(number, 10).ok_or_else(invalid)?;
            return Ok(int::new_int(self.usage, big)?);
        }
        let float = crate::builtins::go_float(&shown).filter(|float| float.is_finite());
        Ok(float.map(Value::from).ok_or_else(invalid)?)
    }
}

/// The text of a JSON string, by the rules of Go's decoder.
fn unescape(inner: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(char) = next_char(&mut rest) {
        if char < ' ' {
            return Err(format!(
                "invalid character {} in string literal",
                quote_char(char)
            ));
        }
        if char != '\\' {
            text::push_char(&mut out, char);
            continue;
        }
        let Some(escape) = next_char(&mut rest) else {
            break;
        };
        let decoded = match escape {
            '"' | '\\' | '/' => escape,
            'b' => '\x08',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => code_point(&mut rest)?,
            _ => {
                let shown = quote_char(escape);
                return Err(format!("invalid character {shown} in string escape code"));
            }
        };
        text::push_char(&mut out, decoded);
    }
    Ok(out)
}

/// Takes the first character.
fn next_char(rest: &mut &[u8]) -> Option<char> {
    let (char, length) = text::decode_char(rest);
    *rest = rest.get(length..).unwrap_or_default();
    (length > 0).then_some(char)
}

/// The character of the digits after `\u`, including a second escape of a surrogate pair.
fn code_point(rest: &mut &[u8]) -> Result<char, String> {
    let first = hex4(rest)?;
    if let Some(char) = char::from_u32(first) {
        return Ok(char);
    }
    if (0xD800..0xDC00).contains(&first)
        && let [b'\\', b'u', behind @ ..] = *rest
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

fn hex4(rest: &mut &[u8]) -> Result<u32, String> {
    let mut number = 0;
    for _ in 0..4 {
        let char = next_char(rest).unwrap_or('"');
        let Some(digit) = char.to_digit(16) else {
            let shown = quote_char(char);
            return Err(format!(
                "invalid character {shown} in \\u hexadecimal character escape"
            ));
        };
        number = number * 16 + digit;
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
    let mut decoder = JsonDecoder {
        usage: ctx.usage,
        text,
        offset: 0,
    };
    match decoder.document() {
        Ok(_) => reindent(ctx.usage, text, &prefix, &unit),
        Err(JsonDecodeError::Stopped(failure)) => Err(failure),
        Err(JsonDecodeError::Syntax(message)) => {
            args.fail(format!("at offset {}, {message}", decoder.offset))
        }
    }
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

/// JSON text with line breaks and indentation.
pub(super) fn reindent(
    usage: &Usage<'_>,
    text: &[u8],
    prefix: &[u8],
    unit: &[u8],
) -> Result<Value, Failure> {
    usage.charge(text.len() / 4)?;
    let mut out = TextBuilder::new(usage);
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut just_opened = false;
    for byte in text {
        let byte_text = std::slice::from_ref(byte);
        if in_string {
            out.push(byte_text)?;
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
            new_line(&mut out, depth, prefix, unit)?;
        }
        if closing && !just_opened {
            depth = depth.saturating_sub(1);
            new_line(&mut out, depth, prefix, unit)?;
        }
        just_opened = matches!(byte, b'{' | b'[');
        in_string = *byte == b'"';
        out.push(byte_text)?;
        match byte {
            b',' => new_line(&mut out, depth, prefix, unit)?,
            b':' => out.push(b" ")?,
            _ => {}
        }
    }
    out.into_string()
}

fn new_line(
    out: &mut TextBuilder<'_>,
    depth: usize,
    prefix: &[u8],
    unit: &[u8],
) -> Result<(), Failure> {
    out.push(b"\n")?;
    out.push(prefix)?;
    if unit.is_empty() {
        return Ok(());
    }
    for _ in 0..depth {
        out.push(unit)?;
    }
    Ok(())
}
