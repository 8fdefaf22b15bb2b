//! Selectors of the command line; selection itself is shown by recorded answers.

use super::parse_pair;

#[test]
fn pairs_keep_what_kpt_keeps() {
    let pair = |text| parse_pair(text).map_err(|error| error.to_string());
    assert_eq!(pair("a=b"), Ok(("a".to_owned(), "b".to_owned())));
    assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
    assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b".to_owned())));
    assert_eq!(
        pair("a"),
        Err("\"a\" must have a key and a value separated by =".to_owned())
    );
}
