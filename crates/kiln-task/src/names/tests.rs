//! Valid names, and the messages for invalid ones.

use super::{PackageName, RevisionName};

const LONG: &str = "abcedfhglaasdkfuaweoihfjghldhsgufhgaakjsdhaflkasdjflksadjfsalsk";

fn name(repository: &str, path: &str, workspace: &str) -> RevisionName {
    RevisionName {
        package: PackageName {
            repository: repository.to_owned(),
            path: path.to_owned(),
        },
        workspace: workspace.to_owned(),
    }
}

#[test]
fn names_are_joined_with_dots() {
    let revision = PackageName::new("git", "/a/b/pkg/").revision("v1");
    assert_eq!(revision.to_string(), "git.a.b.pkg.v1");
    assert_eq!(revision.package.base(), "pkg");
    assert_eq!(revision.package.parent(), "a/b");
    assert_eq!(RevisionName::repository_of("git.a.b"), Some("git"));
    assert_eq!(RevisionName::repository_of("git"), None);
}

#[test]
fn valid_names_are_accepted() {
    for (repository, path, workspace) in [
        ("git", "pkg", "v1"),
        ("hel-lo-wor-ld", "hel-lo/wor-ld", "hel-lo"),
        ("abc", &format!("abc/{LONG}"), LONG),
        ("hello", "h/e/l/l/o/hello", "hello"),
    ] {
        assert_eq!(name(repository, path, workspace).check(), Ok(()), "{path}");
    }
}

#[test]
fn bad_parts_are_named_with_the_rule() {
    let characters = "must consist of lower case alphanumeric characters";
    let ends = "must start and end with an alphanumeric character";
    let length = "must be no more than 63 characters";
    let long = &format!("{LONG}s");
    for (repository, path, workspace, parts, rule) in [
        (long.as_str(), long.as_str(), long.as_str(), 3, length),
        ("", "", "", 3, ends),
        ("hello-", "hello-", "hello-", 3, ends),
        ("-hello", "-hello/-hello", "-hello", 4, ends),
        ("hEzzo", "hel_o/hE^lo", "hE(lo", 4, characters),
        ("he..lo", "he..lo/he..lo", "he..lo", 4, characters),
        ("he/lo", "he/lo", "he/lo", 2, characters),
        ("git", "a/-b/c", "v1", 1, ends),
        ("git", "pkg", "--upload-pack=x", 1, ends),
    ] {
        let error = name(repository, path, workspace).check();
        let error = error.expect_err("a bad name").to_string();
        let found = error.matches(" name invalid\n").count();
        assert_eq!(found, parts, "{error}");
        assert!(error.contains(rule), "{error}");
        assert!(error.starts_with("package revision kubernetes resource name invalid:\n"));
    }
    let error = name("git", "a//b/c", "v1").check().expect_err("a bad path");
    let text = "package path part \"a//b\" of object name invalid\npath a//b invalid: consecutive '/' characters are not allowed\n";
    assert!(error.to_string().ends_with(text), "{error}");
}

#[test]
fn a_name_that_is_too_long_as_a_whole_is_refused() {
    let path = format!("{LONG}/{LONG}");
    let (repository, workspace) = (LONG, LONG);
    let error = name(repository, &path, workspace)
        .check()
        .expect_err("too long");
    assert!(error.to_string().contains("no more than 253 characters"));
}

#[test]
fn packages_are_nested_at_slashes_only() {
    let package = |path: &str| PackageName::new("git", path);
    for (one, other, expected) in [
        ("a", "a/b", true),
        ("a/b", "a", true),
        ("a", "ab", false),
        ("a/b", "a/bc", false),
        ("a", "a", false),
        ("x/a", "a", false),
    ] {
        assert_eq!(
            package(one).is_nested_with(&package(other)),
            expected,
            "{one} {other}"
        );
    }
    assert!(!package("a").is_nested_with(&PackageName::new("other", "a/b")));
}
