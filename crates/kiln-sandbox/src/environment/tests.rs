//! Filtered environments.

use super::*;

#[test]
fn only_what_is_named_is_kept() {
    let names = ["PATH", "PATHS", "LC_ALL", "LC", "TOKEN", "LANG", "MINE"];
    let environment = names.map(|name| (OsString::from(name), OsString::from("x")));
    let kept = cleaned(environment.into(), ALLOWED_VARIABLES, &["MINE".to_owned()]);
    let kept: Vec<OsString> = kept.into_iter().map(|(name, _)| name).collect();
    assert_eq!(kept, ["PATH", "LC_ALL", "LANG", "MINE"]);
}
