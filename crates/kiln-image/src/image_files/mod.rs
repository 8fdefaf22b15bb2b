//! Reads files of an unpacked image. Its links are resolved inside of it.

use std::io;
use std::os::fd::BorrowedFd;

use kiln_store::in_root;
use rustix::fs::{Dir, Mode, OFlags, openat};

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
        match in_root::open_file(root, b"etc/passwd") {
            Ok(file) => file.take(MOST_BYTES).read_to_end(&mut bytes)?,
            Err(error) if is_no_file(error.kind()) => 0,
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

/// The errors of [`in_root::open_file`] for what is missing or not a regular file.
fn is_no_file(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory
    )
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
    all_names(root, path, &is_allowed).unwrap_or(false)
}

/// Whether all names in a directory are allowed.
fn all_names(
    root: BorrowedFd<'_>,
    path: &str,
    is_allowed: &dyn Fn(&str) -> bool,
) -> io::Result<bool> {
    let directory = in_root::open_directory(root, path.as_bytes())?;
    // That descriptor only names the directory.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(directory, ".", flags, Mode::empty())?;
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

#[cfg(test)]
mod tests;
