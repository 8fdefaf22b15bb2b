//! Long texts.

use super::omit_middle;

#[test]
fn short_texts_stay_as_they_are() {
    assert_eq!(omit_middle("abc", 3), "abc");
    assert_eq!(omit_middle("", 0), "");
}

#[test]
fn long_texts_keep_both_ends_and_fit() {
    let text = format!("first{}last", "-".repeat(1000));
    let got = omit_middle(&text, 100);
    assert!(got.len() <= 100, "{} bytes", got.len());
    assert!(got.starts_with("first-"), "{got}");
    assert!(got.ends_with("-last"), "{got}");
    assert!(got.contains("[... 957 bytes omitted ...]"), "{got}");
}

#[test]
fn cuts_fall_between_characters() {
    let text = "é".repeat(500);
    for limit in 0..200 {
        let got = omit_middle(&text, limit);
        assert!(got.contains("bytes omitted"), "{got}");
    }
}
