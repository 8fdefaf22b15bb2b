//! Which paths and files a package accepts.

use super::path::PathProblem;
use super::{Contents, ContentsError, FileMode, PackageFile, PackagePath};
use kiln_krm::package::{FileAction, FileChange};

#[test]
fn unsafe_paths_are_refused() {
    for (path, problem) in [
        ("", PathProblem::Empty),
        ("/foo", PathProblem::Absolute),
        ("/tmp/foo", PathProblem::Absolute),
        ("../foo", PathProblem::Outside),
        ("a/../foo", PathProblem::Outside),
        ("a/..", PathProblem::Outside),
        ("./foo", PathProblem::NotClean),
        ("a//b", PathProblem::NotClean),
        ("a/", PathProblem::NotClean),
        ("a\\b", PathProblem::Backslash),
        ("a\0b", PathProblem::ControlCharacter),
        ("a\nb", PathProblem::ControlCharacter),
        (".git/config", PathProblem::GitDirectory),
        ("a/.GiT/hooks/post-update", PathProblem::GitDirectory),
        (".git. ./config", PathProblem::GitDirectory),
        ("git~1/config", PathProblem::GitDirectory),
        (".g\u{200c}it/config", PathProblem::GitDirectory),
        (".git::$INDEX_ALLOCATION/config", PathProblem::GitDirectory),
    ] {
        let error = PackagePath::new(path).expect_err(path);
        assert_eq!(error.problem, problem, "{path:?}");
    }
    for path in [
        "foo",
        "tmp/foo",
        ".gitignore",
        "a/.github/x",
        "..a",
        "a b",
        "ä",
        "-x",
        "a:b",
    ] {
        assert_eq!(PackagePath::new(path).expect(path).as_str(), path);
    }
    assert!(PackagePath::new("x".repeat(4096)).is_err());
}

#[test]
fn nothing_is_both_file_and_directory() {
    let mut contents = Contents::new();
    contents.insert_text("a/b/c", "x").expect("a new file");
    let both = |path: &str| Err(ContentsError::FileAndDirectory(path.to_owned()));
    assert_eq!(contents.insert_text("a", "x"), both("a"));
    assert_eq!(contents.insert_text("a/b", "x"), both("a/b"));
    assert_eq!(contents.insert_text("a/b/c/d", "x"), both("a/b/c"));
    contents.insert_text("a-", "x").expect("another name");
    contents.insert_text("a/b0", "x").expect("another name");
}

#[test]
fn changes_keep_modes_and_never_write_through_links() {
    let mut contents = Contents::new();
    let file = |mode| PackageFile {
        bytes: b"old".as_slice().into(),
        mode,
    };
    let path = |path: &str| PackagePath::new(path).expect("a good path");
    contents
        .insert(path("run.sh"), file(FileMode::Executable))
        .expect("a new file");
    contents
        .insert(path("link.yaml"), file(FileMode::Symlink))
        .expect("a new file");
    assert_eq!(contents.to_files_below("").iter().count(), 1);
    let write = |path: &str| FileChange {
        path: path.to_owned(),
        action: FileAction::Write(b"new".to_vec()),
    };
    let changes = [write("run.sh"), write("link.yaml")];
    contents.apply(&changes).expect("good paths");
    assert_eq!(
        contents.get("run.sh").map(|file| file.mode),
        Some(FileMode::Executable)
    );
    assert_eq!(
        contents.get("link.yaml"),
        Some(&PackageFile::regular("new"))
    );
    assert!(contents.apply(&[write("../x")]).is_err());
}
