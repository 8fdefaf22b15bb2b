//! Files that change while their value is in use.

use std::fs;
use std::path::PathBuf;

use super::{FileValue, FileValueError, MadeValue, Refresh};

struct Fixture {
    _directory: tempfile::TempDir,
    path: PathBuf,
    value: FileValue<String>,
}

fn make(contents: &[Vec<u8>]) -> Result<String, String> {
    let text = String::from_utf8_lossy(&contents.concat()).into_owned();
    if text.starts_with("bad") {
        return Err(format!("{text} is bad"));
    }
    Ok(text)
}

fn fixture(text: &str) -> Fixture {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    fs::write(&path, text).expect("a file");
    let value = FileValue::load(vec![path.clone()], make).expect("a value");
    Fixture {
        _directory: directory,
        path,
        value,
    }
}

#[test]
fn a_change_of_the_same_length_in_the_same_moment_is_seen() {
    let fixture = fixture("one");
    assert_eq!(fixture.value.refresh(), Refresh::Unchanged);
    for text in ["two", "six", "ten"] {
        fs::write(&fixture.path, text).expect("a file");
        assert_eq!(fixture.value.refresh(), Refresh::Changed);
        assert_eq!(*fixture.value.get(), text);
        assert_eq!(fixture.value.refresh(), Refresh::Unchanged);
    }
}

#[test]
fn a_bad_file_is_reported_once_and_the_old_value_stays() {
    let fixture = fixture("one");
    fs::write(&fixture.path, "bad1").expect("a file");
    assert_eq!(
        fixture.value.refresh(),
        Refresh::Failed("bad1 is bad".to_owned())
    );
    assert_eq!(fixture.value.refresh(), Refresh::Unchanged);
    assert_eq!(*fixture.value.get(), "one");
    fs::write(&fixture.path, "bad2").expect("a file");
    assert_eq!(
        fixture.value.refresh(),
        Refresh::Failed("bad2 is bad".to_owned())
    );
    fs::write(&fixture.path, "two").expect("a file");
    assert_eq!(fixture.value.refresh(), Refresh::Changed);
    assert_eq!(*fixture.value.get(), "two");
}

#[test]
fn a_deleted_file_is_reported_once_and_may_come_back() {
    let fixture = fixture("one");
    fs::remove_file(&fixture.path).expect("a file");
    let Refresh::Failed(failure) = fixture.value.refresh() else {
        panic!("a deleted file is a failure");
    };
    assert!(
        failure.starts_with("read ") && failure.contains("No such file"),
        "{failure}"
    );
    assert_eq!(fixture.value.refresh(), Refresh::Unchanged);
    assert_eq!(*fixture.value.get(), "one");
    fs::write(&fixture.path, "two").expect("a file");
    assert_eq!(fixture.value.refresh(), Refresh::Changed);
    assert_eq!(*fixture.value.get(), "two");
}

#[test]
fn the_same_failure_is_reported_again_after_the_value_was_back() {
    let fixture = fixture("one");
    for _ in 0..2 {
        fs::write(&fixture.path, "bad").expect("a file");
        assert_eq!(
            fixture.value.refresh(),
            Refresh::Failed("bad is bad".to_owned())
        );
        fs::write(&fixture.path, "one").expect("a file");
        assert_eq!(fixture.value.refresh(), Refresh::Unchanged);
        assert_eq!(*fixture.value.get(), "one");
    }
}

#[test]
fn there_is_no_value_without_files() {
    let missing = FileValue::load(vec![PathBuf::from("/nonexistent/x")], make);
    assert!(matches!(missing, Err(FileValueError::Read { .. })));
}

#[test]
fn a_file_that_the_value_names_is_a_part_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| fs::write(path(name), text).expect("a file");
    write("list", "a");
    write("a", "one");
    let base = directory.path().to_owned();
    let value = FileValue::load_with_files(vec![path("list")], move |contents| {
        let names = String::from_utf8_lossy(&contents[0]).into_owned();
        let files: Vec<PathBuf> = names.split(' ').map(|name| base.join(name)).collect();
        let texts: Result<Vec<String>, _> = files.iter().map(fs::read_to_string).collect();
        let value = texts.map_err(|_| "a file is missing".to_owned())?.concat();
        Ok(MadeValue { value, files })
    });
    let value = value.expect("a value");
    assert_eq!(*value.get(), "one");
    write("a", "two");
    assert_eq!(value.refresh(), Refresh::Changed);
    assert_eq!(*value.get(), "two");
    assert_eq!(value.refresh(), Refresh::Unchanged);
    write("b", "three");
    assert_eq!(value.refresh(), Refresh::Unchanged);
    write("list", "a b");
    assert_eq!(value.refresh(), Refresh::Changed);
    write("b", "six");
    assert_eq!(value.refresh(), Refresh::Changed);
    assert_eq!(*value.get(), "twosix");
    fs::remove_file(path("b")).expect("removed");
    let missing = Refresh::Failed("a file is missing".to_owned());
    assert_eq!(value.refresh(), missing);
    assert_eq!(value.refresh(), Refresh::Unchanged);
    assert_eq!(*value.get(), "twosix");
    // A file that the value no longer names may be missing.
    write("list", "a");
    assert_eq!(value.refresh(), Refresh::Changed);
    assert_eq!(*value.get(), "two");
    assert_eq!(value.refresh(), Refresh::Unchanged);
}
