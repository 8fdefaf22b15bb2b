//! The files of an image's function: the root of the image, and what is mounted in it.
//!
//! A child enters them with system calls only. Paths that the image or the user chooses are resolved after the root has
//! changed and the files of this machine are gone, so that nothing leads to them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use libc::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};
use rustix::fs::{CWD, Mode, OFlags, mkdir, mkdirat, open, openat, symlink};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root, umask};

use super::super::kernel::{MountReach, restrict_mount};
use super::super::step::ConfineStep;
use super::paths::open_chosen;

/// All mounts of a run.
pub(super) struct ImageMounts {
    pub(super) root: MountSource,
    /// What the image does not have and mounts need: a layer on top of the root.
    pub(super) layer: Option<MountPointLayer>,
    /// The sizes of the file system in memory, which all writable directories share.
    pub(super) memory_options: CString,
    /// Parents before what is in them.
    pub(super) writable: Vec<WritableDirectory>,
    /// The working directory.
    pub(super) directory: ChosenDirectory,
    pub(super) mounts: Vec<PreparedMount>,
}

/// Where the files of a mount are.
pub(super) enum MountSource {
    /// A mount that the parent has made, because its user is another one.
    Made(OwnedFd),
    /// A path without links, relative to the root of this machine.
    Path(CString),
}

/// An empty directory in memory: its path in the file system in memory while it is made, and its path in the image.
pub(super) struct WritableDirectory {
    pub(super) made_at: CString,
    pub(super) target: ChosenDirectory,
}

/// A directory that the image or the user chose. A writable directory hides what the image has in it: what is missing there is
/// made in memory.
pub(super) struct ChosenDirectory {
    pub(super) path: CString,
    /// Its parents, topmost first, and itself.
    pub(super) steps: Vec<MountTarget>,
}

/// A mount that the user asked for.
pub(super) struct PreparedMount {
    pub(super) source: MountSource,
    /// Its path in the file system in memory until it is at its target.
    pub(super) kept_at: CString,
    pub(super) target: MountTarget,
    pub(super) attributes: u64,
    pub(super) is_directory: bool,
}

/// A path inside the image, and its parts: only in writable directories something can be missing that can be made.
pub(super) struct MountTarget {
    pub(super) path: CString,
    pub(super) parent: CString,
    /// Empty if the path does not end with a name.
    pub(super) name: CString,
}

/// A layer of empty files and directories. Each is made at its path in the file system in memory, parents first.
pub(super) struct MountPointLayer {
    pub(super) directories: Vec<CString>,
    pub(super) files: Vec<CString>,
}

/// The directory of the layer while it is made.
pub(super) const LAYER: &str = "/dev/layer";

/// How the kernel puts the layer on top of the root.
const LAYER_OPTIONS: &CStr = c"lowerdir=/,upperdir=/dev/layer,workdir=/dev/layer-work,userxattr";

/// Which `/proc` the function sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProcKind {
    /// That of its own namespace.
    Own,
    /// That of this machine, or of the container around us.
    Outer,
}

/// The attributes of all files of this machine.
pub(super) const FOREIGN: u64 = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/// Mode of a directory that all users may write to.
const SHARED: u32 = 0o1777;

/// The devices of every function: they have no state.
const DEVICES: [(&CStr, &CStr); 5] = [
    (c"dev/null", c"/dev/devices/null"),
    (c"dev/zero", c"/dev/devices/zero"),
    (c"dev/full", c"/dev/devices/full"),
    (c"dev/random", c"/dev/devices/random"),
    (c"dev/urandom", c"/dev/devices/urandom"),
];

const DEVICE_LINKS: [(&CStr, &CStr); 4] = [
    (c"/proc/self/fd", c"/dev/devices/fd"),
    (c"/proc/self/fd/0", c"/dev/devices/stdin"),
    (c"/proc/self/fd/1", c"/dev/devices/stdout"),
    (c"/proc/self/fd/2", c"/dev/devices/stderr"),
];

