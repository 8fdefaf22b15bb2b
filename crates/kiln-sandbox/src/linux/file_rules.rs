//! The files that a function can access, as Landlock rules.
//!
//! Rules only allow. Where a system directory has secrets next to what every program reads, the files are listed one by
//! one.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetError, Scope,
    make_bitflags,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, stat};

use super::homes::Homes;
use super::kernel;
use crate::measure::SandboxError;

/// The newest version whose rights we know. The library leaves out what the kernel does not know.
const NEWEST: ABI = ABI::V9;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile | ReadDir});
const LIST: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const DEVICE: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});

/// Programs and their parts.
const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
];

/// Files that programs read at start: loader, names, time zone, certificates, size of the machine.
const STARTUP_FILES: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/run/systemd/resolve",
    "/var/lib/ca-certificates",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/random",
    "/dev/urandom",
    // Opened for writing and mapped, it would be shared memory, which no limit counts.
    "/dev/zero",
];

/// Harmless devices.
const DEVICES: &[&str] = &["/dev/null", "/dev/full"];

/// A path and the access to it.
pub(super) type AllowedPath = (PathBuf, BitFlags<AccessFs>);

/// The rules for all functions, opened once.
pub(super) struct FileRules {
    rules: Vec<OpenRule>,
    /// The rights that the kernel knows.
    known: BitFlags<AccessFs>,
}

/// An open path and the access to it.
type OpenRule = (OwnedFd, BitFlags<AccessFs>);

impl FileRules {
    /// The paths of the system that exist, without `homes`, and those of `read`, which must exist.
    pub(super) fn open(read: &[PathBuf], homes: &Homes) -> Result<FileRules, SandboxError> {
        let mut rules = Vec::new();
        for (paths, access) in [(PROGRAMS, READ), (STARTUP_FILES, LIST), (DEVICES, DEVICE)] {
            for path in paths {
                add_without_homes(&mut rules, Path::new(path), access, homes);
            }
        }
        for path in read {
            let opened = rule(path, READ).map_err(|source| SandboxError::Path {
                path: path.clone(),
                source,
            });
            rules.push(opened?);
        }
        let known = AccessFs::from_all(ABI::from(kernel::landlock_version()));
        Ok(FileRules { rules, known })
    }

    /// The rules for a program and its private directory.
    pub(super) fn ruleset(
        &self,
        program: &[AllowedPath],
        scratch: &Path,
        allow_network: bool,
    ) -> Result<OwnedFd, SandboxError> {
        let own = AccessFs::from_all(NEWEST)
            & !make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
        let scratch = rule(scratch, own).map_err(|source| SandboxError::Scratch {
            path: scratch.to_owned(),
            source,
        })?;
        // A program that cannot be opened cannot be executed either, and exec has the better error.
        let program = program.iter();
        let program = program.filter_map(|(path, access)| rule(path, *access).ok());
        let own: Vec<OpenRule> = program.chain([scratch]).collect();
        let failed = |reason: String| SandboxError::Rules { reason };
        let ruleset = no_access(allow_network).map_err(|error| failed(error.to_string()))?;
        let ruleset = ruleset.ok_or_else(|| failed("the kernel has no Landlock".to_owned()))?;
        // Not by the library, which checks each path again for each run.
        for (opened, access) in self.rules.iter().chain(&own) {
            let access = (*access & self.known).bits();
            kernel::add_rule(ruleset.as_fd(), opened.as_fd(), access)
                .map_err(|error| failed(error.to_string()))?;
        }
        Ok(ruleset)
    }
}

/// Rules that allow nothing yet, and the access to a root that a function may have; `None` without Landlock. Connections
/// are not restricted.
pub(super) fn of_root() -> Result<Option<RootRules>, SandboxError> {
    let failed = |reason: String| SandboxError::Rules { reason };
    let ruleset = no_access(true).map_err(|error| failed(error.to_string()))?;
    let all = AccessFs::from_all(NEWEST) & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    let known = AccessFs::from_all(ABI::from(kernel::landlock_version()));
    Ok(ruleset.map(|ruleset| RootRules {
        ruleset,
        access: (all & known).bits(),
    }))
}

