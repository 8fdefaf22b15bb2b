//! A run of a confined program: an executable in a sandbox, or a program of an image in namespaces.

use kiln_sandbox::{Excess, ImageRun, SandboxRun};
use rustix::process::Pid;

pub(super) enum ConfinedRun<'a> {
    Executable(SandboxRun),
    Image(ImageRun<'a>),
}

impl ConfinedRun<'_> {
    /// Which limit the processes of `leader` exceed together.
    pub(super) fn excess(&self, leader: Pid) -> Option<Excess> {
        match self {
            ConfinedRun::Executable(run) => run.excess(leader),
            ConfinedRun::Image(run) => run.excess(leader),
        }
    }

    /// The limit for which the kernel has killed the processes, as far as it reports that.
    pub(super) fn excess_at_end(&self) -> Option<Excess> {
        match self {
            ConfinedRun::Executable(run) => run.excess_at_end(),
            ConfinedRun::Image(run) => run.excess_at_end(),
        }
    }

    /// Kills all remaining processes, as far as they can be found without the ID of their process group.
    pub(super) fn kill(&self) {
        match self {
            ConfinedRun::Executable(run) => run.kill(),
            ConfinedRun::Image(run) => run.kill(),
        }
    }
}