impl ImageMounts {
    /// The descriptors that it needs in the child.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let sources = self.mounts.iter().map(|mount| &mount.source);
        let sources = sources.chain([&self.root]);
        sources.filter_map(|source| match source {
            MountSource::Made(made) => Some(made.as_raw_fd()),
            MountSource::Path(_) => None,
        })
    }

    /// Replaces the files of the calling process, which is in new namespaces. The order of the steps matters.
    pub(super) fn enter(&self, proc: ProcKind) -> io::Result<()> {
        // Directories get exactly the modes that are given here.
        umask(Mode::empty());
        // No mount here reaches other namespaces, and pivot_root refuses mounts that would.
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        ConfineStep::PrivateMounts.done(mount_change(c"/", private))?;
        // Files of this machine are opened below this descriptor as long as it lasts. All descriptors are closed on exec.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let machine = ConfineStep::Root.done(open(c"/", flags, Mode::empty()))?;
        let root = ConfineStep::Root.done(self.root.mount(machine.as_fd(), MountReach::One))?;
        // Before anything can be written to it.
        let attributes = MOUNT_ATTR_RDONLY | FOREIGN;
        ConfineStep::Root.done(restrict_mount(root.as_fd(), attributes, MountReach::One))?;
        ConfineStep::Root.done(attach(root.as_fd(), c"/"))?;
        // By descriptor: no path leads to a mount on top of the root.
        ConfineStep::RootPivot.done(fchdir(root.as_fd()))?;
        // The old root is now mounted on the new one, and hidden: paths start below it. It has to stay until the end
        // because the kernel mounts a new /proc only where an old one is still visible.
        ConfineStep::RootPivot.done(pivot_root(c".", c"."))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let memory = mount(c"tmpfs", c"/dev", c"tmpfs", flags, &*self.memory_options);
        ConfineStep::Devices.done(memory)?;
        if let Some(layer) = &self.layer {
            ConfineStep::UserMounts.done(layer.enter())?;
        }
        mount_proc(proc, machine.as_fd())?;
        ConfineStep::Devices.done(make_devices(machine.as_fd()))?;
        for mount in &self.mounts {
            ConfineStep::UserMounts.done(mount.take(machine.as_fd()))?;
        }
        drop(machine);
        // The topmost mount at this place is the old root. Lazily, because it contains mounts.
        ConfineStep::OldRoot.done(unmount(c".", UnmountFlags::DETACH))?;
        if self.layer.is_some() {
            // Below it is the root without the layer.
            ConfineStep::OldRoot.done(unmount(c".", UnmountFlags::DETACH))?;
        }
        self.attach_chosen()
    }

    /// Attaches what belongs to paths that the image or the user chose. Nothing of this machine can be reached any more.
    ///
    /// All directories in memory, and `/dev`, are of one file system, so that its limit holds for all of them together.
    fn attach_chosen(&self) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = ConfineStep::Root.done(open(c"/", flags, Mode::empty()))?;
        for directory in &self.writable {
            let made = directory.target.make_missing(root.as_fd());
            if ConfineStep::WritableDirectories.done(made)? {
                // Below a writable one.
                continue;
            }
            let tree = make_directory(&directory.made_at, SHARED);
            let tree = ConfineStep::WritableDirectories.done(tree)?;
            let target = open_chosen(root.as_fd(), &directory.target.path, OFlags::DIRECTORY);
            let attached = target.and_then(|target| attach_to(tree.as_fd(), target.as_fd()));
            ConfineStep::WritableDirectories.done(attached)?;
        }
        for mount in &self.mounts {
            ConfineStep::UserMounts.done(mount.attach(root.as_fd()))?;
        }
        // After the mounts, one of which may have it.
        let made = self.directory.make_missing(root.as_fd());
        ConfineStep::WorkingDirectory.done(made)?;
        // Covers the file system in memory.
        let covered = move_mount(CWD, DEVICES_MOUNT, CWD, c"/dev", MoveMountFlags::empty());
        ConfineStep::Devices.done(covered)
    }
}

impl MountPointLayer {
    /// Replaces the root by one that has the layer on top, read-only too. The file system in memory is at `/dev` of both.
    fn enter(&self) -> io::Result<()> {
        let directory = Mode::from_raw_mode(0o755);
        for path in [c"/dev/layer", c"/dev/layer-work", c"/dev/layer-root"] {
            mkdir(path, directory)?;
        }
        for path in &self.directories {
            mkdir(&**path, directory)?;
        }
        for path in &self.files {
            make_file(path, 0o644)?;
        }
        let memory = MountSource::clone_tree(CWD, c"/dev", MountReach::One)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
        mount(
            c"overlay",
            c"/dev/layer-root",
            c"overlay",
            flags,
            LAYER_OPTIONS,
        )?;
        chdir(c"/dev/layer-root")?;
        pivot_root(c".", c".")?;
        Ok(attach(memory.as_fd(), c"/dev")?)
    }
}

/// Where the devices are until all other mounts are made.
const DEVICES_MOUNT: &CStr = c"/dev/devices";

/// Makes a mount with devices only, read-only, in the file system in memory.
fn make_devices(machine: BorrowedFd<'_>) -> io::Result<()> {
    let shared_memory = make_directory(c"/dev/shared-memory", SHARED)?;
    let devices = make_directory(DEVICES_MOUNT, 0o755)?;
    attach(devices.as_fd(), DEVICES_MOUNT)?;
    mkdir(c"/dev/devices/shm", Mode::from_raw_mode(0o755))?;
    attach(shared_memory.as_fd(), c"/dev/devices/shm")?;
    for (source, target) in DEVICES {
        // Device files cannot be made in a user namespace, but those of this machine can be mounted.
        make_file(target, 0o666)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        attach(open_tree(machine, source, flags)?.as_fd(), target)?;
    }
    for (target, link) in DEVICE_LINKS {
        symlink(target, link)?;
    }
    restrict_mount(devices.as_fd(), MOUNT_ATTR_RDONLY, MountReach::One)
}

