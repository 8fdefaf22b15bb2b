//! Texts that come from outside.

use kiln_pages::VisibleText;

#[test]
fn visible_texts_stay_as_they_are() {
    let escaped = VisibleText::from("a\u{7}\n");
    assert_eq!(escaped.as_str(), "a\\u{7}\n");
    let json = serde_json::to_string(&escaped).unwrap();
    assert_eq!(serde_json::from_str::<VisibleText>(&json).unwrap(), escaped);
}

#[test]
fn characters_without_ink_are_escaped() {
    for hidden in [
        '\u{e0041}',
        '\u{e0100}',
        '\u{3164}',
        '\u{ffa0}',
        '\u{115f}',
        '\u{180e}',
        '\u{2800}',
        '\u{34f}',
        '\u{200d}',
    ] {
        let text = VisibleText::from(format!("a{hidden}b"));
        assert_eq!(text.as_str(), format!("a{}b", hidden.escape_unicode()));
    }
}

#[test]
fn joined_pictographs_stay() {
    for text in [
        "👨\u{200d}👩\u{200d}👧",
        "❤\u{fe0f}\u{200d}🔥",
        "⚠\u{fe0f} ü 漢",
    ] {
        assert_eq!(VisibleText::from(text).as_str(), text);
    }
    assert_eq!(VisibleText::from("👨\u{200d}").as_str(), "👨\\u{200d}");
}
