//! An open directory and the system calls on its entries.
//!
//! Names given to [`Dir`] are single components and no method follows a symbolic link, so that a path walked
//! through `Dir`s stays inside, even if another process swaps a directory for a link meanwhile.
//! Every call that changes the disk first calls [`Steps`], by which tests interrupt at any of them.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, Access, AtFlags, FileType, Mode, OFlags};

/// A directory held open.
#[derive(Clone)]
pub(crate) struct Dir {
    fd: Arc<OwnedFd>,
    steps: Steps,
}

/// The type of an entry, links not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryType {
    File,
    Directory,
    Symlink,
    Other,
}

/// The metadata of an entry, links not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta {
    pub(crate) kind: EntryType,
    pub(crate) size: u64,
    pub(crate) inode: u64,
    /// The file system it is on.
    pub(crate) device: u64,
    /// How many names it has.
    pub(crate) links: u64,
    /// How many bytes can be written to its beginning without allocating blocks.
    pub(crate) allocated: u64,
    modified: (i64, i64),
    mode: Mode,
    pub(crate) owner: fs::Uid,
    group: fs::Gid,
}

/// Identifies the version of a file that was read: replacing it or writing to it gives another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// The form in journals.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = self.modified;
        write!(f, "{} {} {seconds} {nanoseconds}", self.inode, self.size)
    }
}

impl Stamp {
    /// Reads what `Display` writes, a field at a time.
    pub(crate) fn read<'t>(fields: &mut impl Iterator<Item = &'t str>) -> Option<Stamp> {
        Some(Stamp {
            inode: fields.next()?.parse().ok()?,
            size: fields.next()?.parse().ok()?,
            modified: (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?),
        })
    }
}

