//! Whatever files a package has, git gives them back as they were.

use kiln_task::git::Location;
use kiln_task::{Contents, File, FileMode, OnRenderFailure, PackagePath, RepositoryConfig};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::steps::{draft, proposal};
use crate::world::{pull, world};

fn any_file() -> impl Strategy<Value = (String, File)> {
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
        (path, File { bytes, mode })
    })
}

#[test]
fn contents_survive_git() {
    let Some(world) = world() else { return };
    let repositories = world.repositories([RepositoryConfig::new("git", world.bare("repo"))]);
    let engine = world.engine(&repositories);
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
            // What is no path of a package, or clashes with another, is not what this is about.
            if let Ok(path) = PackagePath::new(path) {
                let _ = contents.insert(path, file);
            }
        }
        let (_, version) = pull(&engine, "git.p.v1");
        engine
            .push("git.p.v1", &contents, &version, OnRenderFailure::Refuse)
            .expect("it can be pushed");
        let (found, _) = pull(&engine, "git.p.v1");
        prop_assert_eq!(found, contents);
        Ok(())
    });
    checked.expect("all cases hold");
    world.git("repo", &["fsck", "--strict"]);
}

#[test]
fn a_repository_with_longer_ids_is_as_good() {
    let Some(world) = world() else { return };
    let made = world.try_git(
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
    let location = Location::Path(world.path("repo"));
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let engine = world.engine(&repositories);
    proposal(&engine, "git", "a/p", "v1");
    let number = engine.approve("git.a.p.v1", kiln_task::Overwrite::Refuse);
    assert_eq!(number.expect("it can be approved").as_i64(), 1);
    let (contents, version) = pull(&engine, "git.a.p.v1");
    assert!(contents.get("Kptfile").is_some() && version.len() == 64);
}
