//! The record of an image's files, by which `verify` finds damage.
//!
//! One line for each entry, in the order of the bytes of names, directories before their entries:
//!
//! ```text
//! d MODE PATH
//! f MODE SIZE SECONDS SHA256 PATH
//! l PATH TARGET
//! ```
//!
//! Unusual bytes in paths are escaped.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kiln_oci::DigestHasher;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

/// How deep directories may be nested, far more than what is unpacked. A walk needs an open file for each level.
const MAX_DEPTH: u32 = 512;

/// The hexadecimal digits of a file's SHA-256.
pub(crate) type ContentHash = String;

/// What a walk through an image found.
#[derive(Default, Debug)]
pub(crate) struct FileRecord {
    /// The lines of the record.
    pub(crate) text: String,
    /// Of files, in bytes. Files with several names count once.
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// Directories that every user may write to, as absolute paths.
    pub(crate) writable_directories: Vec<String>,
}

/// Takes part in a walk through an image.
pub(crate) trait RecordVisitor {
    /// The hash of a file.
    fn hash(
        &mut self,
        stat: &Stat,
        open: &mut dyn FnMut() -> io::Result<File>,
    ) -> io::Result<ContentHash>;

    /// Called after the entries of a directory were visited.
    fn leave(&mut self, _directory: BorrowedFd<'_>, _stat: &Stat) -> io::Result<()> {
        Ok(())
    }
}

/// Hashes every file.
struct Rehash;

impl RecordVisitor for Rehash {
    fn hash(
        &mut self,
        _: &Stat,
        open: &mut dyn FnMut() -> io::Result<File>,
    ) -> io::Result<ContentHash> {
        hash_file(open()?)
    }
}

impl FileRecord {
    /// Walks through a directory.
    pub(crate) fn of(
        root: BorrowedFd<'_>,
        visitor: &mut dyn RecordVisitor,
    ) -> io::Result<FileRecord> {
        let mut walk = RecordWalk {
            record: FileRecord::default(),
            visitor,
            counted: HashSet::new(),
        };
        walk.visit(&open_directory(root, c".")?, b"", 0)?;
        Ok(walk.record)
    }

    /// Walks through a directory and hashes every file.
    pub(crate) fn rehash(root: BorrowedFd<'_>) -> io::Result<FileRecord> {
        FileRecord::of(root, &mut Rehash)
    }
}

struct RecordWalk<'a> {
    record: FileRecord,
    visitor: &'a mut dyn RecordVisitor,
    /// The inodes of files with several names.
    counted: HashSet<u64>,
}

impl RecordWalk<'_> {
    fn visit(&mut self, directory: &OwnedFd, path: &[u8], depth: u32) -> io::Result<()> {
        if depth > MAX_DEPTH {
            let text = format!("directories are nested more than {MAX_DEPTH} levels deep");
            return Err(io::Error::other(text));
        }
        for name in sorted_names(directory.as_fd())? {
            let stat = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            let raw_path = [path, b"/", name.to_bytes()].concat();
            let path = escaped(&raw_path);
            let mode = stat.st_mode & 0o7777;
            let record = &mut self.record;
            record.entries += 1;
            let written = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    if mode & 0o002 != 0
                        && let Ok(path) = std::str::from_utf8(&raw_path)
                    {
                        record.writable_directories.push(path.to_owned());
                    }
                    writeln!(record.text, "d {mode:o} {path}")
                }
                FileType::RegularFile => {
                    let size = u64::try_from(stat.st_size).unwrap_or(0);
                    if stat.st_nlink < 2 || self.counted.insert(stat.st_ino) {
                        record.bytes += size;
                    }
                    let mut open = || open_file(directory.as_fd(), &name);
                    let hash = self.visitor.hash(&stat, &mut open)?;
                    let seconds = stat.st_mtime;
                    writeln!(record.text, "f {mode:o} {size} {seconds} {hash} {path}")
                }
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(directory, &name, Vec::new())?;
                    writeln!(record.text, "l {path} {}", escaped(target.to_bytes()))
                }
                // Nothing unpacks one of these.
                other => writeln!(record.text, "? {other:?} {path}"),
            };
            written.map_err(io::Error::other)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                let child = open_directory(directory.as_fd(), &name)?;
                self.visit(&child, &raw_path, depth + 1)?;
                self.visitor.leave(child.as_fd(), &stat)?;
            }
        }
        Ok(())
    }
}

/// The SHA-256 of a file.
pub(crate) fn hash_file(file: File) -> io::Result<ContentHash> {
    let hasher = hash_all(file, DigestHasher::sha256())?;
    Ok(hasher.finish().hex().to_owned())
}

/// Adds a whole file to a hasher.
pub(crate) fn hash_all(mut file: File, mut hasher: DigestHasher) -> io::Result<DigestHasher> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher),
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// The names in a directory in the order of their bytes.
pub(crate) fn sorted_names(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens an entry that is a directory, for reading.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

fn open_file(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    Ok(fd.into())
}

/// A name without spaces and control characters.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                c if c.is_control() || c.is_whitespace() => {
                    text.extend(c.escape_unicode());
                }
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}
