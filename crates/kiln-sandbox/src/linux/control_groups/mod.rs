//! Control groups, where one is delegated to this process: the kernel then counts all memory of a run, including the
//! kernel's own, and all processes.
//!
//! Only version 2, with the controllers `memory` and `pids`. A group counts as delegated if systemd has marked it
//! (`Delegate=yes`), or if it is the root group of this process's container. Other groups have an owner that does not
//! expect groups in them. Each run gets its own group, which is removed with everything in it when the run has ended.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Access, CWD, Mode, OFlags, access, getxattr, mkdir, openat, rmdir};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use super::homes::unescaped;
use crate::policy::{ControlGroupUse, SandboxLimits};
use crate::processes::processes;

/// The prefix of the names of runs' groups; the ID of this process and the number of the run follow.
const PREFIX: &str = "kiln-run-";

/// The group that this process moves to: a group with processes cannot pass controllers on.
const OWN: &str = "kiln";

/// The attributes that systemd sets on delegated directories.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A group in which groups can be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Delegated {
    directory: PathBuf,
    /// Whether this process is in it.
    is_own: bool,
}

impl Delegated {
    /// The group that the policy names or that was found, or why there is none. Changes nothing.
    pub(super) fn find(wanted: &ControlGroupUse) -> Result<Delegated, String> {
        match wanted {
            ControlGroupUse::Never => Err("disabled".to_owned()),
            ControlGroupUse::In(directory) => {
                let found = Delegated {
                    directory: directory.clone(),
                    is_own: false,
                };
                found.check().map(|()| found)
            }
            ControlGroupUse::IfDelegated => {
                let read = |path: &str| std::fs::read(path).unwrap_or_default();
                let (own, top) =
                    own_group(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
                        .ok_or("version 2 of control groups is not mounted")?;
                let candidates = [Some(own.as_path()), own.parent()];
                let candidates = candidates.into_iter().flatten();
                let mut candidates = candidates.filter(|path| is_delegated(path, &top));
                let directory = candidates
                    .next()
                    .ok_or_else(|| format!("{} is not delegated", own.display()))?;
                let found = Delegated {
                    directory: directory.to_owned(),
                    is_own: directory == own,
                };
                found.check().map(|()| found)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// Checks that it has the controllers and is writable.
    fn check(&self) -> Result<(), String> {
        let (path, shown) = (&self.directory, self.directory.display());
        for controller in CONTROLLERS {
            if !lists(&path.join("cgroup.controllers"), controller) {
                return Err(format!("{shown} has no controller {controller}"));
            }
        }
        access(path, Access::WRITE_OK).map_err(|errno| format!("{shown}: {errno}"))?;
        if self.is_own && !self.has_only_us() {
            return Err(format!("{shown} has other processes"));
        }
        Ok(())
    }

    /// Enables the controllers for groups in it. For that, this process and its children move to one of them.
    pub(super) fn prepare(self) -> Result<ControlGroups, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.directory.display());
        let control = self.directory.join("cgroup.subtree_control");
        if !CONTROLLERS.iter().all(|name| lists(&control, name)) {
            if self.is_own {
                self.move_out().map_err(failed)?;
            }
            std::fs::write(&control, "+memory +pids").map_err(failed)?;
        }
        sweep(&self.directory);
        Ok(ControlGroups {
            directory: self.directory,
            left: Arc::default(),
        })
    }

    fn processes(&self) -> Vec<i32> {
        let listed = std::fs::read_to_string(self.directory.join("cgroup.procs"));
        let listed = listed.unwrap_or_default();
        listed.lines().filter_map(|id| id.parse().ok()).collect()
    }

    /// Whether it contains only this process and its children.
    fn has_only_us(&self) -> bool {
        let all = processes();
        let us = getpid().as_raw_nonzero().get();
        let is_ours = |id: i32| {
            id == us
                || all
                    .iter()
                    .any(|process| process.id == id && process.parent == us)
        };
        self.processes().into_iter().all(is_ours)
    }

    fn move_out(&self) -> io::Result<()> {
        let own = self.directory.join(OWN);
        match mkdir(&own, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        for process in self.processes() {
            std::fs::write(own.join("cgroup.procs"), process.to_string())?;
        }
        Ok(())
    }
}

/// Where the groups of runs are made.
#[derive(Debug)]
pub(super) struct ControlGroups {
    directory: PathBuf,
    /// Groups that could not be removed: killed processes may take a moment to exit.
    left: Arc<Mutex<Vec<PathBuf>>>,
}

impl ControlGroups {
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    pub(super) fn make(&self, limits: &SandboxLimits) -> io::Result<ControlGroup> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| rmdir(path).is_err_and(|errno| errno == Errno::BUSY));
        drop(left);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", getpid().as_raw_nonzero());
        let path = self.directory.join(name);
        mkdir(&path, Mode::from_raw_mode(0o755))?;
        // Opened with the rights of this process, which the child may not have: the kernel checks those at opening.
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let members = openat(CWD, path.join("cgroup.procs"), flags, Mode::empty());
        // It removes itself from here on.
        let group = ControlGroup {
            path: path.clone(),
            members,
            left: Arc::clone(&self.left),
        };
        std::fs::write(path.join("memory.max"), limits.memory.to_string())?;
        std::fs::write(path.join("pids.max"), limits.processes.to_string())?;
        // Not every kernel has these: no swap, and all processes are killed together.
        let _ = std::fs::write(path.join("memory.swap.max"), "0");
        let _ = std::fs::write(path.join("memory.oom.group"), "1");
        Ok(group)
    }
}

/// The group of one run. Dropping it removes it with its processes.
pub(super) struct ControlGroup {
    path: PathBuf,
    /// Its list of processes, open for writing.
    members: rustix::io::Result<OwnedFd>,
    left: Arc<Mutex<Vec<PathBuf>>>,
}

impl ControlGroup {
    pub(super) fn kill(&self) {
        // Kernels before 5.14 do not have it; the processes are in one process group too.
        let _ = std::fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Whether the kernel killed processes in it for lack of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = std::fs::read_to_string(self.path.join("memory.events"));
        let events = events.unwrap_or_default();
        let kills = events
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "))
            .filter_map(|count| count.parse::<u64>().ok());
        kills.sum::<u64>() > 0
    }

