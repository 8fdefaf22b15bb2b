//! Text as Go's `strconv` quotes it and as `strings` maps its case, because messages of Go programs are kept to the byte.

/// The string in double quotes, escaped as Go's `%q` does it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_quoted_char(&mut out, c, '"');
    }
    out.push('"');
    out
}

/// The character in single quotes, escaped as Go's `%q` does it.
pub fn quote_char(c: char) -> String {
    let mut out = String::from('\'');
    push_quoted_char(&mut out, c, '\'');
    out.push('\'');
    out
}

/// Appends a character of a string that stands between two `quote`s.
pub fn push_quoted_char(out: &mut String, c: char, quote: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        _ if c == quote => out.extend(['\\', c]),
        _ if is_printable(c) => out.push(c),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ => match u32::from(c) {
            code @ (0..=0x1f | 0x7f) => out.push_str(&format!("\\x{code:02x}")),
            code @ 0..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        },
    }
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space; no other spaces, no controls.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // The standard library escapes exactly the others, except that it also escapes a combining mark at the start
    // of a string. Hence the letter before it.
    let pair = String::from_iter(['a', c]);
    pair.escape_debug().nth(1) != Some('\\')
}

/// The string in lower case, one character for one character.
pub fn to_lower(text: &str) -> String {
    text.chars().map(lower_char).collect()
}

/// The character in lower case.
pub fn lower_char(c: char) -> char {
    match c {
        // The only letter whose full lower case is longer than one character.
        '\u{130}' => 'i',
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

/// The string in upper case, one character for one character.
pub fn to_upper(text: &str) -> String {
    text.chars().map(upper_char).collect()
}

fn upper_char(c: char) -> char {
    let offset = match c {
        // Letters whose full upper case is two characters, and that have one of their own.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => {
            let mut upper = c.to_uppercase();
            return match (upper.next(), upper.next()) {
                (Some(upper), None) => upper,
                _ => c,
            };
        }
    };
    char::from_u32(u32::from(c) + offset).unwrap_or(c)
}

#[cfg(test)]
mod tests;