/// Rules for a process that has only one root.
pub(super) struct RootRules {
    ruleset: OwnedFd,
    access: u64,
}

impl RootRules {
    /// The descriptor that it needs in the child.
    pub(super) fn descriptor(&self) -> RawFd {
        self.ruleset.as_raw_fd()
    }

    /// Restricts the calling process to the files below its root. For use in the child: only system calls.
    pub(super) fn enter(&self) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, c"/", flags, Mode::empty())?;
        kernel::add_rule(self.ruleset.as_fd(), root.as_fd(), self.access)?;
        kernel::restrict_self(self.ruleset.as_fd())
    }
}

/// Adds a path of the system, if it exists. If it contains a home, adds everything but the home. Skips links in it:
/// their targets count.
fn add_without_homes(
    rules: &mut Vec<OpenRule>,
    path: &Path,
    access: BitFlags<AccessFs>,
    homes: &Homes,
) {
    if !homes.are_shown_by(path) {
        rules.extend(rule(path, access).ok());
        return;
    }
    let entries = path.read_dir().ok().filter(|_| !homes.are_at(path));
    for entry in entries.into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            add_without_homes(rules, &entry.path(), access, homes);
        }
    }
}

/// A ruleset that allows nothing yet.
fn no_access(allow_network: bool) -> Result<Option<OwnedFd>, RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !allow_network {
        // The filter forbids it too; this also holds for sockets that are passed in.
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    Ok(ruleset.create()?.into())
}

/// The access of a program to itself: its directory, and that of the link target if it is a link. If the directory is
/// writable by all users (`/tmp`), is the root, or is or contains a home, only the program itself.
pub(super) fn of_program(program: &Path, homes: &Homes) -> Vec<AllowedPath> {
    let behind = program.canonicalize().ok();
    let mut paths: Vec<AllowedPath> = Vec::new();
    for path in [Some(program), behind.as_deref()].into_iter().flatten() {
        let directory = match path.parent() {
            Some(parent) if is_own(parent) && !homes.are_shown_by(parent) => parent,
            _ => path,
        };
        if !paths.iter().any(|(known, _)| known == directory) {
            paths.push((directory.to_owned(), READ));
        }
    }
    paths
}

fn is_own(directory: &Path) -> bool {
    let is_root = directory
        .canonicalize()
        .is_ok_and(|path| path.parent().is_none());
    !is_root && stat(directory).is_ok_and(|stat| stat.st_mode & 0o002 == 0)
}

/// What a function may read of its own process: what the C library and the runtimes of Go, Python, Node, Java and .NET
/// read. Not `net`, which lists the connections of the machine, and so not `task`, in which each thread has it too.
/// Each costs every run some microseconds: the kernel makes these files for each process anew.
const OWN_PROCESS: &[&CStr] = &[
    c"auxv",
    c"cgroup",
    c"cmdline",
    c"comm",
    c"environ",
    c"fd",
    c"fdinfo",
    c"limits",
    c"maps",
    c"mountinfo",
    c"mounts",
    c"stat",
    c"statm",
    c"status",
];

/// Allows the calling process to read its own part of `/proc`. Other processes, including its children, stay closed,
/// because they show their arguments. For use in the child: only system calls.
pub(super) fn allow_own_process(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    // Without /proc there is nothing to allow.
    let Ok(process) = openat(CWD, c"/proc/self", flags, Mode::empty()) else {
        return Ok(());
    };
    for name in OWN_PROCESS {
        // Some kernels are built without them.
        if let Ok(opened) = openat(&process, *name, flags, Mode::empty()) {
            let is_directory = *name == c"fd" || *name == c"fdinfo";
            let access = if is_directory {
                LIST
            } else {
                LIST & AccessFs::from_file(NEWEST)
            };
            kernel::add_rule(ruleset, opened.as_fd(), access.bits())?;
        }
    }
    Ok(())
}

fn rule(path: &Path, access: BitFlags<AccessFs>) -> io::Result<OpenRule> {
    let opened = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let access = match is_directory(&fstat(&opened)?) {
        true => access,
        false => access & AccessFs::from_file(NEWEST),
    };
    Ok((opened, access))
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