/// Read-only: the files of a process of the same user as ours outside, if that is root, would let it change the settings
/// of the kernel (`/proc/sys`) without any capability.
fn mount_proc(kind: ProcKind, machine: BorrowedFd<'_>) -> io::Result<()> {
    match kind {
        ProcKind::Own => {
            let flags =
                MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
            let options: Option<&CStr> = None;
            ConfineStep::Proc.done(mount(c"proc", c"/proc", c"proc", flags, options))
        }
        ProcKind::Outer => {
            let outer = MountSource::clone_tree(machine, c"proc", MountReach::AllBelow);
            let outer = ConfineStep::Proc.done(outer)?;
            let attributes = FOREIGN | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
            let restricted = restrict_mount(outer.as_fd(), attributes, MountReach::AllBelow);
            ConfineStep::Proc.done(restricted)?;
            ConfineStep::Proc.done(attach(outer.as_fd(), c"/proc"))
        }
    }
}

impl MountSource {
    /// A mount of the files that is not attached yet.
    fn mount(&self, machine: BorrowedFd<'_>, reach: MountReach) -> rustix::io::Result<OwnedFd> {
        match self {
            MountSource::Made(made) => rustix::io::fcntl_dupfd_cloexec(made, 3),
            MountSource::Path(path) => MountSource::clone_tree(machine, path, reach),
        }
    }

    /// A new mount of a path, alone or with all mounts below it.
    pub(super) fn clone_tree(
        at: BorrowedFd<'_>,
        path: &CStr,
        reach: MountReach,
    ) -> rustix::io::Result<OwnedFd> {
        let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        if let MountReach::AllBelow = reach {
            flags |= OpenTreeFlags::AT_RECURSIVE;
        }
        open_tree(at, path, flags)
    }
}

impl PreparedMount {
    /// Mounts the files of this machine where nothing of the image is.
    fn take(&self, machine: BorrowedFd<'_>) -> io::Result<()> {
        let tree = self.source.mount(machine, MountReach::AllBelow)?;
        restrict_mount(tree.as_fd(), self.attributes, MountReach::AllBelow)?;
        match self.is_directory {
            true => mkdir(&*self.kept_at, Mode::from_raw_mode(0o755))?,
            false => make_file(&self.kept_at, 0o644)?,
        }
        Ok(attach(tree.as_fd(), &self.kept_at)?)
    }

    /// Moves them to the path in the image.
    fn attach(&self, root: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let target = match open_chosen(root, &self.target.path, OFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => {
                self.make_target(root)?;
                open_chosen(root, &self.target.path, OFlags::empty())?
            }
            target => target?,
        };
        let flags = MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(CWD, &*self.kept_at, target, c"", flags)
    }

    fn make_target(&self, root: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let parent = open_chosen(root, &self.target.parent, OFlags::DIRECTORY)?;
        let mode = Mode::from_raw_mode(0o755);
        match self.is_directory {
            true => mkdirat(parent, &*self.target.name, mode),
            false => openat(parent, &*self.target.name, NEW_FILE, mode).map(drop),
        }
    }
}

impl ChosenDirectory {
    /// Makes the directory if it does not exist, which is possible in memory only. Returns whether it did not exist.
    fn make_missing(&self, root: BorrowedFd<'_>) -> rustix::io::Result<bool> {
        match open_chosen(root, &self.path, OFlags::DIRECTORY) {
            Err(rustix::io::Errno::NOENT) => {}
            found => return found.map(|_| false),
        }
        for step in &self.steps {
            match open_chosen(root, &step.path, OFlags::DIRECTORY) {
                Err(rustix::io::Errno::NOENT) => {
                    let parent = open_chosen(root, &step.parent, OFlags::DIRECTORY)?;
                    mkdirat(parent, &*step.name, Mode::from_raw_mode(SHARED))?;
                }
                found => drop(found?),
            }
        }
        Ok(true)
    }
}

/// A file that does not exist yet. A link is not followed.
const NEW_FILE: OFlags = OFlags::CREATE
    .union(OFlags::EXCL)
    .union(OFlags::WRONLY)
    .union(OFlags::CLOEXEC);

/// Makes an empty file in memory.
fn make_file(path: &CStr, mode: u32) -> rustix::io::Result<()> {
    open(path, NEW_FILE, Mode::from_raw_mode(mode)).map(drop)
}

/// Makes a directory in memory, and a mount of it.
fn make_directory(path: &CStr, mode: u32) -> rustix::io::Result<OwnedFd> {
    mkdir(path, Mode::from_raw_mode(mode))?;
    MountSource::clone_tree(CWD, path, MountReach::One)
}

/// Attaches a mount to a path that neither the image nor the user chose.
fn attach(tree: BorrowedFd<'_>, target: &CStr) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, c"", CWD, target, flags)
}

/// Attaches a mount to an open file or directory.
fn attach_to(tree: BorrowedFd<'_>, target: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", target, c"", flags)
}
