//! One worker process, from the server's side.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use super::frame::{self, FrameBuffer, RequestHead, ResponseHead};
use super::starter::StartedWorker;

/// How long a killed process may take to exit, and how much of its stderr is read.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_LAST_WORDS: u64 = 4096;

pub(super) struct Worker {
    child: Child,
    stderr: Option<ChildStderr>,
    socket: UnixStream,
    received: FrameBuffer,
    state: WorkerState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WorkerState {
    Idle,
    /// It is receiving a call. If that is interrupted, the worker cannot be used any more.
    Sending,
    /// It works on a call, or its response is in transit.
    Working,
}

/// Why a worker process exited during a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Death {
    Memory,
    Stack,
    Other(String),
}

impl Worker {
    /// Wraps a process that was just started. It is ready when it has sent its first frame ([`Worker::receive`]).
    pub(super) fn new(started: StartedWorker) -> io::Result<Worker> {
        let StartedWorker { mut child, socket } = started;
        Ok(Worker {
            stderr: child.stderr.take(),
            child,
            socket: UnixStream::from_std(socket)?,
            received: FrameBuffer::default(),
            state: WorkerState::Working,
        })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) fn state(&self) -> WorkerState {
        self.state
    }

    /// Whether it can take a call: an idle worker sends nothing and keeps its socket open.
    pub(super) fn is_alive(&self) -> bool {
        let nothing_comes = self.socket.try_read(&mut [0]);
        matches!(nothing_comes, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends a call and waits for the response, whose list has at most `max_body` bytes.
    pub(super) async fn exchange(
        &mut self,
        head: &RequestHead,
        list: Bytes,
        max_body: usize,
    ) -> io::Result<(ResponseHead, Bytes)> {
        self.state = WorkerState::Sending;
        let mut request = frame::encode(head, list.len()).chain(list);
        self.socket.write_all_buf(&mut request).await?;
        self.state = WorkerState::Working;
        self.receive(max_body).await
    }

    /// Waits for a response. The future is cancel-safe.
    pub(super) async fn receive(&mut self, max_body: usize) -> io::Result<(ResponseHead, Bytes)> {
        let decoded = self.received.next(&mut self.socket, max_body).await?;
        self.state = WorkerState::Idle;
        Ok(decoded)
    }

    /// Why a worker whose socket failed has exited. It is killed if it has not exited.
    pub(super) async fn death(mut self, error: &io::Error) -> Death {
        // A process that has exited keeps its exit status.
        let _ = self.child.start_kill();
        let mut words = String::new();
        let ended = async {
            if let Some(stderr) = self.stderr.take() {
                let mut stderr = stderr.take(MAX_LAST_WORDS);
                let mut bytes = Vec::new();
                let _ = stderr.read_to_end(&mut bytes).await;
                words = String::from_utf8_lossy(&bytes).into_owned();
            }
            self.child.wait().await
        };
        match timeout(EXIT_TIMEOUT, ended).await {
            _ if words.contains("memory allocation of") => Death::Memory,
            _ if words.contains("overflowed its stack") => Death::Stack,
            // It sent something invalid.
            _ if error.kind() == io::ErrorKind::InvalidData => Death::Other(error.to_string()),
            Ok(Ok(status)) => Death::Other(describe(status)),
            _ => Death::Other(error.to_string()),
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Worker");
        shown.field("id", &self.id()).field("state", &self.state);
        shown.finish_non_exhaustive()
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit status {code}"),
        (None, None) => "no exit status".to_owned(),
    }
}
