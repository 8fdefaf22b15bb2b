//! Writes a child's input and reads its output, both at once.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::watch::UsageWatch;
use super::{RunningChild, StopSignal, kill};
use crate::context::{RunContext, StderrListener};
use crate::outcome::RunError;

pub(super) struct ChildOutput {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// How long processes that a child left behind may be silent while they keep its output open.
const SILENCE: Duration = Duration::from_secs(1);

/// The size of reads: the first and later ones.
const FIRST_CHUNK: usize = 4 * 1024;
const CHUNK: usize = 64 * 1024;

/// The default and the maximum size of a pipe.
#[cfg(target_os = "linux")]
const PIPE: std::ops::Range<usize> = 64 * 1024..1024 * 1024;

/// A small input, whose output probably fits a pipe, and how long its function is left alone: most have exited by then.
const SMALL_INPUT: usize = 32 * 1024;
const QUICK: Duration = Duration::from_millis(3);

const ENDED: u8 = b'e';
const CANCELLED: u8 = b'c';

/// How long an interrupted child has to exit.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);

/// Writes and reads until the child has exited and its output is closed. Afterwards the child is still to be waited for
/// and, after an error, to be killed.
pub(super) fn pump(
    running: &mut RunningChild<'_>,
    stop_signal: StopSignal,
    input: &[u8],
    ctx: &RunContext,
) -> Result<ChildOutput, RunError> {
    let leader = running.id;
    let (events, sender) = io::pipe().map_err(io_error)?;
    let cancel_sender = sender.try_clone().map_err(io_error)?;
    let _guard = ctx
        .cancel
        .on_cancel(move || notify(&cancel_sender, CANCELLED));
    let end = end_of(leader);
    if end.is_none() {
        notify_when_ended(leader, sender)?;
    }
    // Most functions write about as much as they read.
    widen(running.stdin.as_ref(), input.len());
    widen(running.stdout.as_ref(), input.len());
    let mut pump = Pump {
        feed: running.stdin.take().map(|pipe| Feed { pipe, rest: input }),
        stdout: Stream::new(running.stdout.take(), input.len() + FIRST_CHUNK),
        stderr: Stream::new(running.stderr.take(), FIRST_CHUNK),
        events,
        end,
        watch: running
            .confined_run
            .as_ref()
            .map(|confined_run| UsageWatch::new(confined_run, leader)),
        ended: false,
        last_activity: Instant::now(),
        on_stderr: ctx.on_stderr.as_ref(),
    };
    pump.prepare().map_err(io_error)?;
    // The pipe is empty, so this does not block.
    pump.feed().map_err(io_error)?;
    if input.len() <= SMALL_INPUT {
        pump.await_quick_end(ctx).map_err(io_error)?;
    }
    let result = pump.run(leader, ctx);
    if result.is_err() {
        let stderr = std::mem::take(&mut pump.stderr.bytes);
        ctx.stopped_stderr.set(stderr);
    }
    if result.is_err() && stop_signal == StopSignal::Interrupt {
        kill::interrupt(leader);
        pump.wait_for_end();
    }
    result?;
    Ok(ChildOutput {
        stdout: pump.stdout.bytes,
        stderr: pump.stderr.bytes,
    })
}

/// Enlarges a pipe to what will go through it, so that neither side waits for the other. The system may refuse; nothing
/// depends on it.
#[cfg(target_os = "linux")]
fn widen(pipe: Option<&impl AsFd>, size: usize) {
    if let Some(pipe) = pipe.filter(|_| size > PIPE.start) {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, size.min(PIPE.end));
    }
}

#[cfg(not(target_os = "linux"))]
fn widen(_: Option<&impl AsFd>, _: usize) {}

fn io_error(source: io::Error) -> RunError {
    RunError::Io {
        doing: "exchange data with the function",
        source,
    }
}

/// A descriptor that becomes readable when a child exits, on systems that have such a thing.
#[cfg(target_os = "linux")]
fn end_of(child: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(child, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_: Pid) -> Option<OwnedFd> {
    None
}

/// Notifies when the child exits, without reaping it: until it is reaped, its ID, which is also that of its group, is
/// not used again.
fn notify_when_ended(child: Pid, sender: PipeWriter) -> Result<(), RunError> {
    let waiter = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(child), options), Err(Errno::INTR)) {}
        notify(&sender, ENDED);
    };
    let spawned = thread::Builder::new().spawn(waiter);
    spawned.map(drop).map_err(io_error)
}

