//! A child isolates itself before it executes a program of an image.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use libc::c_int;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, fchdir, set_parent_process_death_signal, setpgid, setrlimit,
    umask,
};
use rustix::system::sethostname;
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;

use super::super::child::raise_oom_score;
use super::super::control_groups::ControlGroup;
use super::super::file_rules::RootRules;
use super::super::kernel;
use super::super::parent_watch::GroupEntry;
use super::super::spawn::Confinement;
use super::super::step::ConfineStep;
use super::mounts::{ImageMounts, ProcKind};
use super::paths::open_chosen;
use super::user::{FunctionUser, drop_capabilities};
use crate::image::ImageNetwork;

/// The prepared data of the child.
pub(super) struct ImagePlan {
    /// Becomes readable when this process exits.
    pub(super) parent: Arc<OwnedFd>,
    pub(super) was_dumpable: bool,
    pub(super) user: FunctionUser,
    pub(super) network: ImageNetwork,
    pub(super) directory: CString,
    pub(super) program: CString,
    pub(super) rlimits: Vec<(Resource, Rlimit)>,
    /// Allows the root of the image and nothing else, where the kernel has Landlock.
    pub(super) rules: Option<RootRules>,
    pub(super) filter: Arc<BpfProgram>,
    /// Records the process, so that it does not outlive a parent that is killed.
    pub(super) group_entry: GroupEntry,
    /// The control group that counts its use.
    pub(super) group: Option<ControlGroup>,
}

/// One attempt to carry out a plan, with one kind of `/proc`: which one works is known after the first run.
pub(super) struct ImageConfinement<'a> {
    pub(super) plan: &'a ImagePlan,
    mounts: ImageMounts,
    proc: ProcKind,
    /// The descriptors of this process that the child needs, in their order.
    kept: Vec<RawFd>,
}

impl ImageConfinement<'_> {
    pub(super) fn new(
        plan: &ImagePlan,
        mounts: ImageMounts,
        proc: ProcKind,
    ) -> ImageConfinement<'_> {
        let rules = plan.rules.as_ref().map(|rules| rules.descriptor());
        let kept = mounts.descriptors().chain(rules);
        let mut kept: Vec<RawFd> = kept.chain([plan.parent.as_raw_fd()]).collect();
        kept.sort_unstable();
        ImageConfinement {
            plan,
            mounts,
            proc,
            kept,
        }
    }
}

/// The name of the machine that functions see.
const HOST_NAME: &[u8] = b"localhost";

/// The namespaces of every function.
const NAMESPACES: c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

impl Confinement for ImageConfinement<'_> {
    fn was_dumpable(&self) -> bool {
        self.plan.was_dumpable
    }

    fn namespaces(&self) -> c_int {
        match self.plan.network {
            ImageNetwork::Loopback => NAMESPACES | libc::CLONE_NEWNET,
            ImageNetwork::Host => NAMESPACES,
        }
    }

    fn namespace_owner(&self) -> Option<u32> {
        self.plan.user.own
    }

    /// The order of the steps matters: each needs rights that a later one drops.
    fn enter(&self, id: Pid) -> io::Result<()> {
        let plan = self.plan;
        // The process is the first of its namespace: when it ends, the kernel kills all others. The group is for those
        // that kill it by that.
        ConfineStep::Group.done(setpgid(None, None))?;
        // By its ID outside; inside, it is 1.
        plan.group_entry.note(id);
        // Before anything is used that counts, and while it is permitted.
        if let Some(group) = &plan.group {
            ConfineStep::ControlGroup.done(group.join())?;
        }
        // The standard three are the pipes already; no other file of ours reaches the function, whatever else fails. Closed
        // now, because /proc of the function has links to all open files (CVE-2024-21626).
        ConfineStep::Descriptors.done(kernel::close_descriptors_except(&self.kept))?;
        ConfineStep::Descriptors.done(kernel::close_all_descriptors_on_exec())?;
        // Before anything that depends on the user. Needs the old /proc.
        ConfineStep::Users.done(plan.user.map())?;
        raise_oom_score();
        // Engines enable it too. Nothing but the function's own processes can be reached through it.
        if plan.network == ImageNetwork::Loopback {
            let _ = kernel::enable_loopback();
        }
        self.mounts.enter(self.proc)?;
        ConfineStep::HostName.done(sethostname(HOST_NAME))?;
        for (resource, limit) in &plan.rlimits {
            ConfineStep::Limits.done(setrlimit(*resource, *limit))?;
        }
        ConfineStep::Identity.done(plan.user.become_user())?;
        // As that user, so that it needs its rights on the directory.
        self.enter_directory()?;
        ConfineStep::Capabilities.done(drop_capabilities())?;
        // A change of user would clear it. The ID of the parent is 0 in this namespace, so whether the parent still
        // exists is read from its descriptor: if it has exited already, no signal would come.
        ConfineStep::Parent.done(set_parent_process_death_signal(Some(Signal::KILL)))?;
        ConfineStep::Parent.done(check_is_running(&plan.parent))?;
        // As in containers.
        umask(Mode::WGRP | Mode::WOTH);
        // Without it the kernel accepts neither rules nor filters.
        ConfineStep::Privileges.done(set_no_new_privs(true))?;
        // In addition to the mounts: if one of them could be left, its files would be closed.
        if let Some(rules) = &plan.rules {
            ConfineStep::Files.done(rules.enter())?;
        }
        // Last, because it forbids most of the above; and before anything of the image runs.
        ConfineStep::Filter.done(kernel::install_filter(&plan.filter))
    }
}

impl ImageConfinement<'_> {
    /// Changes to the working directory, and checks that the program is a file of the image: exec takes only its path.
    /// Nothing of the image runs yet that could change where it leads.
    fn enter_directory(&self) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = ConfineStep::WorkingDirectory.done(open(c"/", flags, Mode::empty()))?;
        let directory = open_chosen(root.as_fd(), &self.plan.directory, OFlags::DIRECTORY);
        let entered = directory.and_then(fchdir);
        ConfineStep::WorkingDirectory.done(entered)?;
        match self.plan.program.is_empty() {
            true => Ok(()),
            // An error without a step is one of the program.
            false => Ok(open_chosen(root.as_fd(), &self.plan.program, OFlags::empty()).map(drop)?),
        }
    }
}

/// Fails if the process of the descriptor has exited.
fn check_is_running(process: &OwnedFd) -> rustix::io::Result<()> {
    let mut ends = [PollFd::new(process, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut ends, Some(&at_once))? {
        0 => Ok(()),
        _ => Err(rustix::io::Errno::SRCH),
    }
}
