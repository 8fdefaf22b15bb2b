//! Files that change under a value.

use std::fs;
use std::path::PathBuf;

use super::{FileValue, FileValueError, Refresh};

struct World {
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

fn world(text: &str) -> World {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    fs::write(&path, text).expect("a file");
    let value = FileValue::load(vec![path.clone()], make).expect("a value");
    World {
        _directory: directory,
        path,
        value,
    }
}

#[test]
fn a_change_of_the_same_length_in_the_same_moment_is_seen() {
    let world = world("one");
    assert_eq!(world.value.refresh(), Refresh::Unchanged);
    for text in ["two", "six", "ten"] {
        fs::write(&world.path, text).expect("a file");
        assert_eq!(world.value.refresh(), Refresh::Changed);
        assert_eq!(*world.value.get(), text);
        assert_eq!(world.value.refresh(), Refresh::Unchanged);
    }
}

#[test]
fn a_bad_file_is_said_once_and_the_old_value_stays() {
    let world = world("one");
    fs::write(&world.path, "bad1").expect("a file");
    assert_eq!(
        world.value.refresh(),
        Refresh::Failed("bad1 is bad".to_owned())
    );
    assert_eq!(world.value.refresh(), Refresh::Unchanged);
    assert_eq!(*world.value.get(), "one");
    fs::write(&world.path, "bad2").expect("a file");
    assert_eq!(
        world.value.refresh(),
        Refresh::Failed("bad2 is bad".to_owned())
    );
    fs::write(&world.path, "two").expect("a file");
    assert_eq!(world.value.refresh(), Refresh::Changed);
    assert_eq!(*world.value.get(), "two");
}

#[test]
fn a_deleted_file_is_said_once_and_may_come_back() {
    let world = world("one");
    fs::remove_file(&world.path).expect("a file");
    let Refresh::Failed(failure) = world.value.refresh() else {
        panic!("a deleted file is a failure");
    };
    assert!(
        failure.starts_with("read ") && failure.contains("No such file"),
        "{failure}"
    );
    assert_eq!(world.value.refresh(), Refresh::Unchanged);
    assert_eq!(*world.value.get(), "one");
    fs::write(&world.path, "two").expect("a file");
    assert_eq!(world.value.refresh(), Refresh::Changed);
    assert_eq!(*world.value.get(), "two");
}

#[test]
fn the_same_failure_is_said_again_after_the_value_was_back() {
    let world = world("one");
    for _ in 0..2 {
        fs::write(&world.path, "bad").expect("a file");
        assert_eq!(
            world.value.refresh(),
            Refresh::Failed("bad is bad".to_owned())
        );
        fs::write(&world.path, "one").expect("a file");
        assert_eq!(world.value.refresh(), Refresh::Unchanged);
        assert_eq!(*world.value.get(), "one");
    }
}

#[test]
fn there_is_no_value_without_files() {
    let missing = FileValue::load(vec![PathBuf::from("/nonexistent/x")], make);
    assert!(matches!(missing, Err(FileValueError::Read { .. })));
}
