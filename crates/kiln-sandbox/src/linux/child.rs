//! The child confines itself before it executes the program.
//!
//! It runs in the memory of its parent, whose other threads continue and may hold any lock, so it only makes system
//! calls on prepared data.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, chdir, getppid, set_parent_process_death_signal, setpgid,
    setrlimit, umask,
};
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;

use super::control_groups::ControlGroup;
use super::file_rules::allow_own_process;
use super::identity::Identity;
use super::kernel;
use super::parent_watch::GroupEntry;
use super::spawn::Confinement;
use super::step::ConfineStep;

/// The prepared data of the child.
pub(super) struct Plan {
    pub(super) parent: Pid,
    /// The private directory.
    pub(super) directory: CString,
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

impl Confinement for Plan {
    fn was_dumpable(&self) -> bool {
        self.was_dumpable
    }

    /// The order of the steps matters.
    fn enter(&self, id: Pid) -> io::Result<()> {
        chdir(&*self.directory)?;
        // No process leaves the group later, so that killing the group kills all. Not a session: on systems that
        // schedule by session (`sched_autogroup_enabled`) each run would begin with a new share, and wait twice as long
        // on a busy machine. The terminal is unreachable anyway: it is not among the files.
        ConfineStep::Group.done(setpgid(None, None))?;
        self.group_entry.note(id);
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
