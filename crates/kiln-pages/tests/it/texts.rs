//! Texts that come from outside.

use kiln_pages::VisibleText;

#[test]
fn visible_texts_stay_as_they_are() {
    let escaped = VisibleText::from("a\u{7}\n");
    assert_eq!(escaped.as_str(), "a\\u{7}\n");
    let json = serde_json::to_string(&escaped).unwrap();
    assert_eq!(serde_json::from_str::<VisibleText>(&json).unwrap(), escaped);
}
