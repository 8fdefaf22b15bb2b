//! Layers that would unpack to more than an image may have. They are generated while they are read.

use std::io::{self, Read};

use kiln_store::{UnpackError, UnpackLimits, UnpackProblem, Unpacker};

use super::build::{Header, Layer};

/// An endless layer: a beginning, and blocks that repeat.
struct Endless {
    pending: Vec<u8>,
    at: usize,
    next: Box<dyn FnMut() -> Vec<u8>>,
}

impl Endless {
    fn new(next: impl FnMut() -> Vec<u8> + 'static) -> Endless {
        Endless {
            pending: Vec::new(),
            at: 0,
            next: Box::new(next),
        }
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.pending.len() {
            self.pending = (self.next)();
            self.at = 0;
        }
        let rest = &self.pending[self.at..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

#[track_caller]
fn check(layer: &mut dyn Read, limits: UnpackLimits, expected: &str) {
    let root = tempfile::tempdir().unwrap();
    let mut unpacker = Unpacker::new(root.path(), limits).unwrap();
    let UnpackError { source, .. } = unpacker.apply(layer, 1000).unwrap_err();
    assert!(matches!(source, UnpackProblem::Limit { .. }), "{source}");
    assert_eq!(source.to_string(), expected);
}

fn small() -> UnpackLimits {
    UnpackLimits {
        image_bytes: 1 << 20,
        file_bytes: 512 << 10,
        entries: 1000,
        ..UnpackLimits::default()
    }
}

#[test]
fn endless_empty_files() {
    let mut number = 0;
    let mut layer = Endless::new(move || {
        number += 1;
        Layer::default()
            .file(&format!("f{number}"), "")
            .unfinished()
    });
    let limits = UnpackLimits {
        image_bytes: 1 << 30,
        ..small()
    };
    check(
        &mut layer,
        limits,
        "the image exceeds the limit of 1000 entries",
    );
}

#[test]
fn endless_implied_directories() {
    let mut number = 0;
    let mut layer = Endless::new(move || {
        number += 1;
        let name = format!("{number}/{}x", "d/".repeat(40));
        Layer::default().file(&name, "").unfinished()
    });
    check(
        &mut layer,
        small(),
        "the image exceeds the limit of 1000 entries",
    );
}

#[test]
fn endless_extension_headers() {
    let global = Header {
        name: b"global",
        kind: b'g',
        ..Header::default()
    };
    let mut layer = Endless::new(move || Layer::default().entry(&global, b"").unfinished());
    let expected = "the image exceeds the limit of 1048576 bytes in all layers";
    check(&mut layer, small(), expected);
}

#[test]
fn endless_data() {
    let header = Header {
        name: b"zeros",
        size: 1 << 30,
        ..Header::default()
    };
    let mut pending = Some(header.block().to_vec());
    let mut layer = Endless::new(move || pending.take().unwrap_or_else(|| vec![0; 64 << 10]));
    let limits = UnpackLimits {
        file_bytes: 4 << 30,
        image_bytes: 8 << 30,
        ..UnpackLimits::default()
    };
    let expected = "the image exceeds the limit of 200 bytes for each packed byte of a layer";
    check(&mut layer, limits, expected);
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_written() {
    let header = Header {
        name: b"large",
        size: 600 << 10,
        ..Header::default()
    };
    let mut layer = header.block().to_vec();
    layer.resize(2048, 0);
    let expected = "the image exceeds the limit of 524288 bytes for a file";
    check(&mut layer.as_slice(), small(), expected);
}

#[test]
fn files_of_several_layers_count_together() {
    let root = tempfile::tempdir().unwrap();
    let mut unpacker = Unpacker::new(root.path(), small()).unwrap();
    let layer = Layer::default()
        .file_with_mode("f", 0o644, &[b'x'; 400 << 10])
        .end();
    unpacker
        .apply(&mut layer.as_slice(), layer.len() as u64)
        .unwrap();
    unpacker
        .apply(&mut layer.as_slice(), layer.len() as u64)
        .unwrap();
    let error = unpacker.apply(&mut layer.as_slice(), layer.len() as u64);
    let UnpackError { source, .. } = error.unwrap_err();
    assert!(matches!(source, UnpackProblem::Limit { .. }), "{source}");
}

#[test]
fn links_do_not_hide_depth() {
    // Every link leads to the deepest directory so far; each path is short.
    let mut layer = Layer::default();
    let mut base = String::new();
    for number in 0..10 {
        let deep = format!("{base}{}", "d/".repeat(40));
        layer = layer.directory(&deep);
        let target = match base.is_empty() {
            true => "d/".repeat(40),
            false => format!("{base}{}", "d/".repeat(40)),
        };
        layer = layer.symlink(&format!("l{number}"), &format!("/{target}"));
        base = format!("l{number}/");
    }
    let layer = layer.end();
    let limits = UnpackLimits::default();
    let expected = "the image exceeds the limit of 256 levels of directories";
    check(&mut layer.as_slice(), limits, expected);
}

#[test]
fn directories_are_nested_at_most_256_deep() {
    let layer = |levels: usize| {
        let path = "d/".repeat(levels) + "x";
        Layer::default()
            .pax(&[("path", &path)])
            .file("x", "x")
            .end()
    };
    let root = tempfile::tempdir().unwrap();
    let mut unpacker = Unpacker::new(root.path(), UnpackLimits::default()).unwrap();
    let deepest = layer(256);
    unpacker.apply(&mut deepest.as_slice(), 1000).unwrap();
    let expected = "the image exceeds the limit of 256 levels of directories";
    check(
        &mut layer(257).as_slice(),
        UnpackLimits::default(),
        expected,
    );
}

/// Each whiteout used to list everything that the layer brought.
/// What this thread has taken of a processor.
fn processor_seconds() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name of the program, in parentheses, may contain blanks. User and system time are the fields 14 and 15.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum();
    ticks / 100
}

#[test]
fn repeated_whiteouts_take_no_longer_than_entries() {
    const COUNT: usize = 6_000;
    for whiteout in ["q/.wh..wh..opq", ".wh.q"] {
        let mut layer = Layer::default();
        for number in 0..COUNT {
            layer = layer.symlink(&format!("q/{number}"), "x");
        }
        for _ in 0..COUNT {
            layer = layer.file(whiteout, "");
        }
        let layer = layer.end();
        let root = tempfile::tempdir().unwrap();
        let mut unpacker = Unpacker::new(root.path(), UnpackLimits::default()).unwrap();
        let before = processor_seconds();
        let size = layer.len() as u64;
        unpacker.apply(&mut layer.as_slice(), size).unwrap();
        // It was more than a minute. Whatever else the machine does is not counted.
        let taken = processor_seconds() - before;
        assert!(taken < 20, "{taken} s");
        let kept = std::fs::read_dir(root.path().join("q")).unwrap();
        assert_eq!(kept.count(), COUNT, "{whiteout}");
    }
}
