//! Ending a child with everything that it started.

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpgid,
};

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

/// Kills the group of a child that has ended and not been waited for. In a sandbox nobody leaves the group, so these are
/// all that it left behind.
pub(super) fn kill_rest(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Waits for those of the group of a child, which has been waited for, who were adopted by us and killed. Usually there
/// are none, and that is found out at once.
pub(super) fn bury_rest(leader: Pid) {
    while test_kill_process_group(leader).is_ok()
        && let Ok(Some(_)) = waitpgid(leader, WaitOptions::empty())
    {}
}

/// Interrupts the group of a child, as the terminal would.
pub(super) fn ask(leader: Pid) {
    let _ = kill_process_group(leader, Signal::INT);
}

/// Who descends from whom, by what `/proc` says.
#[cfg(target_os = "linux")]
mod family {
    use kiln_sandbox::{Process, is_watcher, processes};
    use rustix::process::{Pid, WaitOptions, child_subreaper, getpid, waitpid};

    use crate::process::registry;

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
                && !is_watcher(process.id)
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
}

#[cfg(not(target_os = "linux"))]
mod family {
    use rustix::process::Pid;

    pub(super) fn of(_: Pid) -> Vec<Pid> {
        Vec::new()
    }

    pub(super) fn bury(_: &[Pid]) {}
}
