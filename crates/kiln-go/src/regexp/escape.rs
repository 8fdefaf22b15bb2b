//! Single characters of expressions, escaped or not.

use super::RegexpError;

/// A literal character.
pub(super) fn literal(c: char) -> String {
    match r"\.+*?()|[]{}^$#&-~".contains(c) {
        true => format!(r"\{c}"),
        false => c.to_string(),
    }
}

/// A literal code point. Go accepts a surrogate, which never matches.
pub(super) fn code_point(code: u32) -> String {
    char::from_u32(code).map_or_else(|| r"[^\s\S]".to_owned(), literal)
}

/// The code point of an escape such as `\n`, `\101` or `\x{263a}`, and the rest.
pub(super) fn escape(text: &str) -> Result<(u32, &str), RegexpError> {
    let mut rest = text.chars();
    rest.next();
    let Some(first) = rest.next() else {
        return Err(RegexpError::new(
            "trailing backslash at end of expression",
            "",
        ));
    };
    let digit = |rest: &std::str::Chars<'_>, radix| {
        let next = rest.clone().next()?;
        next.to_digit(radix)
    };
    let found = match first {
        '1'..='7' if digit(&rest, 8).is_none() => None,
        '0'..='7' => {
            let mut code = first.to_digit(8).unwrap_or_default();
            for _ in 0..2 {
                let Some(more) = digit(&rest, 8) else { break };
                code = code * 8 + more;
                rest.next();
            }
            Some(code)
        }
        'x' => hex(&mut rest),
        'a' => Some(0x07),
        'f' => Some(0x0c),
        'n' => Some(0x0a),
        'r' => Some(0x0d),
        't' => Some(0x09),
        'v' => Some(0x0b),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
        _ => None,
    };
    match found {
        Some(code) => Ok((code, rest.as_str())),
        None => {
            let shown = text.get(..text.len() - rest.as_str().len());
            let shown = shown.unwrap_or(text);
            Err(RegexpError::new("invalid escape sequence", shown))
        }
    }
}

/// The digits after `\x`: two, or any number in braces.
fn hex(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let second = rest.next()?;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let mut code: u32 = 0;
    let mut count = 0;
    loop {
        let c = rest.next()?;
        if c == '}' {
            return (count > 0).then_some(code);
        }
        code = code * 16 + c.to_digit(16)?;
        if code > u32::from(char::MAX) {
            return None;
        }
        count += 1;
    }
}
