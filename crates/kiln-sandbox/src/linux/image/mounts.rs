//! The files of an image's function: the root of the image, and what is mounted in it.
//!
//! A child enters them with system calls only. Paths inside the image are resolved after the root has changed, so that no
//! link of the image leads to a file of this machine.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};
use rustix::fs::{CWD, Mode, OFlags, mkdir, open, symlink};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, pivot_root, umask};

use super::super::kernel::{MountReach, restrict_mount};
use super::super::step::ConfineStep;

/// All mounts of a run.
pub(super) struct ImageMounts {
    pub(super) root: MountSource,
    /// What the image does not have and mounts need: a layer on top of the root.
    pub(super) layer: Option<MountPointLayer>,
    /// The sizes of the file system in memory, which all writable directories share.
    pub(super) memory_options: CString,
    pub(super) writable: Vec<WritableDirectory>,
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
    pub(super) target: CString,
}

/// A mount that the user asked for.
pub(super) struct PreparedMount {
    pub(super) source: MountSource,
    pub(super) target: CString,
    pub(super) attributes: u64,
    pub(super) is_directory: bool,
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
    (c"dev/null", c"/dev/null"),
    (c"dev/zero", c"/dev/zero"),
    (c"dev/full", c"/dev/full"),
    (c"dev/random", c"/dev/random"),
    (c"dev/urandom", c"/dev/urandom"),
];

const DEVICE_LINKS: [(&CStr, &CStr); 4] = [
    (c"/proc/self/fd", c"/dev/fd"),
    (c"/proc/self/fd/0", c"/dev/stdin"),
    (c"/proc/self/fd/1", c"/dev/stdout"),
    (c"/proc/self/fd/2", c"/dev/stderr"),
];

impl ImageMounts {
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
        self.mount_memory(machine.as_fd())?;
        for mount in &self.mounts {
            ConfineStep::UserMounts.done(mount.enter(machine.as_fd()))?;
        }
        drop(machine);
        // The topmost mount at this place is the old root. Lazily, because it contains mounts.
        ConfineStep::OldRoot.done(unmount(c".", UnmountFlags::DETACH))?;
        match &self.layer {
            None => Ok(()),
            // Below it is the root without the layer.
            Some(_) => ConfineStep::OldRoot.done(unmount(c".", UnmountFlags::DETACH)),
        }
    }

    /// Mounts directories of the file system in memory as `/dev` and as all writable directories. It is one file system,
    /// so that its limit holds for all of them together.
    fn mount_memory(&self, machine: BorrowedFd<'_>) -> io::Result<()> {
        for directory in &self.writable {
            let tree = make_directory(&directory.made_at, SHARED);
            let attached = tree.and_then(|tree| attach(tree.as_fd(), &directory.target));
            ConfineStep::WritableDirectories.done(attached)?;
        }
        ConfineStep::Devices.done(make_devices(machine))
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
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            drop(open(&**path, flags, Mode::from_raw_mode(0o644))?);
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

/// Covers the file system in memory at `/dev` with a directory of it that has devices only, read-only.
fn make_devices(machine: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let shared_memory = make_directory(c"/dev/shared-memory", SHARED)?;
    let devices = make_directory(c"/dev/devices", 0o755)?;
    attach(devices.as_fd(), c"/dev")?;
    mkdir(c"/dev/shm", Mode::from_raw_mode(0o755))?;
    attach(shared_memory.as_fd(), c"/dev/shm")?;
    for (source, target) in DEVICES {
        // Device files cannot be made in a user namespace, but those of this machine can be mounted.
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(open(target, flags, Mode::from_raw_mode(0o666))?);
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        attach(open_tree(machine, source, flags)?.as_fd(), target)?;
    }
    for (target, link) in DEVICE_LINKS {
        symlink(target, link)?;
    }
    let restricted = restrict_mount(devices.as_fd(), MOUNT_ATTR_RDONLY, MountReach::One);
    restricted.map_err(|error| {
        rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::INVAL)
    })
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
    fn enter(&self, machine: BorrowedFd<'_>) -> io::Result<()> {
        let tree = self.source.mount(machine, MountReach::AllBelow)?;
        restrict_mount(tree.as_fd(), self.attributes, MountReach::AllBelow)?;
        // Only in writable directories something can be missing that can be made. An error shows below.
        let mode = Mode::from_raw_mode(0o755);
        match self.is_directory {
            true => drop(mkdir(&*self.target, mode)),
            false => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                drop(open(&*self.target, flags, mode));
            }
        }
        Ok(attach(tree.as_fd(), &self.target)?)
    }
}

/// Makes a directory in memory, and a mount of it.
fn make_directory(path: &CStr, mode: u32) -> rustix::io::Result<OwnedFd> {
    mkdir(path, Mode::from_raw_mode(mode))?;
    MountSource::clone_tree(CWD, path, MountReach::One)
}

/// Follows links: they are those of the image, and lead to its own files.
fn attach(tree: BorrowedFd<'_>, target: &CStr) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    move_mount(tree, c"", CWD, target, flags)
}
