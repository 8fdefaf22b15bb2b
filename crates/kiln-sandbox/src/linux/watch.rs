//! What a function's processes use together, which the kernel counts only one by one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::measure::Excess;
use crate::policy::SandboxLimits;
use crate::processes::{Process, processes};

/// How long a look at all processes serves those who ask.
const FRESH: Duration = Duration::from_millis(20);

/// What the group of `leader` has too much of. Nobody leaves a group in a sandbox, so these are all.
pub(super) fn excess(leader: Pid, limits: &SandboxLimits) -> Option<Excess> {
    let leader = leader.as_raw_nonzero().get();
    let everybody = look();
    let members = everybody.iter().filter(|process| process.group == leader);
    let members: Vec<&Process> = members.collect();
    let threads: u64 = members.iter().map(|process| process.threads).sum();
    if threads > limits.processes {
        return Some(Excess::Processes(limits.processes));
    }
    let used = |of: fn(i32) -> Option<u64>| -> u64 {
        let each = members.iter().filter_map(|process| of(process.id));
        each.fold(0, u64::saturating_add)
    };
    // Pages that several share count for each at first; to share them out takes the kernel longer.
    let is_too_much = used(resident) > limits.memory && used(proportional) > limits.memory;
    is_too_much.then_some(Excess::Memory(limits.memory))
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

/// Memory that is not a file's, in bytes.
fn resident(process: i32) -> Option<u64> {
    sum(
        &format!("/proc/{process}/status"),
        ["RssAnon:", "RssShmem:"],
    )
}

/// The same with shared pages shared out; where we may not see that, without.
fn proportional(process: i32) -> Option<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    sum(&path, ["Pss_Anon:", "Pss_Shmem:"]).or_else(|| resident(process))
}

/// Adds the lines of a file that begin like one of `fields` and go on with a number of KiB.
fn sum(path: &str, fields: [&str; 2]) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let numbers = text.lines().filter_map(|line| {
        let rest = fields.iter().find_map(|field| line.strip_prefix(field))?;
        rest.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    numbers
        .map(|kib| kib.saturating_mul(1024))
        .reduce(u64::saturating_add)
}
