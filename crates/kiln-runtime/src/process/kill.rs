//! Ending a child with everything that it started.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often to look for those who were started while we looked.
const LOOKS: usize = 100;

/// Kills the group of a child that has not been waited for yet, so that its number is still its own, and all its
/// descendants, those that made a group or a session of their own too.
///
/// A process that left the session and whose parents have all ended cannot be told from a stranger, unless we adopt
/// orphans ([`super::adopt_orphans`]).
pub(super) fn kill_all(leader: Pid) {
    // Who is stopped starts nobody while we look. Those who left the group go on, so we look until nobody is new.
    let _ = kill_process_group(leader, Signal::STOP);
    let mut killed: Vec<Pid> = Vec::new();
    for _ in 0..LOOKS {
        let mut family = family::of(leader);
        // Errors mean that there is nothing left to kill.
        let _ = kill_process_group(leader, Signal::KILL);
        family.retain(|member| !killed.contains(member));
        if family.is_empty() {
            break;
        }
        for &member in &family {
            let _ = kill_process(member, Signal::KILL);
        }
        killed.extend(family);
    }
    family::bury(&killed);
}

/// Interrupts the group of a child, as the terminal would.
pub(super) fn ask(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::INT);
}

/// Who descends from whom, by what `/proc` says.
#[cfg(target_os = "linux")]
mod family {
    use rustix::process::{Pid, WaitOptions, child_subreaper, getpid, waitpid};

    use crate::process::registry;

    struct Process {
        id: i32,
        parent: i32,
        group: i32,
        session: i32,
        /// In ticks since the system started.
        started: u64,
    }

    /// All processes that descend from `leader` at this moment, without itself.
    pub(super) fn of(leader: Pid) -> Vec<Pid> {
        let processes = processes();
        let leader = leader.as_raw_nonzero().get();
        let mut parents = vec![leader];
        let mut found: Vec<i32> = adopted(leader, &processes);
        parents.extend(&found);
        while let Some(parent) = parents.pop() {
            let children = processes.iter().filter(|process| process.parent == parent);
            for child in children {
                parents.push(child.id);
                found.push(child.id);
            }
        }
        found.into_iter().filter_map(Pid::from_raw).collect()
    }

    /// Orphans that came to us since `leader` started: children that we did not start, and that have left our group.
    ///
    /// Our session is read like theirs, not asked for with `getsid`: in a container its leader may be outside, where it
    /// has no number, and what has none is shown as 0.
    fn adopted(leader: i32, processes: &[Process]) -> Vec<i32> {
        let find = |id| processes.iter().find(|process| process.id == id);
        let us = getpid().as_raw_nonzero().get();
        let (Some(leader), Some(ourselves), Ok(Some(_))) =
            (find(leader), find(us), child_subreaper())
        else {
            return Vec::new();
        };
        let started_here = registry::children();
        let is_started_here =
            |id: i32| Pid::from_raw(id).is_some_and(|id| started_here.contains(&id));
        let has_left = |process: &Process| {
            (process.session, process.group) != (ourselves.session, ourselves.group)
        };
        let orphans = processes.iter().filter(|process| {
            process.parent == us
                && has_left(process)
                && process.started >= leader.started
                && !is_started_here(process.id)
        });
        orphans.map(|process| process.id).collect()
    }

    /// Waits for those killed who are our children by now; for all others it does nothing.
    pub(super) fn bury(family: &[Pid]) {
        for &member in family {
            let _ = waitpid(Some(member), WaitOptions::empty());
        }
    }

    /// Nobody, if `/proc` counts processes in another way than we do: it may be that of the host.
    fn processes() -> Vec<Process> {
        let us = getpid().as_raw_nonzero().get().to_string();
        if std::fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() != us.as_str()) {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let processes = names.filter_map(|name| {
            let id = name.parse().ok()?;
            let stat = std::fs::read(format!("/proc/{name}/stat")).ok()?;
            parse(id, &stat)
        });
        processes.collect()
    }

    /// Reads a line like `7 (name) S 1 …`; the name may have anything in it, parentheses too.
    fn parse(id: i32, stat: &[u8]) -> Option<Process> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        Some(Process {
            id,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod family {
    use rustix::process::Pid;

    pub(super) fn of(_: Pid) -> Vec<Pid> {
        Vec::new()
    }

    pub(super) fn bury(_: &[Pid]) {}
}
