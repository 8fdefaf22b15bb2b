//! Ending a child with everything that it started.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Kills the group of a child that has not been waited for yet, so that its number is still its own, and all its
/// descendants, those that made a group of their own too.
///
/// A process whose parents have all ended, and which left the group, cannot be told from a stranger; it stays.
pub(super) fn kill_all(child: &Child) {
    let leader = Pid::from_child(child);
    // Who is stopped starts nobody while we look.
    let _ = kill_process_group(leader, Signal::STOP);
    let descendants = descendants(leader);
    // Errors mean that there is nothing left to kill.
    let _ = kill_process_group(leader, Signal::KILL);
    for descendant in descendants {
        let _ = kill_process(descendant, Signal::KILL);
    }
}

/// All processes below `ancestor` as the system lists them at this moment.
#[cfg(target_os = "linux")]
fn descendants(ancestor: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![ancestor.as_raw_nonzero().get()];
    let processes = processes();
    while let Some(parent) = parents.pop() {
        for (process, its_parent) in &processes {
            if *its_parent == parent {
                parents.push(*process);
                found.extend(Pid::from_raw(*process));
            }
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn descendants(_: Pid) -> Vec<Pid> {
    Vec::new()
}

/// Every process with its parent.
#[cfg(target_os = "linux")]
fn processes() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let processes = names.filter_map(|name| {
        let process = name.parse().ok()?;
        let stat = std::fs::read(format!("/proc/{name}/stat")).ok()?;
        Some((process, parent(&stat)?))
    });
    processes.collect()
}

/// The parent in a line like `7 (name) S 1 …`; the name may have anything in it, parentheses too.
#[cfg(target_os = "linux")]
fn parent(stat: &[u8]) -> Option<i32> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}
