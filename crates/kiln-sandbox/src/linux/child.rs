//! The child confines itself before it executes the program.
//!
//! It runs in the memory of its parent, whose other threads continue and may hold any lock, so it only makes system
//! calls on prepared data.

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
use super::file_rules::allow_own_process;
use super::identity::Identity;
use super::kernel;
use super::parent_watch::GroupEntry;

/// The prepared data of the child.
pub(super) struct Plan {
    pub(super) parent: Pid,
    /// Whether the parent is dumpable, and must be so again afterwards.
    pub(super) was_dumpable: bool,
    pub(super) identity: Identity,
    pub(super) rlimits: Vec<(Resource, Rlimit)>,
    pub(super) ruleset: OwnedFd,
    pub(super) filter: Arc<BpfProgram>,
    /// Records the process, so that it does not outlive a parent that is killed.
    pub(super) group_entry: GroupEntry,
    /// The control group that counts its use.
    pub(super) group: Option<ControlGroup>,
}

impl Plan {
    /// Confines the calling process, which has one thread. The order of the steps matters.
    pub(super) fn enter(&self) -> io::Result<()> {
        // No process leaves the group later, so that killing the group kills all. Not a session: on systems that
        // schedule by session (`sched_autogroup_enabled`) each run would begin with a new share, and wait twice as long
        // on a busy machine. The terminal is unreachable anyway: it is not among the files.
        ConfineStep::Group.done(setpgid(None, None))?;
        self.group_entry.note(getpid());
        // Before anything is used that counts, and while it is permitted.
        if let Some(group) = &self.group {
            ConfineStep::ControlGroup.done(group.join())?;
        }
        ConfineStep::Descriptors.done(kernel::close_all_descriptors_on_exec())?;
        // Both need files of /proc, so they come before the rules for files.
        raise_oom_score();
        ConfineStep::Files.done(allow_own_process(self.ruleset.as_fd()))?;
        for (resource, limit) in &self.rlimits {
            ConfineStep::Limits.done(setrlimit(*resource, *limit))?;
        }
        // Drops rights that the steps before may need.
        ConfineStep::Identity.done(self.identity.take())?;
        // A change of user would clear it. If the parent has exited already, no signal would come.
        ConfineStep::Parent.done(set_parent_process_death_signal(Some(Signal::KILL)))?;
        if getppid() != Some(self.parent) {
            return ConfineStep::Parent.done(Err(rustix::io::Errno::SRCH));
        }
        umask(Mode::RWXG | Mode::RWXO);
        // Without it the kernel accepts neither rules nor filters.
        ConfineStep::Privileges.done(set_no_new_privs(true))?;
        ConfineStep::Files.done(kernel::restrict_self(self.ruleset.as_fd()))?;
        // Last, because it forbids some of the above.
        ConfineStep::Filter.done(kernel::install_filter(&self.filter))
    }
}

/// Functions are the first to be killed when memory is short. Not permitted everywhere, and nothing depends on it.
pub(super) fn raise_oom_score() {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(file) = open(c"/proc/self/oom_score_adj", flags, Mode::empty()) {
        let _ = rustix::io::write(file, b"1000");
    }
}

/// A step of confining. The child can pass only one number to the parent, so the step is stored above the error number.
#[derive(Clone, Copy)]
pub(super) enum ConfineStep {
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

/// Error numbers of the kernel are smaller.
const SHIFT: u32 = 12;

impl ConfineStep {
    fn done<E: Into<io::Error>>(self, result: Result<(), E>) -> io::Result<()> {
        result.map_err(|error| {
            let number = error.into().raw_os_error().unwrap_or(libc::EINVAL);
            io::Error::from_raw_os_error((self as i32) << SHIFT | number)
        })
    }

    /// The step and its error, if the error belongs to a step.
    pub(super) fn of(error: &io::Error) -> Option<(&'static str, io::Error)> {
        let number = error.raw_os_error()?;
        let doing = match number >> SHIFT {
            1 => "make a process group",
            2 => "close open files",
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
