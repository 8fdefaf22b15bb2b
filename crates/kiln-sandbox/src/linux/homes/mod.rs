//! Finds home directories, which hold secrets, and the directories that show them.
//!
//! A home has many paths: through links, through other mounts of the same file system, from above. So paths are
//! resolved, and compared by device and inode and by their location in the file system.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::stat;
use rustix::process::{geteuid, getuid};

/// System directories that some users have as home. They hold no secrets.
const SYSTEM: &[&str] = &[
    "/",
    "/bin",
    "/lib",
    "/lib64",
    "/opt",
    "/sbin",
    "/usr",
    "/usr/bin",
    "/usr/games",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/usr/share",
];

/// The IDs of users that are people, not parts of the system.
const LOGIN_USERS: std::ops::Range<u32> = 1000..65_534;

/// The homes of the user, with the mounts at the start.
#[derive(Debug, Default)]
pub(super) struct Homes {
    homes: Vec<Home>,
    mounts: Vec<Mount>,
}

#[derive(Debug)]
struct Home {
    identity: FileId,
    /// The IDs of the directories that contain it.
    above: Vec<FileId>,
    location: Option<Location>,
}

/// Device and inode.
type FileId = (u64, u64);

/// A device, and a path in its file system.
type Location = (OsString, PathBuf);

impl Homes {
    /// The home in the environment, and those of our users and of all people in `/etc/passwd`: root can read them all.
    pub(super) fn find(environment: &[(OsString, OsString)]) -> Homes {
        let variable = |name: &str| {
            let mut found = environment.iter().filter(|(known, _)| known == name);
            found.next().map(|(_, value)| value.as_os_str())
        };
        let mut users = vec![getuid().as_raw(), geteuid().as_raw()];
        // The user that became root with sudo.
        let sudo = variable("SUDO_UID").and_then(OsStr::to_str);
        users.extend(sudo.and_then(|user| user.parse::<u32>().ok()));
        let passwd = std::fs::read("/etc/passwd").unwrap_or_default();
        let of_users = passwd_homes(&passwd, &users);
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let named = variable("HOME").map(PathBuf::from);
        Homes::new(
            named.into_iter().chain(of_users),
            parse_mounts(&mounts).collect(),
        )
    }

    fn new(paths: impl Iterator<Item = PathBuf>, mounts: Vec<Mount>) -> Homes {
        let system: Vec<PathBuf> = SYSTEM
            .iter()
            .map(|path| resolved(Path::new(path)))
            .collect();
        let paths = paths.map(|path| resolved(&path));
        let paths = paths.filter(|path| !system.contains(path));
        let homes = paths.filter_map(|path| {
            let above = path.ancestors().skip(1);
            Some(Home {
                identity: identity(&path)?,
                above: above.filter_map(identity).collect(),
                location: locate(&path, &mounts),
            })
        });
        Homes {
            homes: homes.collect(),
            mounts,
        }
    }

    /// Whether a directory is a home.
    pub(super) fn are_at(&self, directory: &Path) -> bool {
        let Some(here) = identity(directory) else {
            return false;
        };
        self.homes.iter().any(|home| home.identity == here)
    }

    /// Whether a directory is a home or contains a part of one.
    pub(super) fn are_shown_by(&self, directory: &Path) -> bool {
        let directory = resolved(directory);
        let Some(here) = identity(&directory) else {
            return false;
        };
        let location = locate(&directory, &self.mounts);
        let below = self.mounts.iter();
        let below = below.filter(|mount| mount.point.starts_with(&directory));
        let below: Vec<&Mount> = below.filter(|mount| mount.point != directory).collect();
        self.homes.iter().any(|home| {
            let contains = |(device, path): &Location| {
                home.location
                    .as_ref()
                    .is_some_and(|(of, inside)| device == of && inside.starts_with(path))
            };
            let is_mounted = |mount: &&Mount| {
                home.location.as_ref().is_some_and(|(device, inside)| {
                    *device == mount.device
                        && (inside.starts_with(&mount.root) || mount.root.starts_with(inside))
                })
            };
            home.identity == here
                || home.above.contains(&here)
                || location.as_ref().is_some_and(contains)
                || below.iter().any(is_mounted)
        })
    }
}

/// One line of `/proc/self/mountinfo`.
#[derive(Debug)]
struct Mount {
    device: OsString,
    /// The part of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
}

fn parse_mounts(text: &[u8]) -> impl Iterator<Item = Mount> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        Some(Mount {
            device: OsStr::from_bytes(fields.next()?).to_owned(),
            root: unescaped(fields.next()?),
            point: unescaped(fields.next()?),
        })
    })
}

/// Spaces, tabs, line ends and backslashes are written as `\040`.
pub(super) fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *byte == b'\\');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The file system of a resolved path, and its path there. Of mounts at the same point the last one is visible.
fn locate(path: &Path, mounts: &[Mount]) -> Option<Location> {
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let mount = around.max_by_key(|mount| mount.point.components().count())?;
    let rest = path.strip_prefix(&mount.point).ok()?;
    Some((mount.device.clone(), mount.root.join(rest)))
}

/// The homes of these users, and of people, in the text of `/etc/passwd`.
fn passwd_homes(text: &[u8], users: &[u32]) -> Vec<PathBuf> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let user: u32 = std::str::from_utf8(fields.get(2)?).ok()?.parse().ok()?;
        let home = PathBuf::from(OsStr::from_bytes(fields.get(5)?));
        (users.contains(&user) || LOGIN_USERS.contains(&user)).then_some(home)
    });
    lines.collect()
}

/// The path without links and dots; unchanged if it does not exist.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[expect(
    clippy::useless_conversion,
    reason = "the types of these fields differ between architectures"
)]
fn identity(path: &Path) -> Option<FileId> {
    let stat = stat(path).ok()?;
    Some((stat.st_dev.into(), stat.st_ino.into()))
}

#[cfg(test)]
mod tests;
