//! Starts a confined process.
//!
//! Not by fork: copying the page tables of a server takes longer than everything else together (40 ms for 300 MB). The
//! child is made as `posix_spawn` makes one, in the memory of its parent, which waits until the child has executed
//! another program. So the code that runs in the child makes system calls only, without allocation, locks, panics or
//! changes of memory.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_char, c_int, c_void};
use rustix::fs::{Gid, Uid, fchown};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, set_dumpable_behavior, waitpid};

use super::mask::SignalMask;
use super::step::ConfineStep;
use super::thread_user::ThreadUser;

/// How a child confines itself.
pub(super) trait Confinement: Sync {
    /// Whether the parent is dumpable, and must be so again afterwards.
    fn was_dumpable(&self) -> bool;

    /// The flags of its new namespaces.
    fn namespaces(&self) -> c_int {
        0
    }

    /// The user that owns the user namespace, if it is another one than ours.
    fn namespace_owner(&self) -> Option<u32> {
        None
    }

    /// Confines the calling process, which has one thread. `id` is its ID in the namespace of its parent. Runs in the
    /// child: only system calls.
    fn enter(&self, id: Pid) -> io::Result<()>;
}

/// The arguments of a process.
pub(super) struct ProcessStart<'a> {
    /// A child without a program exits as soon as it is confined.
    pub(super) program: Option<&'a Path>,
    /// Its name and its arguments.
    pub(super) words: Vec<&'a OsStr>,
    pub(super) environment: &'a [(OsString, OsString)],
    /// The user that must be able to open its standard files by name.
    pub(super) owner: Option<u32>,
}

/// A process that was started and must be waited for.
#[derive(Debug)]
pub struct StartedProcess {
    /// Its ID, which is also that of its group.
    pub id: Pid,
    pub stdin: PipeWriter,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
}

/// Starts a process that confines itself by `plan` before it executes the program. An error may belong to a step of the
/// plan.
pub(super) fn start(
    start: &ProcessStart<'_>,
    confinement: &dyn Confinement,
) -> io::Result<StartedProcess> {
    let (their_stdin, stdin) = io::pipe()?;
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let theirs = [
        above_standard(their_stdin.into())?,
        above_standard(their_stdout.into())?,
        above_standard(their_stderr.into())?,
    ];
    if let Some(owner) = start.owner {
        for file in &theirs {
            fchown(file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?;
        }
    }
    let words: Vec<CString> = terminated(start.words.iter().copied())?;
    let variables = start.environment.iter().map(|(name, value)| {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        variable
    });
    let variables: Vec<OsString> = variables.collect();
    let variables = terminated(variables.iter().map(OsString::as_os_str))?;
    let program = start.program.map(|program| program.as_os_str().as_bytes());
    let program = program.map(CString::new).transpose()?;
    let child = NewChild {
        confinement,
        program: program.as_deref(),
        words: &pointers(&words),
        variables: &pointers(&variables),
        files: [
            theirs[0].as_raw_fd(),
            theirs[1].as_raw_fd(),
            theirs[2].as_raw_fd(),
        ],
        id: AtomicI32::new(0),
        error: AtomicI32::new(0),
    };
    let id = child.clone_process()?;
    match child.error.load(Ordering::Relaxed) {
        0 => Ok(StartedProcess {
            id,
            stdin,
            stdout,
            stderr,
        }),
        error => {
            // It has exited, or is about to.
            while matches!(waitpid(Some(id), WaitOptions::empty()), Err(Errno::INTR)) {}
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// A file descriptor above the standard three: duplicating it onto one of them would close another.
fn above_standard(file: OwnedFd) -> io::Result<OwnedFd> {
    match file.as_raw_fd() > 2 {
        true => Ok(file),
        false => Ok(fcntl_dupfd_cloexec(file.as_fd(), 3)?),
    }
}

fn terminated<'a>(texts: impl Iterator<Item = &'a OsStr>) -> io::Result<Vec<CString>> {
    let texts = texts.map(|text| CString::new(text.as_bytes()));
    Ok(texts.collect::<Result<_, _>>()?)
}

/// As the kernel needs them: with a null pointer at the end.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    let pointers = texts.iter().map(|text| text.as_ptr());
    pointers.chain([std::ptr::null()]).collect()
}

/// The data of the child.
struct NewChild<'a> {
    confinement: &'a dyn Confinement,
    program: Option<&'a CStr>,
    words: &'a [*const c_char],
    variables: &'a [*const c_char],
    files: [RawFd; 3],
    /// Its ID in the namespace of its parent; the kernel stores it before the child runs.
    id: AtomicI32,
    /// The error in the child.
    error: AtomicI32,
}

/// Much more than the child needs, in units of sixteen bytes, which is its alignment.
const STACK: usize = 64 * 1024 / 16;

impl NewChild<'_> {
    /// Makes the child, and returns when it has executed another program or exited.
    fn clone_process(&self) -> io::Result<Pid> {
        let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK);
        let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
        let mask = SignalMask::block_all()?;
        let owner = self.confinement.namespace_owner();
        let owner = owner.map(ThreadUser::take).transpose();
        let owner = ConfineStep::Identity.done(owner)?;
        let namespaces = self.confinement.namespaces();
        let flags = libc::CLONE_VM
            | libc::CLONE_VFORK
            | libc::CLONE_PARENT_SETTID
            | libc::SIGCHLD
            | namespaces;
        #[expect(
            unsafe_code,
            reason = "there is no other way to start a process that confines itself without copying this one"
        )]
        // SAFETY: the child runs `run_child` on its own stack, which is aligned, grows down from `top` and is freed
        // only after the child has left this memory: with CLONE_VFORK the calling thread waits until then. `self`
        // outlives the call for the same reason, and is shared with the child as with another thread: all of it is
        // `Sync` or only read but for `error` and `id`, which are atomic; the kernel writes the latter. No signal handler
        // runs in the child: all signals are blocked until it has reset the handlers.
        let answer = unsafe {
            libc::clone(
                run_child,
                top.cast::<c_void>(),
                flags,
                std::ptr::from_ref(self).cast_mut().cast::<c_void>(),
                self.id.as_ptr(),
            )
        };
        let answer = match answer {
            -1 => Err(io::Error::last_os_error()),
            id => Ok(id),
        };
        drop(owner);
        drop(mask);
        let answer = match namespaces {
            0 => answer,
            _ => ConfineStep::Namespaces.done(answer),
        };
        // A thread or child that became another user has made the memory, which is also ours, undumpable.
        if self.confinement.was_dumpable() {
            let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
        }
        let id = answer?;
        Pid::from_raw(id).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The work of the child. With a program, it returns only on failure.
    fn begin(&self) -> io::Result<()> {
        reset_handlers()?;
        for (number, file) in (0..).zip(self.files) {
            put(file, number)?;
        }
        let id = Pid::from_raw(self.id.load(Ordering::Relaxed)).ok_or(Errno::SRCH)?;
        self.confinement.enter(id)?;
        SignalMask::none()?;
        let Some(program) = self.program else {
            return Ok(());
        };
        #[expect(
            unsafe_code,
            reason = "the last step has to be one that does not allocate"
        )]
        // SAFETY: all three point to text that ends with NUL, the lists end with a null pointer, and all of it outlives
        // the call. Nothing of this memory is touched afterwards unless it fails.
        unsafe {
            libc::execve(
                program.as_ptr(),
                self.words.as_ptr(),
                self.variables.as_ptr(),
            )
        };
        Err(io::Error::last_os_error())
    }
}

