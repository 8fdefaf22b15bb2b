//! Hostile and odd layers, the trees that they give, and the trees that containerd makes of them.
//!
//! `trees/NAME.txt` is what the store unpacks, or its error. `trees/NAME.containerd.txt` was recorded with containerd's archive
//! package (v2.4.2) from the same bytes: with `KILN_DUMP_LAYERS=DIRECTORY` the test writes them as `DIRECTORY/NAME/N.tar`.

mod build;
mod cases;
mod limits;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use kiln_store::{UnpackLimits, Unpacker};

use cases::{Case, cases};

/// The entries of a directory: type, mode, path, and content or target.
pub(crate) fn tree(root: &Path) -> String {
    let mut lines = Vec::new();
    walk(root, "", &mut lines);
    lines.concat()
}

fn walk(directory: &Path, path: &str, lines: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap().as_encoded_bytes().escape_ascii();
        let path = format!("{path}/{name}");
        let metadata = fs::symlink_metadata(&entry).unwrap();
        let mode = metadata.mode() & 0o7777;
        if metadata.is_symlink() {
            let target = fs::read_link(&entry).unwrap();
            let target = target.as_os_str().as_encoded_bytes().escape_ascii();
            lines.push(format!("link {path} -> {target}\n"));
        } else if metadata.is_dir() {
            lines.push(format!("directory {mode:o} {path}\n"));
            walk(&entry, &path, lines);
        } else {
            lines.push(format!(
                "file {mode:o} {path} {}\n",
                content(&entry, &metadata)
            ));
        }
    }
}

/// Size, number of names, and the runs of bytes that are not zero.
fn content(path: &Path, metadata: &fs::Metadata) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = format!("{} bytes, {} names:", bytes.len(), metadata.nlink());
    for run in bytes.split(|byte| *byte == 0).filter(|run| !run.is_empty()) {
        let shown = &run[..run.len().min(20)];
        text += &format!(" \"{}\"", shown.escape_ascii());
    }
    text
}

/// A directory with a root for layers beside files that no layer may touch.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir_all(path.join("outer/root")).unwrap();
        for canary in ["x", "passwd", "outer/x", "outer/passwd"] {
            fs::write(path.join(canary), "canary").unwrap();
            fs::set_permissions(path.join(canary), fs::Permissions::from_mode(0o640)).unwrap();
        }
        Place { directory }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("outer/root")
    }

    /// Everything but the root.
    fn outside(&self) -> String {
        let all = tree(self.directory.path());
        let is_outside = |line: &&str| !line.contains(" /outer/root");
        all.lines()
            .filter(is_outside)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The tree of a case, or its error.
fn unpack(case: &Case) -> String {
    let place = Place::new();
    let before = place.outside();
    let mut unpacker = Unpacker::new(&place.root(), UnpackLimits::default()).unwrap();
    let mut outcome = Ok(());
    for layer in &case.layers {
        outcome = outcome.and_then(|()| unpacker.apply(&mut layer.as_slice(), layer.len() as u64));
    }
    let text = match outcome {
        Ok(()) => tree(&place.root()),
        Err(error) => {
            let source = std::error::Error::source(&error).unwrap();
            format!("error: {error}: {source}\n")
        }
    };
    assert_eq!(
        place.outside(),
        before,
        "{} changed files outside",
        case.name
    );
    text
}

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/trees")
}

#[test]
fn layers_give_the_recorded_trees() {
    let mut differing = Vec::new();
    for case in cases() {
        if let Some(dump) = std::env::var_os("KILN_DUMP_LAYERS") {
            let directory = Path::new(&dump).join(case.name);
            fs::create_dir_all(&directory).unwrap();
            for (index, layer) in case.layers.iter().enumerate() {
                fs::write(directory.join(format!("{index}.tar")), layer).unwrap();
            }
        }
        let actual = unpack(&case);
        let path = trees().join(format!("{}.txt", case.name));
        if std::env::var_os("KILN_UPDATE_TREES").is_some() {
            fs::write(&path, &actual).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if actual != expected {
            differing.push(format!(
                "{}\nexpected:\n{expected}actual:\n{actual}",
                case.name
            ));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// The cases in which the store deliberately differs from containerd.
const DIFFERENCES: &[(&str, &str)] = &[
    ("damaged-cut-in-padding", "a truncated archive is an error"),
    ("gnu-long-name-and-pax", "the PAX name wins"),
    (
        "gnu-two-long-names",
        "repeated extension headers are an error",
    ),
    ("hard-link-to-symlink", "a hard link to a link is an error"),
    ("link-chain", "a missing directory before .. is created"),
    ("name-dot-file", "the root is not a file"),
    ("name-empty", "an empty name is an error"),
    ("name-parent", "a name with .. is an error"),
    ("name-parent-inside", "a name with .. is an error"),
    (
        "opaque-after-entries",
        "what the layer itself brought stays",
    ),
    ("opaque-missing", "a whiteout creates no directory"),
    ("pax-extended-attribute", "extended attributes are not kept"),
    ("pax-repeated-record", "repeated records are an error"),
    ("pax-too-large", "extension data is limited"),
    ("pax-two-headers", "repeated extension headers are an error"),
    (
        "pax-without-entry",
        "an extension header without an entry is an error",
    ),
    ("sparse-old", "old sparse files are unpacked"),
    ("type-contiguous", "a contiguous file is a file"),
    ("whiteout-after-directory", "an entry wins over a whiteout"),
    ("whiteout-after-entry", "an entry wins over a whiteout"),
    ("whiteout-after-file", "an entry wins over a whiteout"),
    ("whiteout-missing", "a whiteout creates no directory"),
    (
        "whiteout-out-through-link",
        "a whiteout creates no directory",
    ),
    ("whiteout-same-layer-only", "an entry wins over a whiteout"),
];

/// What a tree of containerd has in common with ours: no devices, no setuid, and everything can be read by its owner. An error
/// has any text.
fn comparable(tree: &str) -> String {
    let mut lines = String::new();
    for line in tree.lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words.as_slice() {
            ["error:", ..] => return "error".to_owned(),
            ["device" | "fifo", ..] => {}
            [kind @ ("file" | "directory"), mode, rest] => {
                let mode = u32::from_str_radix(mode, 8).unwrap() & 0o777;
                let readable = if *kind == "file" { 0o400 } else { 0o700 };
                lines += &format!("{kind} {:o} {rest}\n", mode | readable);
            }
            _ => lines += &format!("{line}\n"),
        }
    }
    lines
}

#[test]
fn containerd_makes_the_same_trees() {
    for case in cases() {
        let read = |suffix: &str| {
            let path = trees().join(format!("{}{suffix}", case.name));
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let (own, containerd) = (
            comparable(&read(".txt")),
            comparable(&read(".containerd.txt")),
        );
        match DIFFERENCES.iter().find(|(name, _)| *name == case.name) {
            None => assert_eq!(own, containerd, "{}", case.name),
            Some((name, reason)) => assert_ne!(own, containerd, "{name}: {reason}"),
        }
    }
}

#[test]
fn every_recorded_tree_has_its_case() {
    let names: Vec<&str> = cases().iter().map(|case| case.name).collect();
    for entry in fs::read_dir(trees()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".txt").unwrap();
        let name = name.strip_suffix(".containerd").unwrap_or(name);
        assert!(names.contains(&name), "no case is named {name}");
    }
}

/// A layer that cannot be unpacked, after a part of it was.
pub(crate) fn hostile_layer() -> Vec<u8> {
    let layer = build::Layer::default();
    layer.file("first", "x").file("../x", "x").end()
}
