//! Kills a child with everything that it started.

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpgid,
};

/// How often to look for processes that were started during the last look.
const LOOKS: usize = 100;

/// Kills the group of a child that has not been waited for yet, so that its ID is still its own, and all its
/// descendants, including those with their own group or session.
///
/// A process that left the session and whose ancestors have all exited cannot be recognised, unless this process adopts
/// orphans ([`super::adopt_orphans`]).
pub(super) fn kill_all(leader: Pid) {
    // A stopped process starts no others. Processes that left the group continue, so repeat until there are no new
    // ones.
    let _ = kill_process_group(leader, Signal::STOP);
    let mut killed: Vec<Pid> = Vec::new();
    for _ in 0..LOOKS {
        let mut descendants = descendants::of(leader);
        // An error means that nothing is left to kill.
        let _ = kill_process_group(leader, Signal::KILL);
        descendants.retain(|member| !killed.contains(member));
        if descendants.is_empty() {
            break;
        }
        for &member in &descendants {
            let _ = kill_process(member, Signal::KILL);
        }
        killed.extend(descendants);
    }
    descendants::reap(&killed);
}

/// Kills the group of a child that has exited and not been waited for. No process leaves the group in a sandbox, so the
/// group is all that the child left behind.
pub(super) fn kill_rest(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Waits for killed processes of a child's group that this process has adopted; the child has been waited for. Usually
/// there are none, which costs one system call.
pub(super) fn reap_group(leader: Pid) {
    while test_kill_process_group(leader).is_ok()
        && let Ok(Some(_)) = waitpgid(leader, WaitOptions::empty())
    {}
}

/// Interrupts the group of a child, as the terminal would.
pub(super) fn interrupt(leader: Pid) {
    let _ = kill_process_group(leader, Signal::INT);
}

/// The descendants of a process, from `/proc`.
#[cfg(target_os = "linux")]
mod descendants {
    use kiln_sandbox::{Process, is_watcher, processes};
    use rustix::process::{Pid, WaitOptions, child_subreaper, getpid, waitpid};

    use crate::process::registry;

    /// All descendants of `leader` at this moment, without itself.
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

    /// Orphans adopted since `leader` started: children that this process did not start, outside its group.
    ///
    /// The own session is read from `/proc` too, not with `getsid`: in a container the session leader may be outside,
    /// where it has no ID; `/proc` shows 0 then.
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

    /// Waits for the killed processes that are our children by now; does nothing for all others.
    pub(super) fn reap(descendants: &[Pid]) {
        for &member in descendants {
            let _ = waitpid(Some(member), WaitOptions::empty());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod descendants {
    use rustix::process::Pid;

    pub(super) fn of(_: Pid) -> Vec<Pid> {
        Vec::new()
    }

    pub(super) fn reap(_: &[Pid]) {}
}
