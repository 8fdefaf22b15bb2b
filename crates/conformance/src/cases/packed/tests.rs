//! Packing and unpacking trees.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{Args, run, unpack, unpack_directory};

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).expect("below");
            let bytes = fs::read(&path).expect("readable");
            files.insert(name.display().to_string(), bytes);
        }
    }
    files
}

#[test]
fn a_packed_tree_unpacks_to_the_same_files() {
    let top = TempDir::new().expect("made");
    let tree = top.path().join("tree");
    let contents: [(&str, &[u8]); 5] = [
        ("commands.yaml", b"one:\n  run: [true]\n"),
        ("one/Kptfile", b"no line end"),
        ("one/sub/latin1.yaml", b"caf\xe9\r\n"),
        ("one/.expected/config.yaml", b""),
        ("below/two/.expected/config.yaml", b"exitCode: 1\n"),
    ];
    for (name, bytes) in contents {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, bytes).expect("written");
    }
    let packed = top.path().join("recorded/cases.jsonl");
    fs::create_dir(packed.with_file_name("")).expect("made");
    let args = Args {
        tree: tree.clone(),
        out: packed.clone(),
    };
    run(&args).expect("packed");
    let lines = fs::read_to_string(&packed).expect("text");
    assert_eq!(lines.lines().count(), 3, "{lines}");
    let unpacked = unpack(&packed).expect("unpacked");
    assert_eq!(files(&unpacked.path().join("recorded/cases")), files(&tree));
}

#[test]
fn a_packed_tree_writes_nothing_outside_its_directory() {
    let top = TempDir::new().expect("made");
    for path in ["../escaped", "/tmp/escaped", "a/../../escaped"] {
        let line = format!(r#"{{"directory":"","files":{{"{path}":"x"}}}}"#);
        let error = unpack_directory(&line, &top.path().join("tree")).expect_err("refused");
        assert_eq!(error.to_string(), format!("{path} is outside the tree"));
    }
    assert!(files(top.path()).is_empty());
}
