//! `encoding/csv.star`.

use super::module as make_module;
use crate::builder::TextBuilder;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::usage::Usage;
use crate::value::{Iter, Value, ValueKind, as_i64};

pub(super) fn module() -> Value {
    make_module(
        "csv",
        &[
            ("read_all", "read_all", read_all),
            ("write_all", "write_all", write_all),
        ],
    )
}

fn one_char(
    value: Option<&Value>,
    param: &str,
    default: Option<u8>,
) -> Result<Option<u8>, Failure> {
    match value.and_then(Value::as_str_bytes).unwrap_or_default() {
        [] => Ok(default),
        [byte] => Ok(Some(*byte)),
        _ => fail(format!(
            "expected {param} param to be a single-character string"
        )),
    }
}

/// The bytes of a field besides its text.
const FIELD_BYTES: usize = 2 * size_of::<Vec<u8>>() + 16;

struct CsvReader<'a> {
    usage: &'a Usage<'a>,
    rest: &'a [u8],
    line: usize,
    comma: u8,
    comment: Option<u8>,
    lazy_quotes: bool,
    trim: bool,
    /// The number of fields of a record: as many as in the first if zero, any number if negative.
    fields: i64,
}

fn read_all(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [source, comma, comment, lazy, trim, fields, skip] = args.unpack([
        ("source", Want::Any),
        ("comma?", Want::String),
        ("comment", Want::String),
        ("lazy_quotes", Want::Bool),
        ("trim_leading_space", Want::Bool),
        ("fields_per_record", Want::Int),
        ("skip", Want::Int),
    ])?;
    let comma = one_char(comma.as_ref(), "comma", Some(b','))?.unwrap_or(b',');
    let comment = one_char(comment.as_ref(), "comment", None)?;
    let source = source.unwrap_or(Value::NONE);
    let Some(text) = source.as_str_bytes() else {
        // The original crashes here.
        return args.fail(format!(
            "for parameter source: got {}, want string",
            source.type_name()
        ));
    };
    // A copy with line ends, and each line.
    ctx.allocate(text.len().saturating_mul(3))?;
    ctx.charge(text.len() / 4)?;
    let text = line_ends(text);
    let int = |value: Option<Value>| value.and_then(|value| as_i64(&value).ok()).unwrap_or(0);
    let mut reader = CsvReader {
        usage: ctx.usage,
        rest: &text,
        line: 0,
        comma,
        comment,
        lazy_quotes: lazy.is_some_and(|lazy| lazy.truth()),
        trim: trim.is_some_and(|trim| trim.truth()),
        fields: int(fields),
    };
    for _ in 0..int(skip) {
        if reader.record()?.is_none() {
            return fail("EOF");
        }
    }
    let mut rows = Vec::new();
    while let Some(record) = reader.record()? {
        ctx.allocate_values(record.len() + 4)?;
        let fields = record.into_iter();
        let fields = fields.map(|field| Value::new_string(ctx.usage, field));
        rows.push(Value::list(fields.collect::<Result<_, _>>()?));
    }
    Ok(Value::list(rows))
}

/// Converts carriage returns without a line feed to line ends.
fn line_ends(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (i, byte) in text.iter().enumerate() {
        out.push(*byte);
        if *byte == b'\r' && text.get(i + 1) != Some(&b'\n') {
            out.push(b'\n');
        }
    }
    out
}

