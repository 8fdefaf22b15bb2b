//! Decodes string literals.

pub(crate) struct Unquoted {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_bytes: bool,
}

/// Decodes a literal with its prefix and quotes; the error is go.starlark.net's message.
pub(crate) fn unquote(raw: &[u8]) -> Result<Unquoted, String> {
    let (is_raw, rest) = match raw {
        [b'r', rest @ ..] => (true, rest),
        _ => (false, raw),
    };
    let (is_bytes, rest) = match rest {
        [b'b', rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let inner = match rest {
        [a, b, c, inner @ .., d, e, f] if [a, b, c, d, e, f].iter().all(|quote| *quote == a) => {
            inner
        }
        [_, inner @ .., _] => inner,
        _ => return Err("string literal too short".to_owned()),
    };
    let bytes = if is_raw {
        inner.to_vec()
    } else {
        Escapes {
            rest: inner,
            is_bytes,
        }
        .decode()?
    };
    Ok(Unquoted { bytes, is_bytes })
}

struct Escapes<'a> {
    rest: &'a [u8],
    is_bytes: bool,
}

impl Escapes<'_> {
    fn decode(mut self) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(self.rest.len());
        while let Some(plain) = memchr::memchr(b'\\', self.rest) {
            let (before, escape) = self.rest.split_at(plain);
            out.extend_from_slice(before);
            let Some(kind) = escape.get(1).copied() else {
                return Err("truncated escape sequence \\".to_owned());
            };
            self.rest = escape;
            match kind {
                b'\n' => self.skip(2),
                b'0'..=b'7' => out.push(self.octal()?),
                b'x' => out.push(self.hex()?),
                b'u' => self.code_point(6, &mut out)?,
                b'U' => self.code_point(10, &mut out)?,
                _ => {
                    let Some(decoded) = simple(kind) else {
                        return Err(format!("invalid escape sequence \\{}", char::from(kind)));
                    };
                    out.push(decoded);
                    self.skip(2);
                }
            }
        }
        out.extend_from_slice(self.rest);
        Ok(out)
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn octal(&mut self) -> Result<u8, String> {
        let digits = self.rest.iter().skip(1).take(3);
        let digits: Vec<u8> = digits
            .copied()
            .take_while(|b| (b'0'..=b'7').contains(b))
            .collect();
        let number = digits
            .iter()
            .fold(0u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
        self.skip(1 + digits.len());
        if !self.is_bytes && number > 127 {
            let hint = format!("use \\u{number:04X} for the UTF-8 encoding of U+{number:04X}");
            return Err(format!("non-ASCII octal escape \\{number:o} ({hint})"));
        }
        u8::try_from(number).map_err(|_| format!("invalid escape sequence \\{number:03o}"))
    }

    fn hex(&mut self) -> Result<u8, String> {
        let (escape, number) = self.digits(4)?;
        if !self.is_bytes && number > 127 {
            let hint = format!("use \\u{number:04X} for the UTF-8 encoding of U+{number:04X}");
            return Err(format!("non-ASCII hex escape {escape} ({hint})"));
        }
        Ok(u8::try_from(number).unwrap_or_default())
    }

    fn code_point(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let (escape, number) = self.digits(length)?;
        if number > 0x0010_FFFF {
            return Err(format!(
                "code point out of range: {escape} (max \\U{number:08x})"
            ));
        }
        let Some(char) = char::from_u32(number) else {
            return Err(format!("invalid Unicode code point U+{number:04X}"));
        };
        out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// Reads an escape of `length` bytes with hexadecimal digits.
    fn digits(&mut self, length: usize) -> Result<(String, u32), String> {
        let Some(escape) = self.rest.get(..length) else {
            let rest = String::from_utf8_lossy(self.rest);
            return Err(format!("truncated escape sequence {rest}"));
        };
        let escape = String::from_utf8_lossy(escape).into_owned();
        let digits = escape.get(2..).unwrap_or_default();
        let valid = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(number) if valid => {
                self.skip(length);
                Ok((escape, number))
            }
            _ => Err(format!("invalid escape sequence {escape}")),
        }
    }
}

fn simple(kind: u8) -> Option<u8> {
    Some(match kind {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0B,
        b'\\' | b'\'' | b'"' => kind,
        _ => return None,
    })
}
