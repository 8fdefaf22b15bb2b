//! Hostile and odd layers.

use super::build::{GNU, Header, Layer, put, record, seal};

/// Layers of an image, lowest first, and a name.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) layers: Vec<Vec<u8>>,
}

fn layer() -> Layer {
    Layer::default()
}

fn case(name: &'static str, layers: impl IntoIterator<Item = Layer>) -> Case {
    Case {
        name,
        layers: layers.into_iter().map(Layer::end).collect(),
    }
}

/// A lower layer with a directory `d` of three entries, and a link to it.
fn lower() -> Layer {
    layer()
        .directory("d/")
        .file("d/a", "lower a")
        .directory("d/sub/")
        .file("d/sub/b", "lower b")
        .symlink("link", "d")
}

/// An old GNU sparse file: data at 1024 and 4096, size 8192.
fn old_sparse(size: u64) -> Layer {
    let header = Header {
        name: b"sparse",
        kind: b'S',
        size: 8,
        magic: GNU,
        ..Header::default()
    };
    let mut block = header.block();
    for (index, offset) in [1024_u64, 4096].into_iter().enumerate() {
        let at = 386 + index * 24;
        put(&mut block, at, format!("{offset:011o}\0").as_bytes());
        put(&mut block, at + 12, b"00000000004\0");
    }
    put(&mut block, 483, format!("{size:011o}\0").as_bytes());
    seal(&mut block);
    let mut data = b"datamore".to_vec();
    data.resize(512, 0);
    layer().raw(&block).raw(&data)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = names();
    all.extend(links());
    all.extend(whiteouts());
    all.extend(types());
    all.extend(extensions());
    all.extend(sparse());
    all.extend(damaged());
    all
}

fn names() -> Vec<Case> {
    let long = "n".repeat(90);
    let header = |name: &'static [u8]| Header {
        name,
        ..Header::default()
    };
    vec![
        case("name-parent", [layer().file("../x", "x")]),
        case("name-parent-inside", [layer().file("a/../../x", "x")]),
        case("name-absolute", [layer().file("/x", "x")]),
        case("name-double-slash", [layer().file("//a//.//b", "x")]),
        case("name-dot", [layer().special("./", b'5', 0o700, "")]),
        case("name-dot-file", [layer().file(".", "x")]),
        case("name-empty", [layer().entry(&header(b""), b"")]),
        case(
            "name-unicode-forms",
            [layer()
                .file("\u{e9}", "composed")
                .file("e\u{301}", "decomposed")],
        ),
        case(
            "name-not-utf8",
            [layer().entry(&header(b"\xff\xfe x"), b"")],
        ),
        case("name-newline", [layer().entry(&header(b"a\nb\\c"), b"")]),
        case(
            "name-component-too-long",
            [layer()
                .long(b'L', "n".repeat(256).as_bytes())
                .file("x", "x")],
        ),
        case(
            "name-component-longest",
            [layer()
                .long(b'L', "n".repeat(255).as_bytes())
                .file("x", "x")],
        ),
        case(
            "name-path-too-long",
            [layer()
                .long(b'L', format!("{long}/").repeat(46).as_bytes())
                .file("x", "x")],
        ),
        case(
            "name-10000-levels",
            [layer()
                .long(b'L', "d/".repeat(10_000).as_bytes())
                .directory("x")],
        ),
        case(
            "name-old-directory",
            [layer().special("old/", 0, 0o755, "").file("old/x", "x")],
        ),
        case("name-file-with-slash", [layer().file("file/", "x")]),
    ]
}