/// An error means that the receiver is gone.
fn notify(mut sender: &PipeWriter, event: u8) {
    let _ = sender.write(&[event]);
}

struct Pump<'a> {
    feed: Option<Feed<'a>>,
    stdout: Stream<PipeReader>,
    stderr: Stream<PipeReader>,
    events: PipeReader,
    /// Becomes readable when the child exits, if that is not one of the events.
    end: Option<OwnedFd>,
    watch: Option<UsageWatch<'a>>,
    ended: bool,
    last_activity: Instant,
    on_stderr: Option<&'a StderrListener>,
}

/// Input that is not written yet.
struct Feed<'a> {
    pipe: PipeWriter,
    rest: &'a [u8],
}

/// A pipe and what was read from it.
struct Stream<T> {
    pipe: Option<T>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum PollSource {
    Feed,
    Stdout,
    Stderr,
    Event,
    End,
}

impl Pump<'_> {
    /// No read or write may block: one loop serves all pipes.
    fn prepare(&self) -> io::Result<()> {
        for (_, descriptor, _) in self.sources() {
            ioctl_fionbio(descriptor, true)?;
        }
        Ok(())
    }

    /// Waits a moment for the exit of a child that needs nothing more from this process: a wake-up for every piece of
    /// output, and for every file that the child closes at its exit, would cost more than all else here.
    fn await_quick_end(&mut self, ctx: &RunContext) -> io::Result<()> {
        let Some(end) = &self.end else {
            return Ok(());
        };
        if self.feed.is_some() || self.on_stderr.is_some() {
            return Ok(());
        }
        let mut descriptors = [
            PollFd::new(end, PollFlags::IN),
            PollFd::new(&self.events, PollFlags::IN),
        ];
        let timeout = self.next_timeout(ctx).map_or(QUICK, |next| next.min(QUICK));
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if descriptors[0].revents().is_empty() {
            return Ok(());
        }
        self.ended = true;
        self.last_activity = Instant::now();
        // Twice: what is there, and the end.
        for _ in 0..2 {
            self.stdout.read()?;
            self.stderr.read()?;
        }
        Ok(())
    }

    fn run(&mut self, leader: Pid, ctx: &RunContext) -> Result<(), RunError> {
        self.check_size(ctx)?;
        while !self.is_done() {
            if let Some(deadline) = ctx.deadline
                && Instant::now() >= deadline.at
            {
                return Err(RunError::TimedOut {
                    timeout: deadline.timeout,
                    stderr: self.stderr.bytes.clone(),
                });
            }
            if self.is_abandoned() {
                kill::kill_all(leader);
                break;
            }
            if let Some(excess) = self.watch.as_mut().and_then(UsageWatch::check) {
                return Err(RunError::OverLimit(excess));
            }
            match self.step(self.next_timeout(ctx)).map_err(io_error)? {
                Some(CANCELLED) => return Err(RunError::Cancelled),
                Some(_) => self.ended = true,
                None => {}
            }
            self.check_size(ctx)?;
        }
        Ok(())
    }

    fn check_size(&self, ctx: &RunContext) -> Result<(), RunError> {
        let limit = ctx.limits.max_output;
        match self.stdout.bytes.len() as u64 + self.stderr.bytes.len() as u64 > limit {
            true => Err(RunError::OutputTooLarge { limit }),
            false => Ok(()),
        }
    }

    /// Waits a limited time for the child to exit, and discards its output.
    fn wait_for_end(&mut self) {
        let until = Instant::now() + INTERRUPT_GRACE;
        while !self.ended {
            let left = until.saturating_duration_since(Instant::now());
            match self.step(Some(left)) {
                Ok(event) => self.ended = event == Some(ENDED),
                Err(_) => return,
            }
            if left.is_zero() {
                return;
            }
            self.stdout.bytes.clear();
            self.stderr.bytes.clear();
        }
    }

