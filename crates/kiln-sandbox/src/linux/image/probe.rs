//! Tries the levels of isolation, by the very steps of a run.
//!
//! Settings of the kernel do not predict what works: security modules and the filters of containers refuse single steps,
//! and some of them let a step succeed whose result is of no use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{WaitOptions, getpid, waitpid};

use super::super::support::Support;
use super::mounts::ProcKind;
use super::{ImageRun, ImageSandbox};
use crate::image::{
    FileRights, ImageNetwork, ImagePolicy, ImageProcess, IsolationLevel, LevelProbe,
};
use crate::measure::{SandboxError, StartError};

pub(super) fn try_levels(temporary: &Path) -> impl Iterator<Item = LevelProbe> {
    let levels = IsolationLevel::ALL.into_iter();
    levels.map(|level| LevelProbe {
        level,
        outcome: match level {
            IsolationLevel::Namespaces => try_namespaces(temporary, ProcKind::Own),
            IsolationLevel::NamespacesWithOuterProc => try_namespaces(temporary, ProcKind::Outer),
            IsolationLevel::Landlock => Support::probe().check(),
        },
    })
}

/// Isolates a process that exits at once.
fn try_namespaces(temporary: &Path, proc: ProcKind) -> Result<(), SandboxError> {
    let root = ProbeRoot::new(temporary)?;
    let sandbox = ImageSandbox::new(ImagePolicy::default())?;
    let process = ImageProcess {
        root: root.path.clone(),
        program: PathBuf::new(),
        words: Vec::new(),
        environment: Vec::<(OsString, OsString)>::new(),
        directory: PathBuf::from("/tmp"),
        user: (NOBODY, NOBODY),
        rights: FileRights::Least,
        writable: vec![PathBuf::from("/tmp")],
        mounts: Vec::new(),
        network: ImageNetwork::Loopback,
    };
    let run = sandbox.prepare_run(&process, None)?;
    let failed = |source| SandboxError::Confine {
        doing: "start a process",
        source,
    };
    attempt(&run, proc).map_err(|error| match error {
        StartError::Sandbox(error) => error,
        StartError::Program(source) => failed(source),
    })
}

/// The usual ID of the user `nobody`.
const NOBODY: u32 = 65_534;

fn attempt(run: &ImageRun<'_>, proc: ProcKind) -> Result<(), StartError> {
    let started = run.start_with(None, proc)?;
    loop {
        match waitpid(Some(started.id), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            ended => {
                return ended
                    .map(drop)
                    .map_err(|errno| StartError::Program(errno.into()));
            }
        }
    }
}

/// A directory with the mount points of an image, removed at the end.
struct ProbeRoot {
    path: PathBuf,
}

impl ProbeRoot {
    fn new(temporary: &Path) -> Result<ProbeRoot, SandboxError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-probe-{}-{number}", getpid().as_raw_nonzero());
        let path = temporary.join(name);
        let failed = |source| SandboxError::Scratch {
            path: temporary.to_owned(),
            source,
        };
        std::fs::create_dir(&path).map_err(failed)?;
        let root = ProbeRoot { path };
        for name in ["proc", "dev", "tmp"] {
            std::fs::create_dir(root.path.join(name)).map_err(failed)?;
        }
        Ok(root)
    }
}

impl Drop for ProbeRoot {
    fn drop(&mut self) {
        // Nothing was written to it.
        for name in ["proc", "dev", "tmp"] {
            let _ = std::fs::remove_dir(self.path.join(name));
        }
        let _ = std::fs::remove_dir(&self.path);
    }
}