    /// Moves the calling process into the group. For use in the child: only system calls.
    pub(super) fn join(&self) -> rustix::io::Result<()> {
        let members = self.members.as_ref().map_err(|errno| *errno)?;
        rustix::io::write(members, b"0").map(drop)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.kill();
        if rmdir(&self.path) == Err(Errno::BUSY) {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.push(self.path.clone());
        }
    }
}

/// The directory of this process's group, and the root of the mount.
fn own_group(membership: &[u8], mounts: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let mut lines = membership.split(|byte| *byte == b'\n');
    let own = lines.find_map(|line| line.strip_prefix(b"0::"))?;
    let own = Path::new(OsStr::from_bytes(own));
    let mut lines = mounts.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let end = fields.iter().position(|field| *field == b"-")?;
        let is_ours = fields.get(end + 1).is_some_and(|kind| *kind == b"cgroup2");
        let (root, point) = (unescaped(fields.get(3)?), unescaped(fields.get(4)?));
        let below = own.strip_prefix(&root).ok().filter(|_| is_ours)?;
        // Joining an empty path would add a slash.
        let directory = match below.as_os_str().is_empty() {
            true => point.clone(),
            false => point.join(below),
        };
        Some((directory, point))
    })
}

fn is_delegated(directory: &Path, top: &Path) -> bool {
    let is_marked = MARKS.iter().any(|mark| {
        let mut value = [0_u8; 8];
        let length = getxattr(directory, *mark, &mut value).unwrap_or_default();
        value.get(..length) == Some(b"1")
    });
    // The root group of the machine has no limits, and so no such file.
    let is_container = directory == top && directory.join("memory.max").exists();
    directory.starts_with(top) && (is_marked || is_container)
}

fn lists(path: &Path, word: &str) -> bool {
    let words = std::fs::read_to_string(path).unwrap_or_default();
    words.split_ascii_whitespace().any(|found| found == word)
}

/// Removes groups that killed programs left behind.
fn sweep(directory: &Path) {
    let entries = directory.read_dir().into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let process = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
        if let Some(process) = process.and_then(Pid::from_raw)
            && test_kill_process(process) == Err(Errno::SRCH)
        {
            let _ = rmdir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