fn links() -> Vec<Case> {
    vec![
        case(
            "link-absolute-then-file",
            [layer().symlink("e", "/etc").file("e/x", "inside")],
        ),
        case(
            "link-parent-then-file",
            [layer()
                .symlink("e", "../../../../tmp")
                .file("e/x", "inside")],
        ),
        case(
            "link-chain",
            [layer()
                .symlink("a", "b")
                .symlink("b", "/c/../d")
                .symlink("d", "e/f")
                .file("a/x", "inside")],
        ),
        case(
            "link-loop",
            [layer().symlink("a", "b").symlink("b", "a").file("a/x", "x")],
        ),
        case(
            "link-proc-self-root",
            [layer()
                .symlink("r", "/proc/self/root")
                .file("r/x", "inside")],
        ),
        case(
            "link-dangling-parent",
            [layer()
                .directory("var/")
                .symlink("var/run", "/run")
                .file("var/run/pid", "1")],
        ),
        case(
            "link-merged-usr",
            [
                layer()
                    .directory("usr/")
                    .directory("usr/lib/")
                    .symlink("lib", "usr/lib"),
                layer().file("lib/libc.so", "library"),
            ],
        ),
        case(
            "link-replaced-by-directory",
            [
                layer().directory("usr/lib/").symlink("lib", "usr/lib"),
                layer().directory("lib/").file("lib/x", "own"),
            ],
        ),
        case(
            "link-overwritten-by-file",
            [
                layer().file("target", "kept").symlink("l", "target"),
                layer().file("l", "new"),
            ],
        ),
        case(
            "link-chmod-through",
            [
                layer().directory("d/").symlink("l", "d"),
                layer().special("l", b'5', 0o700, ""),
            ],
        ),
        case(
            "link-replaces-directory",
            [lower(), layer().symlink("d", "/tmp").file("d/x", "inside")],
        ),
        case("link-empty", [layer().symlink("l", "")]),
        case(
            "link-any-text",
            [layer().symlink("l", "../../..//etc/ \u{7f}x")],
        ),
        case(
            "hard-link",
            [layer().file("a", "content").hard_link("b", "a")],
        ),
        case(
            "hard-link-absolute",
            [layer().file("a", "content").hard_link("d/b", "/a")],
        ),
        case(
            "hard-link-lower-layer",
            [layer().file("a", "content"), layer().hard_link("b", "./a")],
        ),
        case(
            "hard-link-and-whiteout",
            [
                layer().file("a", "content"),
                layer().hard_link("b", "a").file(".wh.a", ""),
            ],
        ),
        case(
            "hard-link-etc-passwd",
            [layer().hard_link("b", "/etc/passwd")],
        ),
        case(
            "hard-link-parent",
            [layer().hard_link("b", "../../etc/passwd")],
        ),
        case(
            "hard-link-through-link",
            [layer()
                .file("d/a", "content")
                .symlink("l", "/d")
                .hard_link("b", "l/a")],
        ),
        case(
            "hard-link-out-through-link",
            [layer()
                .symlink("l", "../../../etc")
                .hard_link("b", "l/passwd")],
        ),
        case(
            "hard-link-to-symlink",
            [layer().symlink("l", "/etc/passwd").hard_link("b", "l")],
        ),
        case(
            "hard-link-to-itself",
            [layer().file("a", "x").hard_link("a", "a")],
        ),
        case(
            "hard-link-to-directory",
            [layer().directory("d/").hard_link("b", "d")],
        ),
        case(
            "hard-link-then-file",
            [
                layer().file("a", "content").hard_link("b", "a"),
                layer().file("b", "other"),
            ],
        ),
    ]
}

fn whiteouts() -> Vec<Case> {
    vec![
        case("whiteout-file", [lower(), layer().file("d/.wh.a", "")]),
        case("whiteout-directory", [lower(), layer().file(".wh.d", "")]),
        case("whiteout-missing", [lower(), layer().file("no/.wh.x", "")]),
        case("whiteout-link", [lower(), layer().file(".wh.link", "")]),
        case(
            "whiteout-through-link",
            [lower(), layer().file("link/.wh.a", "")],
        ),
        case(
            "whiteout-out-through-link",
            [
                layer().symlink("out", "../../../etc"),
                layer().file("out/.wh.passwd", ""),
            ],
        ),
        case(
            "whiteout-then-entry",
            [lower(), layer().file(".wh.d", "").file("d/new", "new")],
        ),
        case(
            "whiteout-after-entry",
            [lower(), layer().file("d/new", "new").file(".wh.d", "")],
        ),
        case(
            "whiteout-after-file",
            [lower(), layer().file("d/a", "new").file("d/.wh.a", "")],
        ),
        case(
            "whiteout-after-directory",
            [
                lower(),
                layer().special("d/", b'5', 0o711, "").file(".wh.d", ""),
            ],
        ),
        case(
            "whiteout-same-layer-only",
            [layer().file("a", "x").file(".wh.a", "")],
        ),
        case("opaque", [lower(), layer().file("d/.wh..wh..opq", "")]),
        case(
            "opaque-with-entries",
            [
                lower(),
                layer()
                    .directory("d/")
                    .file("d/.wh..wh..opq", "")
                    .file("d/sub/c", "own c"),
            ],
        ),
        case(
            "opaque-after-entries",
            [
                lower(),
                layer()
                    .directory("d/")
                    .file("d/sub/c", "own c")
                    .file("d/.wh..wh..opq", ""),
            ],
        ),
        case(
            "opaque-through-link",
            [
                lower(),
                layer().file("link/.wh..wh..opq", "").file("link/x", "own"),
            ],
        ),
        case(
            "opaque-out-through-link",
            [
                layer().symlink("out", "../../.."),
                layer().file("out/.wh..wh..opq", ""),
            ],
        ),
        case("opaque-missing", [layer().file("no/.wh..wh..opq", "")]),
        case(
            "whiteout-meta",
            [
                lower(),
                layer().file("d/.wh..wh.plnk", "").file(".wh..wh.aufs", ""),
            ],
        ),
        case("whiteout-of-nothing", [lower(), layer().file("d/.wh.", "")]),
        case("whiteout-of-dot", [lower(), layer().file("d/.wh..", "")]),
        case(
            "whiteout-of-parent",
            [lower(), layer().file("d/.wh...", "")],
        ),
        case(
            "whiteout-of-three-dots",
            [layer().file("d/...", "x"), layer().file("d/.wh....", "")],
        ),
        case(
            "whiteout-in-parent-name",
            [layer().file("d/.wh.x/y", "content")],
        ),
    ]
}

