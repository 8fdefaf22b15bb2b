//! The steps by which a child confines itself.

use std::io;

use crate::image::IsolationStep;

/// A step of confining. The child can pass only one number to the parent, so the step is stored above the error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    Namespaces,
    Users,
    PrivateMounts,
    Root,
    RootPivot,
    Proc,
    Devices,
    WritableDirectories,
    UserMounts,
    OldRoot,
    HostName,
    WorkingDirectory,
    Capabilities,
}

/// All steps, in the order of their numbers.
const STEPS: [ConfineStep; 22] = [
    ConfineStep::Group,
    ConfineStep::Descriptors,
    ConfineStep::Files,
    ConfineStep::Limits,
    ConfineStep::Identity,
    ConfineStep::Parent,
    ConfineStep::Privileges,
    ConfineStep::Filter,
    ConfineStep::ControlGroup,
    ConfineStep::Namespaces,
    ConfineStep::Users,
    ConfineStep::PrivateMounts,
    ConfineStep::Root,
    ConfineStep::RootPivot,
    ConfineStep::Proc,
    ConfineStep::Devices,
    ConfineStep::WritableDirectories,
    ConfineStep::UserMounts,
    ConfineStep::OldRoot,
    ConfineStep::HostName,
    ConfineStep::WorkingDirectory,
    ConfineStep::Capabilities,
];

/// Error numbers of the kernel are smaller.
const SHIFT: u32 = 12;

impl ConfineStep {
    pub(super) fn done<T, E: Into<io::Error>>(self, result: Result<T, E>) -> io::Result<T> {
        result.map_err(|error| {
            let number = error.into().raw_os_error().unwrap_or(libc::EINVAL);
            io::Error::from_raw_os_error((self as i32) << SHIFT | number)
        })
    }

    /// The step and its error, if the error belongs to a step.
    pub(super) fn of(error: &io::Error) -> Option<(ConfineStep, io::Error)> {
        let number = error.raw_os_error()?;
        let index = usize::try_from(number >> SHIFT).ok()?.checked_sub(1)?;
        let step = *STEPS.get(index)?;
        let source = io::Error::from_raw_os_error(number & ((1 << SHIFT) - 1));
        Some((step, source))
    }

    /// What it does, as a verb and its object.
    pub(super) fn doing(self) -> &'static str {
        match self {
            ConfineStep::Group => "make a process group",
            ConfineStep::Descriptors => "close open files",
            ConfineStep::Files => "restrict files",
            ConfineStep::Limits => "set limits",
            ConfineStep::Identity => "change the user",
            ConfineStep::Parent => "end with the parent",
            ConfineStep::Privileges => "give up new privileges",
            ConfineStep::Filter => "filter system calls",
            ConfineStep::ControlGroup => "join the control group",
            ConfineStep::Namespaces => "create namespaces",
            ConfineStep::Users => "map the user of the function",
            ConfineStep::PrivateMounts => "make the mounts private",
            ConfineStep::Root => "mount the root of the image",
            ConfineStep::RootPivot => "change the root",
            ConfineStep::Proc => "mount /proc",
            ConfineStep::Devices => "make /dev",
            ConfineStep::WritableDirectories => "mount writable directories",
            ConfineStep::UserMounts => "mount files of this machine",
            ConfineStep::OldRoot => "unmount the old root",
            ConfineStep::HostName => "set the host name",
            ConfineStep::WorkingDirectory => "change to the working directory of the image",
            ConfineStep::Capabilities => "drop capabilities",
        }
    }

    /// The kind of the step, if it depends on the system and not on the image or on what the caller asks for.
    pub(super) fn of_system(self) -> Option<IsolationStep> {
        match self {
            ConfineStep::Namespaces => Some(IsolationStep::Namespaces),
            ConfineStep::Users => Some(IsolationStep::Users),
            ConfineStep::PrivateMounts
            | ConfineStep::Root
            | ConfineStep::RootPivot
            | ConfineStep::Devices
            | ConfineStep::OldRoot => Some(IsolationStep::Mounts),
            ConfineStep::Proc => Some(IsolationStep::Proc),
            ConfineStep::WritableDirectories
            | ConfineStep::UserMounts
            | ConfineStep::WorkingDirectory => None,
            _ => Some(IsolationStep::Other),
        }
    }
}

#[cfg(test)]
mod tests;
