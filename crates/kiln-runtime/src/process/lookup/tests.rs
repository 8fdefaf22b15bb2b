//! Go's rules and words for finding programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn file(path: &Path, mode: u32) {
    fs::write(path, "").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn check_error(name: &str, search_path: &OsStr, expected: &str) {
    let error = find(name, search_path).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn names_are_searched_for_and_paths_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("a"), directory.path().join("b"));
    fs::create_dir_all(first.join("folder")).unwrap();
    fs::create_dir_all(&second).unwrap();
    file(&first.join("text"), 0o644);
    file(&second.join("text"), 0o755);
    file(&second.join("folder"), 0o755);
    let search_path = format!("{}:{}", first.display(), second.display());
    let search_path = OsStr::new(&search_path);
    for name in ["text", "folder"] {
        assert_eq!(find(name, search_path).unwrap(), second.join(name));
    }
    assert_eq!(find("./nope", search_path).unwrap(), Path::new("./nope"));
    check_error(
        "no pe",
        search_path,
        r#"exec: "no pe": executable file not found in $PATH"#,
    );
    check_error("", search_path, "exec: no command");
}

#[test]
fn an_empty_search_path_has_nothing() {
    let expected = r#"exec: "Cargo.toml": executable file not found in $PATH"#;
    check_error("Cargo.toml", OsStr::new(""), expected);
}

#[test]
fn the_current_directory_is_refused() {
    // Tests run in the directory of their crate.
    let directory = tempfile::tempdir_in(".").unwrap();
    file(&directory.path().join("tool"), 0o755);
    let name = directory.path().file_name().unwrap();
    let expected = r#"exec: "tool": cannot run executable found relative to current directory"#;
    check_error("tool", name, expected);
}
