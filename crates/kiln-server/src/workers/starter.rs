//! Starts worker processes, on its own thread.
//!
//! The kernel kills a worker when the *thread* that started it ends, so that no worker outlives a server that is
//! killed. Threads of tokio come and go; this one lives as long as the pool.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::work::WORKER_NAME;

/// How a worker is started.
#[derive(Clone, Debug)]
pub(super) struct WorkerCommand {
    pub(super) program: PathBuf,
    pub(super) memory: u64,
    pub(super) is_strict: bool,
}

/// A started process, and our end of its socket.
pub(super) struct StartedWorker {
    pub(super) child: Child,
    pub(super) socket: UnixStream,
}

pub(super) struct Starter {
    requests: Sender<oneshot::Sender<io::Result<StartedWorker>>>,
}

impl Starter {
    /// Starts the thread. Processes belong to the tokio runtime that calls this.
    pub(super) fn new(command: WorkerCommand) -> io::Result<Starter> {
        // A worker has its socket, and nothing that the server inherited.
        kiln_sandbox::close_descriptors_on_exec()?;
        let (requests, received) = channel::<oneshot::Sender<_>>();
        let runtime = Handle::current();
        let thread = thread::Builder::new().name("worker-starter".to_owned());
        thread.spawn(move || {
            let _entered = runtime.enter();
            for request in received {
                // A worker that no task waits for any more is dropped, which kills it.
                let _ = request.send(command.start());
            }
        })?;
        Ok(Starter { requests })
    }

    pub(super) async fn start(&self) -> io::Result<StartedWorker> {
        let (request, started) = oneshot::channel();
        let ended = || io::Error::other("the thread that starts workers has ended");
        self.requests.send(request).map_err(|_| ended())?;
        started.await.map_err(|_| ended())?
    }
}

impl WorkerCommand {
    fn start(&self) -> io::Result<StartedWorker> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let arguments = [
            u64::from(std::process::id()),
            self.memory,
            u64::from(self.is_strict),
        ];
        let mut command = Command::new(&self.program);
        command
            .arg0(WORKER_NAME)
            .args(arguments.map(|number| number.to_string()))
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C on the terminal is for the server, which lets running calls finish.
            .process_group(0);
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn()?;
        Ok(StartedWorker {
            child,
            socket: ours,
        })
    }
}
