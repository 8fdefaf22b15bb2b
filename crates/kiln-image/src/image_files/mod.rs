//! Reads files of an unpacked image. Its links are resolved inside of it.

use std::io;
use std::os::fd::BorrowedFd;

/// Users of an image: the lines of its `/etc/passwd`.
pub(crate) struct Users {
    text: String,
}

/// Bytes of `/etc/passwd` that are read.
const MOST_BYTES: u64 = 1 << 20;

impl Users {
    /// Without the file there are no users.
    pub(crate) fn read(root: BorrowedFd<'_>) -> io::Result<Users> {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        match in_root::open_file(root, "etc/passwd") {
            Ok(file) => file.take(MOST_BYTES).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Users::parse(&bytes))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Users {
        Users {
            text: String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    /// The IDs of a user and its group.
    pub(crate) fn ids(&self, name: &str) -> Option<(u32, u32)> {
        self.entries()
            .find(|entry| entry.name == name)
            .map(|entry| (entry.user, entry.group))
    }

    /// The home of a user.
    pub(crate) fn home(&self, user: u32) -> Option<&str> {
        let entry = self.entries().find(|entry| entry.user == user)?;
        Some(entry.home).filter(|home| home.starts_with('/'))
    }

    fn entries(&self) -> impl Iterator<Item = UserEntry<'_>> {
        self.text.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let _password = fields.next()?;
            let user = fields.next()?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            let _full_name = fields.next()?;
            let home = fields.next()?;
            Some(UserEntry {
                name,
                user,
                group,
                home,
            })
        })
    }
}

struct UserEntry<'a> {
    name: &'a str,
    user: u32,
    group: u32,
    home: &'a str,
}

/// Whether a path of the image is an empty directory. Directories that are `expected` in it, and empty too, do not count.
pub(crate) fn is_empty_directory(
    root: BorrowedFd<'_>,
    path: &str,
    expected: &dyn Fn(&str) -> bool,
) -> bool {
    let is_allowed = |name: &str| {
        let inside = format!("{}/{name}", path.trim_end_matches('/'));
        expected(&inside) && is_empty_directory(root, &inside, expected)
    };
    in_root::all_names(root, path, &is_allowed).unwrap_or(false)
}

#[cfg(target_os = "linux")]
mod in_root {
    use std::fs::File;
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat2};

    pub(super) fn open_file(root: BorrowedFd<'_>, path: &str) -> io::Result<File> {
        // A pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = File::from(open(root, path, flags)?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Whether all names in a directory are allowed.
    pub(super) fn all_names(
        root: BorrowedFd<'_>,
        path: &str,
        is_allowed: &dyn Fn(&str) -> bool,
    ) -> io::Result<bool> {
        let directory = open(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let is_allowed = match entry.file_name().to_str() {
                Ok("." | "..") => true,
                Ok(name) => is_allowed(name),
                Err(_) => false,
            };
            if !is_allowed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn open(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        Ok(openat2(root, path, flags, Mode::empty(), resolve)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod in_root {
    use std::fs::File;
    use std::io;
    use std::os::fd::BorrowedFd;

    pub(super) fn open_file(_: BorrowedFd<'_>, _: &str) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn all_names(
        _: BorrowedFd<'_>,
        _: &str,
        _: &dyn Fn(&str) -> bool,
    ) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests;