impl CsvReader<'_> {
    /// The next record; `None` at the end.
    fn record(&mut self) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        let line = loop {
            let Some(line) = self.next_line() else {
                return Ok(None);
            };
            let is_comment = self.comment.is_some() && line.first().copied() == self.comment;
            if !is_comment && !line.is_empty() && line != b"\n" {
                break line;
            }
        };
        let start = self.line;
        let fields = self.fields_of(line, start)?;
        let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if self.fields > 0 && count != self.fields {
            return fail(format!("record on line {start}: wrong number of fields"));
        }
        if self.fields == 0 {
            self.fields = count;
        }
        Ok(Some(fields))
    }

    /// The next line including its line feed.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |place| place + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.line += 1;
        let mut line = line.to_vec();
        if line.ends_with(b"\r\n") {
            line.truncate(line.len() - 2);
            line.push(b'\n');
        } else if rest.is_empty() && line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(line)
    }

    fn fields_of(&mut self, mut line: Vec<u8>, start: usize) -> Result<Vec<Vec<u8>>, Failure> {
        let mut fields = Vec::new();
        let mut place = 0;
        loop {
            if self.trim {
                let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | 0x0B | 0x0C);
                place += line.iter().skip(place).take_while(blank).count();
            }
            let rest = line.get(place..).unwrap_or_default();
            if rest.first() != Some(&b'"') {
                let end = memchr::memchr(self.comma, rest);
                let stop = end.unwrap_or(rest.len() - usize::from(rest.last() == Some(&b'\n')));
                let field = rest.get(..stop).unwrap_or_default();
                self.usage.charge(1)?;
                self.usage.allocate(field.len() + FIELD_BYTES)?;
                if let Some(quote) = memchr::memchr(b'"', field)
                    && !self.lazy_quotes
                {
                    let column = place + quote + 1;
                    let what = "bare \" in non-quoted-field";
                    return fail(format!(
                        "parse error on line {}, column {column}: {what}",
                        self.line
                    ));
                }
                fields.push(field.to_vec());
                match end {
                    Some(end) => place += end + 1,
                    None => return Ok(fields),
                }
                continue;
            }
            let (field, next) = self.quoted(&mut line, place + 1, start)?;
            self.usage.charge(1)?;
            self.usage.allocate(2 * field.len() + FIELD_BYTES)?;
            fields.push(field);
            match next {
                Some(next) => place = next,
                None => return Ok(fields),
            }
        }
    }

    /// Reads a quoted field after its quote; returns where the next field begins, if there is one.
    fn quoted(
        &mut self,
        line: &mut Vec<u8>,
        mut place: usize,
        start: usize,
    ) -> Result<(Vec<u8>, Option<usize>), Failure> {
        let mut field = Vec::new();
        loop {
            let rest = line.get(place..).unwrap_or_default();
            let Some(quote) = memchr::memchr(b'"', rest) else {
                field.extend_from_slice(rest);
                let at = place + rest.len();
                match self.next_line() {
                    Some(next) => {
                        *line = next;
                        place = 0;
                        continue;
                    }
                    None if self.lazy_quotes => return Ok((field, None)),
                    None => {
                        let what = "extraneous or missing \" in quoted-field";
                        let place = match start == self.line {
                            true => format!("parse error on line {}, column {}", self.line, at + 1),
                            false => format!(
                                "record on line {start}; parse error on line {}, column {}",
                                self.line + 1,
                                1
                            ),
                        };
                        return fail(format!("{place}: {what}"));
                    }
                }
            };
            field.extend_from_slice(rest.get(..quote).unwrap_or_default());
            place += quote + 1;
            match line.get(place) {
                Some(b'"') => {
                    field.push(b'"');
                    place += 1;
                }
                Some(byte) if *byte == self.comma => return Ok((field, Some(place + 1))),
                None | Some(b'\n') => return Ok((field, None)),
                _ if self.lazy_quotes => field.push(b'"'),
                _ => {
                    let what = "extraneous or missing \" in quoted-field";
                    let line = self.line;
                    return fail(format!(
                        "parse error on line {line}, column {place}: {what}"
                    ));
                }
            }
        }
    }
}

fn write_all(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let [source, comma] = args.unpack([("source", Want::Any), ("comma?", Want::String)])?;
    let comma = one_char(comma.as_ref(), "comma", Some(b','))?.unwrap_or(b',');
    let source = source.unwrap_or(Value::NONE);
    let is_rows = |value: &Value| matches!(value.kind(), ValueKind::List(_) | ValueKind::Tuple(_));
    if !is_rows(&source) {
        return fail("expected value to be an array type");
    }
    let mut out = TextBuilder::new(ctx.usage);
    for (i, row) in Iter::new(&source).into_iter().flatten().enumerate() {
        if !is_rows(&row) {
            return fail(format!("row {i} is not an array type"));
        }
        for (j, cell) in Iter::new(&row).into_iter().flatten().enumerate() {
            ctx.charge(1)?;
            if j > 0 {
                out.push(&[comma])?;
            }
            let text = cell_text(ctx.usage, &cell)?;
            let most = text.len().saturating_mul(2) + 2;
            out.push_with(most, |out| write_field(&text, comma, out))?;
        }
        ctx.charge(1)?;
        out.push(b"\n")?;
    }
    out.into_string()
}

/// A cell in the format in which Go prints the value.
fn cell_text(usage: &Usage<'_>, cell: &Value) -> Result<Vec<u8>, Failure> {
    Ok(match cell.kind() {
        ValueKind::String(text) => {
            usage.allocate(text.len())?;
            text.to_vec()
        }
        ValueKind::None => b"<nil>".to_vec(),
        ValueKind::Bool(bool) => bool.to_string().into_bytes(),
        ValueKind::Float(float) => {
            let text = crate::value::format_float(float, b'g');
            text.strip_suffix(".0")
                .unwrap_or(&text)
                .to_owned()
                .into_bytes()
        }
        _ => cell.repr(usage)?,
    })
}

fn write_field(field: &[u8], comma: u8, out: &mut Vec<u8>) {
    let special = |byte: &u8| *byte == comma || matches!(byte, b'"' | b'\r' | b'\n');
    let quoted = field == b"\\."
        || field.iter().any(special)
        || field
            .first()
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | 0x0B | 0x0C));
    if !quoted {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for byte in field {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}