/// The entry point of the child.
extern "C" fn run_child(child: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "the argument of a clone is a bare pointer")]
    // SAFETY: `clone_process` passes a `NewChild` that outlives the child's time in this memory, and nothing changes it
    // meanwhile.
    let child = unsafe { &*child.cast_const().cast::<NewChild<'_>>() };
    // The number ends the process, like `_exit`.
    match child.begin() {
        Ok(()) => 0,
        Err(error) => {
            let number = error.raw_os_error().unwrap_or(libc::EINVAL);
            child.error.store(number, Ordering::Relaxed);
            127
        }
    }
}

/// Duplicates an open file onto a descriptor.
fn put(file: RawFd, number: RawFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the file that is replaced has no owner here")]
    // SAFETY: two numbers are passed. The child has its own table of files, in which only this code uses the standard
    // three.
    let answer = unsafe { libc::dup2(file, number) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Resets every signal to its default action, unless it is ignored. (Rust programs ignore broken pipes, and their
/// children do not expect that.) Exec would do the same, but only after the signals are unblocked.
fn reset_handlers() -> io::Result<()> {
    for number in 1..=64 {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: the kernel writes a whole action to memory of that type; zeros are a valid action (the default). The
        // child has its own table of actions. Invalid numbers, and those of the C library, are refused.
        let handler = unsafe {
            if libc::sigaction(number, std::ptr::null(), action.as_mut_ptr()) != 0 {
                continue;
            }
            action.assume_init_ref().sa_sigaction
        };
        let is_kept = handler == libc::SIG_DFL || handler == libc::SIG_IGN;
        if is_kept && number != libc::SIGPIPE {
            continue;
        }
        let default = MaybeUninit::<libc::sigaction>::zeroed();
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: as above; an action of zeros is the default one without flags.
        let answer = unsafe { libc::sigaction(number, default.as_ptr(), std::ptr::null_mut()) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
