//! Quoted texts.

use super::{quote, quote_char, to_lower, to_upper};

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
        assert_eq!(quote(text), quoted);
    }
    for (c, quoted) in [('"', r#"'"'"#), ('\'', r"'\''"), ('\n', r"'\n'")] {
        assert_eq!(quote_char(c), quoted);
    }
}

/// Each line has a text and what Go's `strconv.Quote` returned for it.
#[test]
fn recorded_texts_are_quoted_like_go() {
    let mut checked = 0;
    for line in include_str!("quotes.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let field = |name: &str| case.get(name).and_then(serde_json::Value::as_str);
        let plain = field("in").unwrap_or_default();
        assert_eq!(Some(&*quote(plain)), field("quoted"), "{plain:?}");
        checked += 1;
    }
    assert!(checked > 500, "only {checked} texts");
}

#[test]
fn case_is_mapped_one_character_for_one() {
    assert_eq!(to_lower("ÀB\u{130}Σ"), "àbiσ");
    assert_eq!(
        to_upper("àß\u{149}\u{1f80}\u{1fb3}"),
        "Àß\u{149}\u{1f88}\u{1fbc}"
    );
}
