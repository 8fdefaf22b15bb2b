//! `encoding/base64.star`.

use super::module as make_module;
use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context, Want};
use crate::usage::Usage;
use crate::value::Value;

pub(super) fn module() -> Value {
    make_module(
        "base64",
        &[("encode", "encode", encode), ("decode", "decode", decode)],
    )
}

/// One of the encodings of RFC 4648.
#[derive(Clone, Copy)]
struct Encoding {
    url: bool,
    padded: bool,
}

fn arguments(usage: &Usage<'_>, args: &Arguments<'_>) -> Result<(Value, Encoding), Failure> {
    let params = [("data", Want::String), ("encoding?", Want::String)];
    let [data, encoding] = args.unpack(params)?;
    let name = encoding
        .as_ref()
        .and_then(Value::as_str_bytes)
        .unwrap_or_default();
    let (url, padded) = match name {
        b"" | b"standard" => (false, true),
        b"standard_raw" => (false, false),
        b"url" => (true, true),
        b"url_raw" => (true, false),
        _ => {
            let name = encoding.unwrap_or(Value::NONE);
            let shown = name.shown(usage)?;
            return fail(format!("unsupported encoding format: {shown}"));
        }
    };
    Ok((data.unwrap_or(Value::NONE), Encoding { url, padded }))
}

fn encode(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (data, encoding) = arguments(ctx.usage, args)?;
    let data = data.as_str_bytes().unwrap_or_default();
    ctx.charge(data.len() / 8)?;
    ctx.allocate((data.len() / 3 + 1).saturating_mul(8))?;
    let mut out = Vec::with_capacity(data.len() * 4 / 3 + 4);
    for chunk in data.chunks(3) {
        let mut word = [0; 3];
        for (slot, byte) in word.iter_mut().zip(chunk) {
            *slot = *byte;
        }
        let [a, b, c] = word;
        let sextets = [
            a >> 2,
            (a & 3) << 4 | b >> 4,
            (b & 15) << 2 | c >> 6,
            c & 63,
        ];
        out.extend(
            sextets
                .iter()
                .take(chunk.len() + 1)
                .map(|sextet| digit(*sextet, encoding.url)),
        );
        if encoding.padded {
            out.extend(std::iter::repeat_n(b'=', 3 - chunk.len()));
        }
    }
    Ok(Value::string(out))
}

fn digit(sextet: u8, url: bool) -> u8 {
    match sextet {
        0..26 => b'A' + sextet,
        26..52 => b'a' + sextet - 26,
        52..62 => b'0' + sextet - 52,
        62 if url => b'-',
        62 => b'+',
        _ if url => b'_',
        _ => b'/',
    }
}

fn sextet(digit: u8, url: bool) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' if !url => 62,
        b'-' if url => 62,
        b'/' if !url => 63,
        b'_' if url => 63,
        _ => return None,
    })
}

fn decode(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let (data, encoding) = arguments(ctx.usage, args)?;
    let data = data.as_str_bytes().unwrap_or_default();
    ctx.charge(data.len() / 8)?;
    ctx.allocate(data.len().saturating_mul(2))?;
    match decode_bytes(data, encoding) {
        Ok(bytes) => Ok(Value::string(bytes)),
        Err(place) => fail(format!("illegal base64 data at input byte {place}")),
    }
}

/// Decodes, skipping line ends; the error is the offset that Go reports.
fn decode_bytes(data: &[u8], encoding: Encoding) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(data.len() / 4 * 3);
    let mut group: Vec<u8> = Vec::with_capacity(4);
    let mut bytes = data.iter().copied().enumerate();
    let mut bytes = bytes
        .by_ref()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    while let Some((place, byte)) = bytes.next() {
        if let Some(sextet) = sextet(byte, encoding.url) {
            group.push(sextet);
            if group.len() == 4 {
                flush(&mut group, &mut out);
            }
            continue;
        }
        if byte != b'=' || !encoding.padded || group.len() < 2 {
            return Err(place);
        }
        if group.len() == 2 {
            match bytes.next() {
                Some((_, b'=')) => {}
                Some((place, _)) => return Err(place.saturating_sub(1)),
                None => return Err(data.len()),
            }
        }
        // Go returns only the error, so the decoded bytes do not matter.
        if let Some((place, _)) = bytes.next() {
            return Err(place);
        }
        flush(&mut group, &mut out);
        return Ok(out);
    }
    match group.len() {
        0 => {}
        1 => return Err(data.len() - 1),
        unpaired if encoding.padded => return Err(data.len() - unpaired),
        _ => flush(&mut group, &mut out),
    }
    Ok(out)
}

/// Converts the sextets of a group, which may be short, to bytes.
fn flush(group: &mut Vec<u8>, out: &mut Vec<u8>) {
    let count = group.len().saturating_sub(1);
    let word = group
        .iter()
        .fold(0u32, |word, sextet| word << 6 | u32::from(*sextet));
    let word = word << (6 * (4 - group.len().min(4)));
    let [_, a, b, c] = word.to_be_bytes();
    out.extend([a, b, c].iter().take(count));
    group.clear();
}
