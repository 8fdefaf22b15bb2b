//! Whatever files a package has, git gives them back as they were.

use kiln_task::git::RepositoryLocation;
use kiln_task::{Contents, FileMode, OnRenderFailure, PackageFile, PackagePath, RepositoryConfig};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{fixture, pull};
use crate::steps::{draft, proposal, push};

fn any_file() -> impl Strategy<Value = (String, PackageFile)> {
    let segment = "[a-z\"' $&;|*?<>~^äß😀.-]{1,6}";
    let path = proptest::collection::vec(segment, 1..4).prop_map(|segments| segments.join("/"));
    let mode = prop_oneof![
        Just(FileMode::Regular),
        Just(FileMode::Executable),
        Just(FileMode::Symlink)
    ];
    let bytes = proptest::collection::vec(any::<u8>(), 1..200);
    (path, bytes, mode).prop_map(|(path, bytes, mode)| {
        let bytes = bytes.into();
        (path, PackageFile { bytes, mode })
    })
}

#[test]
fn contents_survive_git() {
    let Some(fixture) = fixture() else { return };
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    let (kept, _) = pull(&engine, "git.p.v1");
    let files = proptest::collection::vec(any_file(), 0..30);
    // Every case starts a dozen processes.
    let config = Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    };
    let checked = TestRunner::new(config).run(&files, |files| {
        let mut contents = Contents::new();
        contents
            .insert_text("Kptfile", kept.bytes("Kptfile").unwrap_or_default())
            .expect("a good path");
        for (path, file) in files {
            // Paths that are not in a package, or clash with another, are not tested here.
            if let Ok(path) = PackagePath::new(path) {
                let _ = contents.insert(path, file);
            }
        }
        let (_, version) = pull(&engine, "git.p.v1");
        push(
            &engine,
            "git.p.v1",
            &contents,
            &version,
            OnRenderFailure::Refuse,
        )
        .expect("it can be pushed");
        let (found, _) = pull(&engine, "git.p.v1");
        prop_assert_eq!(found, contents);
        Ok(())
    });
    checked.expect("all cases hold");
    fixture.git("repo", &["fsck", "--strict"]);
}

#[test]
fn a_repository_with_sha256_works_as_well() {
    let Some(fixture) = fixture() else { return };
    let made = fixture.try_git(
        "",
        &[
            "init",
            "--quiet",
            "--bare",
            "-b",
            "main",
            "--object-format=sha256",
            "repo",
        ],
    );
    assert!(made.status.success(), "git is older than object formats");
    let location = RepositoryLocation::Path(fixture.path("repo"));
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "a/p", "v1");
    let number = engine.approve("git.a.p.v1", kiln_task::ApproveOverwrite::Refuse);
    assert_eq!(number.expect("it can be approved").as_i64(), 1);
    let (contents, version) = pull(&engine, "git.a.p.v1");
    assert!(contents.get("Kptfile").is_some() && version.len() == 64);
}
