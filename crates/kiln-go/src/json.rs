//! JSON strings as Go's `encoding/json` writes them: safe to stand inside HTML.

/// The string in quotes.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_json_string(&mut out, text);
    out
}

/// Appends the string in quotes.
pub fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        push_json_char(out, c);
    }
    out.push('"');
}

/// Appends a character of a string.
pub fn push_json_char(out: &mut String, c: char) {
    match c {
        '"' | '\\' => out.extend(['\\', c]),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..='\u{1f}' => push_code(out, c),
        _ => push_html_escaped(out, c),
    }
}

/// Escapes JSON that was written without regard to HTML, as Go's `json.HTMLEscape` does. The characters occur in strings
/// only.
pub fn escape_html(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        push_html_escaped(&mut out, c);
    }
    out
}

/// The two line separators are escaped because JavaScript did not allow them in strings.
fn push_html_escaped(out: &mut String, c: char) {
    match c {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_code(out, c),
        _ => out.push(c),
    }
}

fn push_code(out: &mut String, c: char) {
    out.push_str(&format!("\\u{:04x}", u32::from(c)));
}

#[cfg(test)]
mod tests {
    use super::{escape_html, json_string};

    #[test]
    fn strings_are_escaped_like_go() {
        for (text, json) in [
            ("", r#""""#),
            ("a'b é😀\u{7f}", "\"a'b é😀\u{7f}\""),
            ("\"\\/", r#""\"\\/""#),
            ("\n\r\t\u{8}\u{c}", r#""\n\r\t\b\f""#),
            ("\0\u{b}\u{1f}", r#""\u0000\u000b\u001f""#),
            ("<a>&", r#""\u003ca\u003e\u0026""#),
            ("\u{2028}\u{2029}", r#""\u2028\u2029""#),
        ] {
            assert_eq!(json_string(text), json);
        }
    }

    #[test]
    fn html_is_escaped_in_json() {
        let escaped = escape_html("{\"a\":\"<&>\\n\u{2028}é\"}");
        assert_eq!(escaped, r#"{"a":"\u003c\u0026\u003e\n\u2028é"}"#);
    }
}
