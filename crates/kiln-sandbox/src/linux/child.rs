//! What the child does to itself before it becomes the program.
//!
//! It does so in the memory of its parent, whose other threads run on and may hold any lock, so here is nothing but
//! system calls on what was prepared before.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setpgid,
    setrlimit, umask,
};
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;

use super::control_groups::ControlGroup;
use super::identity::Identity;
use super::kernel;
use super::parent_watch::Noted;
use super::places::allow_own_process;

/// Everything that the child needs.
pub(super) struct Plan {
    pub(super) parent: Pid,
    /// Whether the parent can be dumped, and should be able to afterwards.
    pub(super) was_dumpable: bool,
    pub(super) identity: Identity,
    pub(super) rlimits: Vec<(Resource, Rlimit)>,
    pub(super) ruleset: OwnedFd,
    pub(super) filter: Arc<BpfProgram>,
    /// Where to note the process, so that it does not outlive a parent that is killed.
    pub(super) noted: Noted,
    /// Where its use is counted.
    pub(super) group: Option<ControlGroup>,
}

impl Plan {
    /// Confines the calling process, which has one thread. Each step stands where it does for a reason.
    pub(super) fn enter(&self) -> io::Result<()> {
        // No process leaves the group later, so that killing the group kills all. Not a session: on systems that share
        // out computing time by session (`sched_autogroup_enabled`) each run would begin with a new share, and wait twice
        // as long on a busy machine. The terminal stays out of reach without: it is not among the files.
        Step::Group.done(setpgid(None, None))?;
        self.noted.note(getpid());
        // Before anything is used that counts, and while we may.
        if let Some(group) = &self.group {
            Step::ControlGroup.done(group.join())?;
        }
        Step::Descriptors.done(kernel::keep_all_descriptors())?;
        // Both need what is in /proc, so they come before the rules about files.
        volunteer_to_be_killed();
        Step::Files.done(allow_own_process(self.ruleset.as_fd()))?;
        for (resource, limit) in &self.rlimits {
            Step::Limits.done(setrlimit(*resource, *limit))?;
        }
        // Takes the rights with it that the steps before may need.
        Step::Identity.done(self.identity.take())?;
        // A change of user would clear it. If our parent has gone already, nobody would tell us.
        Step::Parent.done(set_parent_process_death_signal(Some(Signal::KILL)))?;
        if getppid() != Some(self.parent) {
            return Step::Parent.done(Err(rustix::io::Errno::SRCH));
        }
        umask(Mode::RWXG | Mode::RWXO);
        // Without it the kernel takes neither rules nor filters.
        Step::Privileges.done(set_no_new_privs(true))?;
        Step::Files.done(kernel::restrict_self(self.ruleset.as_fd()))?;
        // Last, because it forbids some of the above.
        Step::Filter.done(kernel::install_filter(&self.filter))
    }
}

/// When memory is short, functions go first. Not everywhere allowed, and nothing depends on it.
pub(super) fn volunteer_to_be_killed() {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(file) = open(c"/proc/self/oom_score_adj", flags, Mode::empty()) {
        let _ = rustix::io::write(file, b"1000");
    }
}

/// A step of confining. The child can tell the parent nothing but one number, so the step goes above the error's.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Group = 1,
    Descriptors,
    Files,
    Limits,
    Identity,
    Parent,
    Privileges,
    Filter,
    ControlGroup,
}

/// Errors of the kernel are smaller.
const SHIFT: u32 = 12;

impl Step {
    fn done<E: Into<io::Error>>(self, result: Result<(), E>) -> io::Result<()> {
        result.map_err(|error| {
            let number = error.into().raw_os_error().unwrap_or(libc::EINVAL);
            io::Error::from_raw_os_error((self as i32) << SHIFT | number)
        })
    }

    /// What failed, and how, if the error is one of a step.
    pub(super) fn of(error: &io::Error) -> Option<(&'static str, io::Error)> {
        let number = error.raw_os_error()?;
        let doing = match number >> SHIFT {
            1 => "make a process group",
            2 => "keep open files",
            3 => "restrict files",
            4 => "set limits",
            5 => "change the user",
            6 => "end with the parent",
            7 => "give up new privileges",
            8 => "filter system calls",
            9 => "join the control group",
            _ => return None,
        };
        let source = io::Error::from_raw_os_error(number & ((1 << SHIFT) - 1));
        Some((doing, source))
    }
}
