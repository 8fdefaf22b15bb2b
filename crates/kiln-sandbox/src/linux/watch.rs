//! Measures what the processes of a function use together, which the kernel counts only per process, and what it does
//! not count: page tables, mappings and open files, and the contents of sockets and pipes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::control_groups::ControlGroup;
use super::file_user::FileUser;
use crate::measure::Excess;
use crate::policy::SandboxLimits;
use crate::processes::{self, Process};

/// How long a list of all processes is shared.
const FRESH: Duration = Duration::from_millis(20);

/// Size of a pipe: functions cannot enlarge theirs.
const PIPE: u64 = 64 << 10;

/// Approximate kernel memory of an open file: the file, its name and its inode.
const OPEN_FILE: u64 = 1 << 10;

/// Approximate kernel memory of a mapping, the default limit of mappings per process, and how much of their list is
/// read: a process with a longer list counts as one at the limit.
const MAPPING: u64 = 256;
const MOST_MAPPINGS: u64 = 65_530;
const LIST_OF_MAPPINGS: u64 = 256 << 10;

/// The limits of a function, and what is needed to measure it.
pub(super) struct Bounds {
    pub(super) limits: SandboxLimits,
    /// The function's own user, if it has one.
    pub(super) owner: Option<u32>,
    /// Which processes belong to the function.
    pub(super) members: Members,
    /// Size of a socket's buffer, in bytes.
    pub(super) socket_buffer: u64,
}

/// Which processes belong to a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Members {
    /// The group that it leads: no process leaves it.
    Group,
    /// Its descendants: no process leaves its namespace, in which orphans become its children.
    Descendants,
}

impl Members {
    fn of(self, leader: i32, processes: &[Process]) -> Vec<&Process> {
        let Members::Descendants = self else {
            let members = processes.iter().filter(|process| process.group == leader);
            return members.collect();
        };
        let mut members: Vec<&Process> = Vec::new();
        let mut parents = vec![leader];
        members.extend(processes.iter().find(|process| process.id == leader));
        while let Some(parent) = parents.pop() {
            let children = processes.iter().filter(|process| process.parent == parent);
            for child in children {
                parents.push(child.id);
                members.push(child);
            }
        }
        members
    }
}

impl Bounds {
    /// The limit that the processes of `leader` exceed together. Where a control group enforces it, this is known after
    /// the kernel has killed them.
    pub(super) fn excess(&self, leader: Pid, group: Option<&ControlGroup>) -> Option<Excess> {
        match group {
            Some(_) => self.excess_at_end(group),
            None => self.watched_excess(leader),
        }
    }

    /// The limit for which the kernel has killed the processes, as far as it reports that.
    pub(super) fn excess_at_end(&self, group: Option<&ControlGroup>) -> Option<Excess> {
        group
            .is_some_and(ControlGroup::ran_out_of_memory)
            .then_some(Excess::Memory(self.limits.memory))
    }

    fn watched_excess(&self, leader: Pid) -> Option<Excess> {
        let processes = all_processes();
        let members = self.members.of(leader.as_raw_nonzero().get(), &processes);
        let threads: u64 = members.iter().map(|process| process.threads).sum();
        if threads > self.limits.processes {
            return Some(Excess::Processes(self.limits.processes));
        }
        let memory = self.limits.memory;
        let used = |of: fn(i32) -> Option<u64>| -> u64 {
            let each = members.iter().filter_map(|process| of(process.id));
            each.fold(0, u64::saturating_add)
        };
        let _user = self.owner.map(FileUser::take);
        let kept = self.in_files(&members).saturating_add(used(mappings));
        let left = memory.saturating_sub(kept);
        // Shared pages count for each process at first; dividing them takes the kernel longer.
        let is_too_much = used(resident) > left && used(proportional) > left;
        is_too_much.then_some(Excess::Memory(memory))
    }

    /// The memory of the members' open files, with the buffers of sockets and pipes.
    fn in_files(&self, members: &[&Process]) -> u64 {
        let mut counted = BTreeSet::new();
        let mut sum = 0_u64;
        for process in members {
            let files = std::fs::read_dir(format!("/proc/{}/fd", process.id));
            let files = files.into_iter().flatten().filter_map(Result::ok);
            for path in files.map(|entry| entry.path()) {
                let Ok(name) = std::fs::read_link(&path) else {
                    continue;
                };
                sum = sum.saturating_add(OPEN_FILE);
                let Some((name, size)) = self.buffer(&path, &name) else {
                    continue;
                };
                if counted.insert(name) {
                    sum = sum.saturating_add(size);
                }
            }
        }
        sum
    }

    /// The name that all users of an open file share, and the size of its buffer, if it is a socket or a pipe.
    fn buffer(&self, path: &Path, name: &Path) -> Option<(String, u64)> {
        let text = name.to_str().unwrap_or_default();
        match text.split_once(':') {
            Some(("socket", _)) => Some((text.to_owned(), self.socket_buffer)),
            Some(("pipe", _)) => Some((text.to_owned(), PIPE)),
            // A named pipe.
            _ if name.has_root() => {
                let file = std::fs::metadata(path).ok()?;
                let is_pipe = file.file_type().is_fifo();
                is_pipe.then(|| (format!("{}:{}", file.dev(), file.ino()), PIPE))
            }
            _ => None,
        }
    }
}

/// All processes. Concurrent callers share one list.
fn all_processes() -> Arc<[Process]> {
    static LATEST: Mutex<Option<(Instant, Arc<[Process]>)>> = Mutex::new(None);
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, processes)) = &*latest
        && at.elapsed() < FRESH
    {
        return Arc::clone(processes);
    }
    let processes: Arc<[Process]> = processes::processes().into();
    *latest = Some((Instant::now(), Arc::clone(&processes)));
    processes
}

/// The kernel memory of a process's mappings.
fn mappings(process: i32) -> Option<u64> {
    let list = File::open(format!("/proc/{process}/maps")).ok()?;
    let mut text = Vec::new();
    list.take(LIST_OF_MAPPINGS).read_to_end(&mut text).ok()?;
    let count = match text.len() as u64 {
        LIST_OF_MAPPINGS.. => MOST_MAPPINGS,
        _ => text.iter().filter(|byte| **byte == b'\n').count() as u64,
    };
    Some(count * MAPPING)
}

/// Memory that is not file-backed, including swap, and page tables, in bytes.
fn resident(process: i32) -> Option<u64> {
    sum(
        &format!("/proc/{process}/status"),
        &["RssAnon:", "RssShmem:", "VmPTE:", "VmSwap:"],
    )
}

/// The same with shared pages divided; without if we may not read that.
fn proportional(process: i32) -> Option<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let Some(pages) = sum(&path, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]) else {
        return resident(process);
    };
    let tables = sum(&format!("/proc/{process}/status"), &["VmPTE:"]);
    Some(pages.saturating_add(tables.unwrap_or_default()))
}

/// Sums the lines of a file that begin with one of `fields` and a number of KiB.
fn sum(path: &str, fields: &[&str]) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let numbers = text.lines().filter_map(|line| {
        let rest = fields.iter().find_map(|field| line.strip_prefix(field))?;
        rest.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    numbers
        .map(|kib| kib.saturating_mul(1024))
        .reduce(u64::saturating_add)
}
