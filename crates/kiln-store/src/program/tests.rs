//! Programs of images: where they are found, and their formats.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::OFlags;

use super::*;

fn root(path: &Path) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

fn add(root: &Path, path: &str, mode: u32, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn names_are_searched_in_the_path_of_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    add(path, "usr/bin/tool", 0o755, b"");
    add(path, "opt/tool", 0o755, b"");
    add(path, "bin/not-executable", 0o644, b"");
    add(path, "usr/bin/not-executable", 0o755, b"");
    add(path, "work/local", 0o755, b"");
    fs::create_dir_all(path.join("bin/directory")).unwrap();
    symlink("/usr/bin/tool", path.join("bin/link")).unwrap();
    symlink("/bin/sh", path.join("bin/out")).unwrap();
    let root = root(path);
    let run = |env: &[&str]| RunConfig {
        env: env.iter().map(ToString::to_string).collect(),
        working_dir: "/work/".to_owned(),
        ..RunConfig::default()
    };
    let check = |env: &[&str], program: &str, expected: Option<&str>| {
        let found = find_program(root.as_fd(), &run(env), program).unwrap();
        let found = found.map(|program| program.path);
        assert_eq!(found.as_deref(), expected, "{program}");
    };
    check(&[], "tool", Some("/usr/bin/tool"));
    check(&["PATH=/opt:/usr/bin"], "tool", Some("/opt/tool"));
    check(
        &["PATH=/opt", "PATH=/usr/bin"],
        "tool",
        Some("/usr/bin/tool"),
    );
    check(&["PATH=/nowhere"], "tool", None);
    check(&["PATH="], "tool", Some("/usr/bin/tool"));
    check(&["PATH=:/bin"], "local", Some("/work/local"));
    check(
        &["PATH=/bin:/usr/bin"],
        "not-executable",
        Some("/usr/bin/not-executable"),
    );
    check(&[], "directory", None);
    check(&[], "link", Some("/bin/link"));
    check(&[], "out", None);
    check(&[], "/opt/tool", Some("/opt/tool"));
    check(&[], "./local", Some("/work/local"));
    check(&[], "../opt//./tool", Some("/work/../opt/tool"));
    check(&[], "", None);
}

#[test]
fn formats_are_found_in_the_first_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = |interpreter: &str, argument: Option<&str>| ExecutableFormat::Script {
        interpreter: interpreter.to_owned(),
        argument: argument.map(str::to_owned),
    };
    let cases: [(&[u8], ExecutableFormat); 7] = [
        (b"#!/bin/sh\necho", script("/bin/sh", None)),
        (
            b"#! /usr/bin/env  python3 -u \n",
            script("/usr/bin/env", Some("python3 -u")),
        ),
        (b"#!\n", ExecutableFormat::Other),
        (b"", ExecutableFormat::Other),
        (b"\x7fELF", ExecutableFormat::Other),
        (
            b"\x7fELF\x02\x01 not an ELF file at all",
            ExecutableFormat::Other,
        ),
        (b"\xca\xfe\xba\xbe", ExecutableFormat::Other),
    ];
    let root = root(path);
    for (content, expected) in cases {
        add(path, "program", 0o755, content);
        let found = find_program(root.as_fd(), &RunConfig::default(), "/program");
        assert_eq!(found.unwrap().unwrap().format, expected, "{content:?}");
    }
}

#[test]
fn an_elf_program_has_an_interpreter_or_is_static() {
    let directory = tempfile::tempdir().unwrap();
    let own = fs::read(std::env::current_exe().unwrap()).unwrap();
    add(directory.path(), "program", 0o755, &own);
    let root = root(directory.path());
    let find = || find_program(root.as_fd(), &RunConfig::default(), "/program").unwrap();
    let ExecutableFormat::Elf {
        machine,
        interpreter,
    } = find().unwrap().format
    else {
        panic!("an ELF program");
    };
    assert_ne!(machine, 0);
    let is_static = cfg!(target_feature = "crt-static");
    assert_eq!(interpreter.is_none(), is_static, "{interpreter:?}");
    // Headers that point outside of the file.
    let mut damaged = own.clone();
    damaged[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    add(directory.path(), "program", 0o755, &damaged);
    assert_eq!(find().unwrap().format, ExecutableFormat::Other);
}

/// The header claims a table of 2 GiB in a file with holes.
#[test]
fn a_header_does_not_decide_how_much_memory_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let mut header = vec![0; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    header[18] = 62;
    for (entry_size, count) in [(65_535_u16, 32_700_u16), (56, 65_535), (1, 1)] {
        header[54..56].copy_from_slice(&entry_size.to_le_bytes());
        header[56..58].copy_from_slice(&count.to_le_bytes());
        add(directory.path(), "fn", 0o755, &header);
        let file = fs::File::options()
            .write(true)
            .open(directory.path().join("fn"));
        file.unwrap().set_len(2 << 30).unwrap();
        let root = root(directory.path());
        let found = find_program(root.as_fd(), &RunConfig::default(), "/fn").unwrap();
        let format = found.map(|program| program.format);
        assert_eq!(
            format,
            Some(ExecutableFormat::Other),
            "{entry_size} {count}"
        );
    }
}
