//! Starting a confined process.
//!
//! Not by fork: copying the page tables of a server takes longer than everything else together (40 ms for 300 MB). The
//! child is made as `posix_spawn` makes one, in the memory of its parent, which waits until it has become another
//! program. What that asks of the code that runs in it: system calls only, no allocation, no lock, no panic, and
//! nothing that leaves a trace in memory.

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
use rustix::process::{DumpableBehavior, Pid, WaitOptions, chdir, set_dumpable_behavior, waitpid};

use super::child::Plan;
use super::mask::SignalMask;

/// What a process is started with.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    /// By what name it is called, and what follows.
    pub(super) words: Vec<&'a str>,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) directory: &'a Path,
    /// Who has to be able to open its standard files by name.
    pub(super) owner: Option<u32>,
}

/// A process that has been started and is to be waited for.
#[derive(Debug)]
pub struct Started {
    /// Its number, which is also that of its group.
    pub id: Pid,
    /// What it reads.
    pub stdin: PipeWriter,
    /// What it writes.
    pub stdout: PipeReader,
    /// What it says besides.
    pub stderr: PipeReader,
}

/// Starts a process that does what `plan` says before it becomes the program. An error may be one of a step of the plan.
pub(super) fn start(start: &Start<'_>, plan: &Plan) -> io::Result<Started> {
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
    let words: Vec<CString> = terminated(start.words.iter().map(OsStr::new))?;
    let variables = start.environment.iter().map(|(name, value)| {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        variable
    });
    let variables: Vec<OsString> = variables.collect();
    let variables = terminated(variables.iter().map(OsString::as_os_str))?;
    let birth = Birth {
        plan,
        program: &CString::new(start.program.as_os_str().as_bytes())?,
        words: &pointers(&words),
        variables: &pointers(&variables),
        directory: &CString::new(start.directory.as_os_str().as_bytes())?,
        files: [
            theirs[0].as_raw_fd(),
            theirs[1].as_raw_fd(),
            theirs[2].as_raw_fd(),
        ],
        error: AtomicI32::new(0),
    };
    let id = birth.give()?;
    match birth.error.load(Ordering::Relaxed) {
        0 => Ok(Started {
            id,
            stdin,
            stdout,
            stderr,
        }),
        error => {
            // It has ended, or is about to.
            while matches!(waitpid(Some(id), WaitOptions::empty()), Err(Errno::INTR)) {}
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// A file whose number is none of those that it will be given: putting it there would close another.
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

/// As the kernel wants them: with a null pointer at the end.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    let pointers = texts.iter().map(|text| text.as_ptr());
    pointers.chain([std::ptr::null()]).collect()
}

/// Everything that the child uses.
struct Birth<'a> {
    plan: &'a Plan,
    program: &'a CStr,
    words: &'a [*const c_char],
    variables: &'a [*const c_char],
    directory: &'a CStr,
    files: [RawFd; 3],
    /// What went wrong in the child.
    error: AtomicI32,
}

/// Much more than the child needs, in units of sixteen bytes, which is how it has to be aligned.
const STACK: usize = 64 * 1024 / 16;

impl Birth<'_> {
    /// Makes the child, and returns when it has become another program or has ended.
    fn give(&self) -> io::Result<Pid> {
        let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK);
        let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
        let mask = SignalMask::block_all()?;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        #[expect(
            unsafe_code,
            reason = "there is no other way to start a process that confines itself without copying this one"
        )]
        // SAFETY: the child runs `live` on a stack of its own, which is aligned, grows down from `top` and is freed only
        // after the child has left this memory: with CLONE_VFORK the calling thread stands still until then. `self`
        // outlives the call for the same reason, and is shared with the child as with another thread: all of it is
        // `Sync` or only read but for `error`, which is atomic. No signal handler runs in the child: all signals are
        // blocked until it has given up the handlers.
        let answer = unsafe {
            libc::clone(
                live,
                top.cast::<c_void>(),
                flags,
                std::ptr::from_ref(self).cast_mut().cast::<c_void>(),
            )
        };
        let answer = match answer {
            -1 => Err(io::Error::last_os_error()),
            id => Ok(id),
        };
        drop(mask);
        // A child that became another user has made the memory, which is ours too, one that cannot be dumped.
        if self.plan.was_dumpable {
            let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
        }
        let id = answer?;
        Pid::from_raw(id).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// What the child does. It returns only if that fails.
    fn begin(&self) -> io::Result<()> {
        give_up_handlers()?;
        for (number, file) in (0..).zip(self.files) {
            put(file, number)?;
        }
        chdir(self.directory)?;
        self.plan.enter()?;
        SignalMask::none()?;
        #[expect(
            unsafe_code,
            reason = "the last step has to be one that does not allocate"
        )]
        // SAFETY: all three point to text that ends with NUL, the lists end with a null pointer, and all of it outlives
        // the call. Nothing of this memory is touched afterwards unless it fails.
        unsafe {
            libc::execve(
                self.program.as_ptr(),
                self.words.as_ptr(),
                self.variables.as_ptr(),
            )
        };
        Err(io::Error::last_os_error())
    }
}

/// Where the child begins.
extern "C" fn live(birth: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "the argument of a clone is a bare pointer")]
    // SAFETY: `give` passes a `Birth` that outlives the child's stay in this memory, and nobody changes it meanwhile.
    let birth = unsafe { &*birth.cast_const().cast::<Birth<'_>>() };
    if let Err(error) = birth.begin() {
        let number = error.raw_os_error().unwrap_or(libc::EINVAL);
        birth.error.store(number, Ordering::Relaxed);
    }
    // Ends the process, as `_exit` would.
    127
}

/// Puts an open file in the place of another.
fn put(file: RawFd, number: RawFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the file that is replaced has no owner here")]
    // SAFETY: two numbers are passed. The child has a table of files of its own, in which the standard three belong to
    // nobody but this code.
    let answer = unsafe { libc::dup2(file, number) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Lets every signal do what it does by default, unless it is ignored. (Broken pipes are ignored by Rust programs, and
/// their children do not expect that.) Exec would do the same, but only after the signals are let through again.
fn give_up_handlers() -> io::Result<()> {
    for number in 1..=64 {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        #[expect(unsafe_code, reason = "no library does so")]
        // SAFETY: the kernel writes a whole action to memory of that type; zeros are one too (the default). The child's
        // table of actions is its own. Numbers that are none, or are the C library's own, are refused.
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