/// A step that is about to change the disk: the call's name and the entry it is about.
pub(crate) type Hook = dyn Fn(&'static str, &OsStr) -> io::Result<()> + Send + Sync;

/// Called before every change of the disk; only tests return an error.
#[derive(Clone, Default)]
pub(crate) struct Steps(Option<Arc<Hook>>);

impl Steps {
    #[cfg(test)]
    pub(crate) fn hooked(hook: Arc<Hook>) -> Steps {
        Steps(Some(hook))
    }

    fn before(&self, call: &'static str, name: &OsStr) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |hook| hook(call, name))
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Dir {
    /// Opens a directory by path; this alone follows links, because the user named the path.
    pub(crate) fn open(path: &Path, steps: Steps) -> io::Result<Dir> {
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        let fd = fs::open(path, flags, Mode::empty())?;
        Ok(Dir {
            fd: Arc::new(fd),
            steps,
        })
    }

    /// Opens an entry that is a directory, not a link to one.
    pub(crate) fn open_dir(&self, name: impl AsRef<OsStr>) -> io::Result<Dir> {
        let fd = fs::openat(&self.fd, name.as_ref(), DIRECTORY, Mode::empty())?;
        Ok(Dir {
            fd: Arc::new(fd),
            steps: self.steps.clone(),
        })
    }

    /// The metadata of an entry; `None` if it does not exist.
    pub(crate) fn meta(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Meta>> {
        match fs::statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Meta::of(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The metadata of the directory.
    pub(crate) fn own_meta(&self) -> io::Result<Meta> {
        Ok(Meta::of(&fs::fstat(&self.fd)?))
    }

    /// Whether the file system is known to write over the blocks of a file.
    pub(crate) fn writes_in_place(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            /// ext2, ext3 and ext4; tmpfs.
            const KNOWN: [u64; 2] = [0xef53, 0x0102_1994];
            fs::fstatfs(&self.fd).is_ok_and(|stat| KNOWN.contains(&(stat.f_type as u64)))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Whether this process may write to the entry.
    pub(crate) fn check_writable(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::accessat(
            &self.fd,
            name.as_ref(),
            Access::WRITE_OK,
            AtFlags::EACCESS,
        )?)
    }

    /// Where a symbolic link points.
    pub(crate) fn read_link(&self, name: impl AsRef<OsStr>) -> io::Result<OsString> {
        let target = fs::readlinkat(&self.fd, name.as_ref(), Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// The bytes of a regular file. Anything else is refused without waiting, pipes above all.
    pub(crate) fn read(&self, name: impl AsRef<OsStr>) -> io::Result<Vec<u8>> {
        self.read_stamped(name).map(|(bytes, _)| bytes)
    }

    /// The same, with the metadata of the file when it was opened.
    pub(crate) fn read_stamped(&self, name: impl AsRef<OsStr>) -> io::Result<(Vec<u8>, Stamp)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name.as_ref(), flags, Mode::empty())?;
        read_regular(File::from(fd))
    }

    /// The entries in the order of their bytes.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, EntryType)>> {
        let mut entries = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let name = OsString::from_vec(name.to_vec());
            let kind = match entry.file_type() {
                // Some file systems do not report it. An entry that was deleted since it was listed is skipped.
                FileType::Unknown => match self.meta(&name)? {
                    Some(meta) => meta.kind,
                    None => continue,
                },
                known => EntryType::of(known),
            };
            entries.push((name, kind));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Creates a directory; the process' umask applies.
    pub(crate) fn make_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        self.steps.before("mkdir", name.as_ref())?;
        Ok(fs::mkdirat(
            &self.fd,
            name.as_ref(),
            Mode::from_raw_mode(mode as fs::RawMode),
        )?)
    }

    /// Creates a file, which must not exist; the process' umask applies.
    pub(crate) fn create(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<NewFile> {
        self.steps.before("create", name.as_ref())?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode as fs::RawMode);
        let fd = fs::openat(&self.fd, name.as_ref(), flags, mode)?;
        Ok(NewFile {
            file: File::from(fd),
            name: name.as_ref().to_owned(),
            steps: self.steps.clone(),
        })
    }

    /// Writes over the beginning of a file, which must be unchanged.
    pub(crate) fn overwrite(&self, name: &OsStr, old: &Stamp, content: &[u8]) -> io::Result<()> {
        self.steps.before("overwrite", name)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(fs::openat(&self.fd, name, flags, Mode::empty())?);
        if Meta::of(&fs::fstat(&file)?).stamp() != *old {
            return Err(io::Error::other("another process has just changed it"));
        }
        file.write_all_at(content, 0)
    }

    /// Renames an entry in the same directory, replacing another.
    pub(crate) fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        self.steps.before("rename", to.as_ref())?;
        Ok(fs::renameat(
            &self.fd,
            from.as_ref(),
            &self.fd,
            to.as_ref(),
        )?)
    }

    /// Removes an entry that is not a directory.
    pub(crate) fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.steps.before("remove", name.as_ref())?;
        Ok(fs::unlinkat(&self.fd, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.steps.before("rmdir", name.as_ref())?;
        Ok(fs::unlinkat(&self.fd, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Waits until the directory's entries are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.steps.before("sync", OsStr::new("."))?;
        Ok(fs::fsync(&self.fd)?)
    }
}

impl Meta {
    /// Identifies this version of the file.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            inode: self.inode,
            size: self.size,
            modified: self.modified,
        }
    }

    #[allow(
        clippy::unnecessary_cast,
        reason = "the types of these fields depend on the system"
    )]
    pub(crate) fn of(stat: &fs::Stat) -> Meta {
        Meta {
            kind: EntryType::of(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
            allocated: u64::try_from(stat.st_blocks)
                .unwrap_or(0)
                .saturating_mul(512),
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            mode: Mode::from_raw_mode(stat.st_mode),
            owner: fs::Uid::from_raw(stat.st_uid),
            group: fs::Gid::from_raw(stat.st_gid),
        }
    }
}

impl EntryType {
    fn of(file_type: FileType) -> EntryType {
        match file_type {
            FileType::RegularFile => EntryType::File,
            FileType::Directory => EntryType::Directory,
            FileType::Symlink => EntryType::Symlink,
            _ => EntryType::Other,
        }
    }
}

/// A file being written.
pub(crate) struct NewFile {
    file: File,
    name: OsString,
    steps: Steps,
}

impl NewFile {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.steps.before("write", &self.name)?;
        self.file.write_all(bytes)
    }

    /// Copies the permissions of the file that this one replaces.
    pub(crate) fn take_after(&self, old: &Meta) -> io::Result<()> {
        self.steps.before("chmod", &self.name)?;
        let own = Meta::of(&fs::fstat(&self.file)?);
        if (own.owner, own.group) != (old.owner, old.group) {
            // Only root may change owners. Other users own the new file, as with any editor.
            let _ = fs::fchown(&self.file, Some(old.owner), Some(old.group));
        }
        Ok(fs::fchmod(&self.file, old.mode)?)
    }

    /// Waits until the content is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.steps.before("sync", &self.name)?;
        self.file.sync_all()
    }
}

/// Reads an open file if it is a regular one; also returns its metadata before.
pub(crate) fn read_regular(mut file: File) -> io::Result<(Vec<u8>, Stamp)> {
    let meta = Meta::of(&fs::fstat(&file)?);
    match meta.kind {
        EntryType::File => {}
        EntryType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        EntryType::Symlink | EntryType::Other => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
    }
    // One byte more than expected: if it stays unused, the end was reached without another read.
    let expected = usize::try_from(meta.size).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    if rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))? != expected {
        file.read_to_end(&mut bytes)?;
    }
    Ok((bytes, meta.stamp()))
}
