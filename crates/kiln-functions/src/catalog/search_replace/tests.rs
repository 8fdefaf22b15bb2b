//! Patterns of paths and files, which have their own rules.

use super::SearchReplaceRelease;
use super::glob::Glob;
use super::matcher::Matcher;

#[track_caller]
fn check_path(pattern: &str, path: &str, expected: bool) {
    let data = [("by-path".to_owned(), pattern.to_owned())];
    let matcher =
        Matcher::new(&data, SearchReplaceRelease::V0_2).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(matcher.is_path(path), expected, "{pattern} {path}");
}

#[test]
fn paths() {
    check_path("metadata.name", ".metadata.name", true);
    check_path("metadata.*", ".metadata.name", true);
    check_path("*", ".metadata.name", false);
    check_path("**", ".metadata.name", true);
    check_path("**.name", ".name", true);
    check_path("spec.**.ports[*]", ".spec.containers[0].ports[1]", true);
    check_path("spec.**.ports[0]", ".spec.containers[0].ports[1]", false);
    check_path("*[*].image", ".containers[7].image", true);
    check_path("containers.image", ".containers[7].image", false);
    check_path("a.b", ".a", false);
    check_path("", ".a", false);
    check_path("a.**.**.b", ".a.b", true);
}

#[test]
fn files() {
    for (pattern, path, expected) in [
        ("*.yaml", "a.yaml", Ok(true)),
        ("*.yaml", "d/a.yaml", Ok(false)),
        ("**/a.yaml", "a.yaml", Ok(true)),
        ("**/a.yaml", "d/e/a.yaml", Ok(true)),
        ("**.yaml", "d/a.yaml", Ok(false)),
        ("d/**", "d", Ok(true)),
        ("d/**", "d/e/f", Ok(true)),
        ("d/**/", "d", Ok(true)),
        ("**", "d/e", Ok(true)),
        ("d/?.yaml", "d/a.yaml", Ok(true)),
        ("d?a", "d/a", Ok(false)),
        ("[a-c].yaml", "b.yaml", Ok(true)),
        ("[!a-c].yaml", "b.yaml", Ok(false)),
        ("[c-a].yaml", "b.yaml", Ok(false)),
        ("{a,b/**}", "b/c", Ok(true)),
        ("{a,b}.{yml,yaml}", "b.yml", Ok(true)),
        (r"\*", "*", Ok(true)),
        ("", "", Ok(true)),
        ("[", "x", Err(())),
        ("[]", "x", Err(())),
        ("{a", "x", Err(())),
        ("a}", "x", Err(())),
        ("\\", "x", Err(())),
    ] {
        let actual = Glob::new(pattern).matches(path).map_err(|_| ());
        assert_eq!(actual, expected, "{pattern} {path}");
    }
}

#[test]
fn long_patterns_are_no_trouble() {
    let stars = "*a".repeat(1000);
    assert_eq!(Glob::new(&stars).matches(&"b".repeat(10_000)), Ok(false));
    let groups = "{".repeat(100_000);
    assert!(Glob::new(&groups).matches("x").is_err());
    let nested = "{".repeat(100_000) + &"}".repeat(100_000);
    assert!(Glob::new(&nested).matches("x").is_err());
}
