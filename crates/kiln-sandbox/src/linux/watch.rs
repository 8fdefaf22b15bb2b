//! What a function's processes use together, which the kernel counts only one by one, and what it does not count: the
//! tables of their memory, their mappings and open files, and what their sockets and pipes hold.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::file_user::FileUser;
use crate::measure::Excess;
use crate::policy::SandboxLimits;
use crate::processes::{Process, processes};

/// How long a look at all processes serves those who ask.
const FRESH: Duration = Duration::from_millis(20);

/// How much a pipe holds: functions cannot make theirs larger.
const PIPE: u64 = 64 << 10;

/// What the kernel keeps for an open file, about: the file, its name and its inode.
const OPEN_FILE: u64 = 1 << 10;

/// What the kernel keeps for a mapping, about, how many a process may have by default, and how much is read of their list:
/// a process with more of it counts as one that has them all.
const MAPPING: u64 = 256;
const MOST_MAPPINGS: u64 = 65_530;
const LIST_OF_MAPPINGS: u64 = 256 << 10;

/// What a function may use, and what is needed to count it.
pub(super) struct Bounds {
    pub(super) limits: SandboxLimits,
    /// The function's own user, if it has one.
    pub(super) owner: Option<u32>,
    /// How much a socket holds, in bytes.
    pub(super) socket_buffer: u64,
}

impl Bounds {
    /// What the group of `leader` has too much of. Nobody leaves a group in a sandbox, so these are all.
    pub(super) fn excess(&self, leader: Pid) -> Option<Excess> {
        let leader = leader.as_raw_nonzero().get();
        let everybody = look();
        let members = everybody.iter().filter(|process| process.group == leader);
        let members: Vec<&Process> = members.collect();
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
        // Pages that several share count for each at first; to share them out takes the kernel longer.
        let is_too_much = used(resident) > left && used(proportional) > left;
        is_too_much.then_some(Excess::Memory(memory))
    }

    /// What the open files of the members take, with what sockets and pipes can hold.
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

    /// What an open file is called by all that have it, and how much it can hold, if it is a socket or a pipe.
    fn buffer(&self, path: &Path, name: &Path) -> Option<(String, u64)> {
        let text = name.to_str().unwrap_or_default();
        match text.split_once(':') {
            Some(("socket", _)) => Some((text.to_owned(), self.socket_buffer)),
            Some(("pipe", _)) => Some((text.to_owned(), PIPE)),
            // A pipe may have a name in a directory.
            _ if name.has_root() => {
                let file = std::fs::metadata(path).ok()?;
                let is_pipe = file.file_type().is_fifo();
                is_pipe.then(|| (format!("{}:{}", file.dev(), file.ino()), PIPE))
            }
            _ => None,
        }
    }
}

/// All processes, looked at by one for all who ask at about the same time.
fn look() -> Arc<[Process]> {
    static LATEST: Mutex<Option<(Instant, Arc<[Process]>)>> = Mutex::new(None);
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, everybody)) = &*latest
        && at.elapsed() < FRESH
    {
        return Arc::clone(everybody);
    }
    let everybody: Arc<[Process]> = processes().into();
    *latest = Some((Instant::now(), Arc::clone(&everybody)));
    everybody
}

/// What the kernel keeps for the mappings of a process.
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

/// Memory that is not a file's, in swap too, and the tables of all of it, in bytes.
fn resident(process: i32) -> Option<u64> {
    sum(
        &format!("/proc/{process}/status"),
        &["RssAnon:", "RssShmem:", "VmPTE:", "VmSwap:"],
    )
}

/// The same with shared pages shared out; where we may not see that, without.
fn proportional(process: i32) -> Option<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let Some(pages) = sum(&path, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]) else {
        return resident(process);
    };
    let tables = sum(&format!("/proc/{process}/status"), &["VmPTE:"]);
    Some(pages.saturating_add(tables.unwrap_or_default()))
}

/// Adds the lines of a file that begin like one of `fields` and go on with a number of KiB.
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