    fn sources(&self) -> impl Iterator<Item = (PollSource, BorrowedFd<'_>, PollFlags)> {
        let feed = self.feed.as_ref().map(|feed| feed.pipe.as_fd());
        let stdout = self.stdout.pipe.as_ref().map(AsFd::as_fd);
        let stderr = self.stderr.pipe.as_ref().map(AsFd::as_fd);
        // It stays readable, so once is enough.
        let end = self.end.as_ref().filter(|_| !self.ended).map(AsFd::as_fd);
        let sources = [
            (PollSource::Feed, feed, PollFlags::OUT),
            (PollSource::Stdout, stdout, PollFlags::IN),
            (PollSource::Stderr, stderr, PollFlags::IN),
            (PollSource::Event, Some(self.events.as_fd()), PollFlags::IN),
            (PollSource::End, end, PollFlags::IN),
        ];
        sources
            .into_iter()
            .filter_map(|(source, descriptor, flags)| Some((source, descriptor?, flags)))
    }

    fn is_done(&self) -> bool {
        self.ended && self.stdout.pipe.is_none() && self.stderr.pipe.is_none()
    }

    /// The child has exited, and the processes that hold its output are silent.
    fn is_abandoned(&self) -> bool {
        self.ended && self.last_activity.elapsed() >= SILENCE
    }

    /// How long to wait for the next event; `None` means no limit.
    fn next_timeout(&self, ctx: &RunContext) -> Option<Duration> {
        let deadline = ctx
            .deadline
            .map(|deadline| deadline.at.saturating_duration_since(Instant::now()));
        let silence = self
            .ended
            .then(|| SILENCE.saturating_sub(self.last_activity.elapsed()));
        let watch = self.watch.as_ref().map(UsageWatch::time_left);
        deadline.into_iter().chain(silence).chain(watch).min()
    }

    /// Waits for events and handles them; returns the event of the child, if there is one.
    fn step(&mut self, timeout: Option<Duration>) -> io::Result<Option<u8>> {
        let ready = self.wait(timeout)?;
        let mut event = None;
        for source in ready {
            self.last_activity = Instant::now();
            match source {
                PollSource::Feed => self.feed()?,
                PollSource::Stdout => self.stdout.read()?,
                PollSource::Stderr => self.read_stderr()?,
                PollSource::Event => event = event.or(self.read_event()?),
                PollSource::End => event = event.or(Some(ENDED)),
            }
        }
        Ok(event)
    }

    fn wait(&self, timeout: Option<Duration>) -> io::Result<Vec<PollSource>> {
        let sources: Vec<_> = self.sources().collect();
        let mut descriptors: Vec<PollFd<'_>> = sources
            .iter()
            .map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
            .collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        }
        let ready = sources
            .iter()
            .zip(&descriptors)
            .filter(|(_, descriptor)| !descriptor.revents().is_empty())
            .map(|((source, _, _), _)| *source);
        Ok(ready.collect())
    }

    /// Writes as much as fits, and closes the pipe when all is written or the child has closed its end.
    fn feed(&mut self) -> io::Result<()> {
        let Some(feed) = &mut self.feed else {
            return Ok(());
        };
        while !feed.rest.is_empty() {
            match feed.pipe.write(feed.rest) {
                Ok(written) => feed.rest = feed.rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                Err(error) => return Err(error),
            }
        }
        self.feed = None;
        Ok(())
    }

    /// Reads stderr, and passes it on to the listener.
    fn read_stderr(&mut self) -> io::Result<()> {
        let before = self.stderr.bytes.len();
        self.stderr.read()?;
        let new = self.stderr.bytes.get(before..).unwrap_or_default();
        if let Some(listener) = self.on_stderr.filter(|_| !new.is_empty()) {
            listener.receive(new);
        }
        Ok(())
    }

    fn read_event(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        match self.events.read(&mut byte) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(byte[0])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<T: AsFd> Stream<T> {
    /// `expected` is the usual number of bytes.
    fn new(pipe: Option<T>, expected: usize) -> Stream<T> {
        let bytes = Vec::with_capacity(expected);
        Stream { pipe, bytes }
    }

    /// Reads once, so that a child that never stops writing cannot keep the loop from checking its deadline.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        if self.bytes.capacity() - self.bytes.len() < FIRST_CHUNK {
            self.bytes.reserve(CHUNK);
        }
        match rustix::io::read(pipe, spare_capacity(&mut self.bytes)) {
            Ok(0) => self.pipe = None,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }
}
