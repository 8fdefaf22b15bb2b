//! Text as Go's formatter quotes it, because messages of the original libraries are kept to the letter.

/// The string in double quotes, escaped as Go's `%q` does it.
pub fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if is_printable(c) => out.push(c),
            _ => match c as u32 {
                code @ (0..=0x1f | 0x7f) => out.push_str(&format!("\\x{code:02x}")),
                code @ 0..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push('"');
    out
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space; no other spaces, no controls.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // The standard library escapes exactly the others, except that it also escapes a combining mark at the start
    // of a string. Hence the letter before it.
    let mut pair = String::from('a');
    pair.push(c);
    pair.escape_debug().nth(1) != Some('\\')
}

#[cfg(test)]
mod tests {
    use super::go_quote;

    #[test]
    fn quotes_like_go() {
        for (text, quoted) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("say \"x\" \\", r#""say \"x\" \\""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
            ("\0\u{1b}\u{7f}", r#""\x00\x1b\x7f""#),
            (
                "\u{a0}\u{2028}\u{feff}\u{ad}",
                r#""\u00a0\u2028\ufeff\u00ad""#,
            ),
            ("é漢😀\u{301}", "\"é漢😀\u{301}\""),
            ("\u{e0001}", r#""\U000e0001""#),
            ("'", r#""'""#),
        ] {
            assert_eq!(go_quote(text), quoted);
        }
    }
}