fn types() -> Vec<Case> {
    vec![
        case(
            "type-devices",
            [layer()
                .special("dev/null", b'3', 0o666, "")
                .special("dev/sda", b'4', 0o660, "")],
        ),
        case("type-fifo", [layer().special("pipe", b'6', 0o644, "")]),
        case(
            "type-device-over-file",
            [
                layer().file("x", "x"),
                layer().special("x", b'3', 0o666, ""),
            ],
        ),
        case("type-unknown", [layer().special("x", b'V', 0o644, "")]),
        case("type-contiguous", [layer().special("x", b'7', 0o644, "")]),
        case(
            "mode-setuid",
            [layer()
                .file_with_mode("suid", 0o4755, b"x")
                .file_with_mode("sgid", 0o2755, b"x")
                .special("tmp/", b'5', 0o1777, "")],
        ),
        case(
            "mode-unreadable",
            [layer()
                .special("d/", b'5', 0o000, "")
                .file_with_mode("d/x", 0o000, b"x")],
        ),
        case(
            "directory-twice",
            [
                layer().special("d/", b'5', 0o777, "").file("d/a", "a"),
                layer().special("d/", b'5', 0o750, "").file("d/b", "b"),
            ],
        ),
        case(
            "directory-over-file",
            [
                layer().file("x", "x"),
                layer().directory("x/").file("x/y", "y"),
            ],
        ),
        case(
            "file-over-directory",
            [lower(), layer().file("d", "now a file")],
        ),
        case(
            "file-as-parent",
            [layer().file("x", "x"), layer().file("x/y", "y")],
        ),
        case(
            "duplicate-types",
            [layer()
                .file("x", "first")
                .directory("x/")
                .file("x/y", "y")
                .symlink("x", "/etc")
                .file("x", "last")],
        ),
        case(
            "duplicate-after-hard-link",
            [layer()
                .file("a", "first")
                .hard_link("b", "a")
                .file("a", "second")],
        ),
        case("mode-implied-parents", [layer().file("a/b/c", "x")]),
    ]
}

fn extensions() -> Vec<Case> {
    let name = "long/".repeat(30) + "name";
    let file = |layer: Layer, size: u64, data: &[u8]| {
        let header = Header {
            name: b"short",
            size,
            ..Header::default()
        };
        layer.entry(&header, data)
    };
    let capability = "\u{1}\u{0}\u{0}\u{2}";
    vec![
        case(
            "pax-path",
            [layer().pax(&[("path", &name)]).file("short", "x")],
        ),
        case(
            "pax-linkpath",
            [layer()
                .pax(&[("linkpath", "t/".repeat(80).as_str())])
                .symlink("l", "short")],
        ),
        case(
            "pax-size",
            [file(layer().pax(&[("size", "600")]), 3, &[b'y'; 600]).file("next", "x")],
        ),
        case(
            "pax-size-smaller",
            [file(layer().pax(&[("size", "3")]), 600, b"yyy").file("next", "x")],
        ),
        case(
            "pax-size-invalid",
            [file(layer().pax(&[("size", "-1")]), 3, b"abc")],
        ),
        case(
            "pax-path-nul",
            [layer().pax(&[("path", "a\0b")]).file("short", "x")],
        ),
        case(
            "pax-two-headers",
            [layer()
                .pax(&[("path", "first")])
                .pax(&[("mtime", "1")])
                .file("short", "x")],
        ),
        case(
            "pax-repeated-record",
            [layer()
                .pax(&[("path", "first"), ("path", "second")])
                .file("short", "x")],
        ),
        case(
            "pax-malformed",
            [layer().pax_data(b"5 a=b\n99 c=d\n").file("short", "x")],
        ),
        case(
            "pax-without-entry",
            [layer().file("a", "x").pax(&[("path", "p")])],
        ),
        case(
            "pax-global",
            [layer()
                .entry(
                    &Header {
                        name: b"global",
                        kind: b'g',
                        size: record("path", b"global").len() as u64,
                        ..Header::default()
                    },
                    &record("path", b"global"),
                )
                .file("own", "x")],
        ),
        case(
            "pax-too-large",
            [layer()
                .pax(&[("comment", "c".repeat(70_000).as_str())])
                .file("short", "x")],
        ),
        case(
            "pax-extended-attribute",
            [layer()
                .pax(&[("SCHILY.xattr.security.capability", capability)])
                .file_with_mode("program", 0o755, b"x")],
        ),
        case(
            "gnu-long-name",
            [layer().long(b'L', name.as_bytes()).file("short", "x")],
        ),
        case(
            "gnu-long-link",
            [layer().long(b'K', b"a/long/target").symlink("l", "short")],
        ),
        case(
            "gnu-long-name-and-pax",
            [layer()
                .long(b'L', b"gnu-name")
                .pax(&[("path", "pax-name")])
                .file("short", "x")],
        ),
        case(
            "gnu-two-long-names",
            [layer()
                .long(b'L', b"one")
                .long(b'L', b"two")
                .file("short", "x")],
        ),
    ]
}

