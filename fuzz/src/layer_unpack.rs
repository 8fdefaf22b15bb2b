//! Layers of images, unpacked beside files that must not change.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kiln_oci::RunConfig;
use kiln_store::{UnpackLimits, Unpacker};

use crate::bounded;

const LIMITS: UnpackLimits = UnpackLimits {
    image_bytes: 1 << 20,
    file_bytes: 256 << 10,
    entries: 200,
    depth: 20,
    ratio: 200,
};

/// What unpacking may take: buffers, and what is known about each entry.
const BYTES: usize = 8 << 20;

/// Names that lead somewhere.
const NAMES: [&str; 16] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "../canary",
    "/canary",
    "a/../../canary",
    ".wh.a",
    ".wh..wh..opq",
    "a/.wh..wh..opq",
    "a/.wh.b",
    ".wh...",
    ".",
    "b/canary",
    "/",
    "a//./b",
];

const TARGETS: [&str; 12] = [
    "a",
    "b",
    "..",
    "../..",
    "/",
    "../canary",
    "/canary",
    "a/b",
    "/proc/self/root",
    ".",
    "../../outer",
    "b/../..",
];

const TYPES: [u8; 12] = *b"0000551122xL";

/// Layers that are made of the input, or are the input, leave everything outside of the root as it is and exceed no limit.
pub fn layer_unpack(input: &[u8]) {
    let (Some(kind), rest) = (input.first(), input.get(1..).unwrap_or_default()) else {
        return;
    };
    let run = config(rest);
    let layers = match kind % 4 {
        0 => vec![rest.to_vec()],
        _ => layers(rest),
    };
    let place = place();
    let root = place.join("outer/root");
    let _ = fs::remove_dir_all(&root);
    fs::create_dir(&root).expect("a new root");
    let before = outside(place);
    bounded::run(BYTES + 16 * input.len(), || {
        let mut unpacker = Unpacker::new(&root, LIMITS).expect("the root is there");
        for layer in &layers {
            if let Err(error) = unpacker.apply(&mut layer.as_slice(), layer.len() as u64) {
                assert!(!error.to_string().is_empty());
                return;
            }
        }
        if let Err(error) = unpacker.add_mount_points(&run) {
            assert!(!error.to_string().is_empty());
        }
    });
    assert_eq!(
        outside(place),
        before,
        "something outside of the root changed"
    );
    let mut found = Found::default();
    found.walk(&root, 0);
    assert!(found.entries <= LIMITS.entries);
    assert!(found.depth <= LIMITS.depth + 1);
    assert!(found.bytes <= LIMITS.image_bytes);
}

/// A directory of this process, with files beside the root.
fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = std::env::temp_dir().join(format!("kiln-fuzz-{}", std::process::id()));
        fs::create_dir_all(place.join("outer")).expect("a directory");
        for name in ["canary", "a", "outer/canary", "outer/a"] {
            let path = place.join(name);
            fs::write(&path, name).expect("a canary");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("its mode");
        }
        place
    })
}

/// Names, modes, owners, times and content of everything but the root.
fn outside(place: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for directory in [place.to_owned(), place.join("outer")] {
        for entry in fs::read_dir(&directory).expect("it can be listed") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("its metadata");
            let content = match metadata.is_file() {
                true => fs::read(&path).expect("its content"),
                false => Vec::new(),
            };
            // The root is new each time, which changes the time of its directory.
            let time = if metadata.is_file() {
                metadata.ctime_nsec()
            } else {
                0
            };
            let mode = if path.ends_with("root") {
                0
            } else {
                metadata.mode()
            };
            lines.push(format!("{} {mode:o} {time} {content:?}", path.display()));
        }
    }
    lines.sort();
    lines
}

#[derive(Default)]
struct Found {
    entries: u64,
    depth: u32,
    bytes: u64,
}

impl Found {
    fn walk(&mut self, directory: &Path, depth: u32) {
        self.depth = self.depth.max(depth);
        for entry in fs::read_dir(directory).expect("the owner can list it") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("its metadata");
            self.entries += 1;
            assert_eq!(
                metadata.mode() & 0o7000,
                0,
                "setuid, setgid and sticky are dropped"
            );
            if metadata.is_dir() {
                self.walk(&path, depth + 1);
            } else if metadata.is_file() {
                self.bytes += metadata.len() / metadata.nlink();
                fs::File::open(&path).expect("the owner can read it");
            } else {
                assert!(metadata.is_symlink(), "no devices and pipes");
            }
        }
    }
}

/// Paths that the config of an image chooses: names that lead somewhere, and deep ones.
fn config(input: &[u8]) -> RunConfig {
    let path = |byte: &u8| match byte % 5 {
        0 => "/a".repeat(usize::from(*byte)),
        _ => NAMES[usize::from(*byte) % NAMES.len()].to_owned(),
    };
    let mut paths = input.iter().rev().take(3).map(path);
    RunConfig {
        working_dir: paths.next().unwrap_or_default(),
        volumes: paths.collect(),
        ..RunConfig::default()
    }
}

/// Archives with valid checksums. Each entry takes a few bytes of the input: type, name, target, mode, size.
fn layers(input: &[u8]) -> Vec<Vec<u8>> {
    let mut layers = vec![Vec::new()];
    for entry in input.chunks(6) {
        let &[kind, name, target, mode, size, next] = entry else {
            break;
        };
        let kind = TYPES[usize::from(kind) % TYPES.len()];
        let name = match name.is_ascii_alphabetic() {
            // A short name of its own.
            true => char::from(name).to_string(),
            false => NAMES[usize::from(name) % NAMES.len()].to_owned(),
        };
        let target = TARGETS[usize::from(target) % TARGETS.len()];
        let data = match kind {
            b'x' => format!("{} path={target}\n", target.len() + 9).into_bytes(),
            b'L' => [target.as_bytes(), b"\0"].concat(),
            b'0' => vec![b'x'; usize::from(size)],
            _ => Vec::new(),
        };
        let layer = layers.last_mut().expect("there is one");
        layer.extend(header(kind, &name, target, mode, data.len()));
        layer.extend_from_slice(&data);
        layer.resize(layer.len().next_multiple_of(512), 0);
        if next % 8 == 0 {
            layers.push(Vec::new());
        }
    }
    layers
}

fn header(kind: u8, name: &str, target: &str, mode: u8, size: usize) -> [u8; 512] {
    let mut block = [0; 512];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, format!("{:07o}", u32::from(mode) * 16 + 7).as_bytes());
    put(124, format!("{size:011o}").as_bytes());
    put(136, b"00000000001");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, target.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}