fn sparse() -> Vec<Case> {
    let file = |layer: Layer, data: &[u8]| {
        let header = Header {
            name: b"GNUSparseFile.0/sparse",
            size: data.len() as u64,
            ..Header::default()
        };
        layer.entry(&header, data)
    };
    let listed = |size: &str| {
        layer().pax(&[
            ("GNU.sparse.major", "0"),
            ("GNU.sparse.minor", "1"),
            ("GNU.sparse.name", "sparse"),
            ("GNU.sparse.size", size),
            ("GNU.sparse.numblocks", "2"),
            ("GNU.sparse.map", "1024,4,4096,4"),
        ])
    };
    let mut in_data = b"2\n1024\n4\n4096\n4\n".to_vec();
    in_data.resize(512, 0);
    in_data.extend(b"datamore");
    vec![
        case("sparse-old", [old_sparse(8192).file("next", "x")]),
        case("sparse-old-1-tib", [old_sparse(1 << 32)]),
        case(
            "sparse-0.0",
            [file(
                layer().pax(&[
                    ("GNU.sparse.size", "8192"),
                    ("GNU.sparse.numblocks", "2"),
                    ("GNU.sparse.offset", "1024"),
                    ("GNU.sparse.numbytes", "4"),
                    ("GNU.sparse.offset", "4096"),
                    ("GNU.sparse.numbytes", "4"),
                ]),
                b"datamore",
            )
            .file("next", "x")],
        ),
        case(
            "sparse-0.1",
            [file(listed("8192"), b"datamore").file("next", "x")],
        ),
        case(
            "sparse-1.0",
            [file(
                layer().pax(&[
                    ("GNU.sparse.major", "1"),
                    ("GNU.sparse.minor", "0"),
                    ("GNU.sparse.name", "sparse"),
                    ("GNU.sparse.realsize", "8192"),
                ]),
                &in_data,
            )
            .file("next", "x")],
        ),
        case("sparse-1-tib", [file(listed("1099511627776"), b"datamore")]),
        case("sparse-outside", [file(listed("4097"), b"datamore")]),
        case("sparse-too-much-data", [file(listed("8192"), b"datamore+")]),
    ]
}

fn damaged() -> Vec<Case> {
    let whole = || layer().file("a", "first").file("b", "second");
    let bytes = |name, bytes: Vec<u8>| Case {
        name,
        layers: vec![bytes],
    };
    let mut wrong_sum = whole().end();
    wrong_sum[1030] ^= 1;
    let mut trailing = whole().end();
    trailing.extend(layer().file("after", "the end").end());
    let cut = |length: usize| {
        let mut bytes = whole().end();
        bytes.truncate(length);
        bytes
    };
    vec![
        bytes("damaged-checksum", wrong_sum),
        bytes("damaged-cut-in-header", cut(1100)),
        bytes("damaged-cut-in-data", cut(515)),
        bytes("damaged-cut-in-padding", cut(600)),
        bytes("no-end", whole().unfinished()),
        bytes("no-bytes", Vec::new()),
        bytes("trailing-archive", trailing),
        bytes("one-block-of-zeros", {
            let mut bytes = whole().unfinished();
            bytes.extend([0; 512]);
            bytes
        }),
        bytes("zeros-then-entry", {
            let mut bytes = whole().unfinished();
            bytes.extend([0; 512]);
            bytes.extend(layer().file("c", "x").end());
            bytes
        }),
        bytes("garbage", vec![b'x'; 2000]),
    ]
}
