//! Feeding a child and listening to it, all at the same time.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::watch::Watch;
use super::{Ending, Running, kill};
use crate::context::{RunContext, StderrListener};
use crate::outcome::RunError;

/// What a child wrote.
pub(super) struct Printed {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// How long processes that a child left behind may be silent while they keep its output open.
const SILENCE: Duration = Duration::from_secs(1);

/// How much is read at a time, to begin with and later.
const FIRST_CHUNK: usize = 4 * 1024;
const CHUNK: usize = 64 * 1024;

/// How much a pipe holds unless told otherwise, and at most (where nobody has changed that).
#[cfg(target_os = "linux")]
const PIPE: std::ops::Range<usize> = 64 * 1024..1024 * 1024;

const ENDED: u8 = b'e';
const CANCELLED: u8 = b'c';

/// How long a child that was asked to end has for it.
const ENDING: Duration = Duration::from_secs(2);

/// Feeds and listens until the child has ended and its output is closed. Afterwards the child is still to be waited for,
/// and with an error, to be killed.
pub(super) fn pump(
    running: &mut Running,
    ending: Ending,
    input: &[u8],
    ctx: &RunContext,
) -> Result<Printed, RunError> {
    let leader = running.id;
    let (news, teller) = io::pipe().map_err(talking)?;
    let cancel_teller = teller.try_clone().map_err(talking)?;
    let _listening = ctx
        .cancel
        .on_cancel(move || tell(&cancel_teller, CANCELLED));
    let end = end_of(leader);
    if end.is_none() {
        tell_when_ended(leader, teller)?;
    }
    // Most functions answer with about as much as they got.
    widen(running.stdin.as_ref(), input.len());
    widen(running.stdout.as_ref(), input.len());
    let mut pump = Pump {
        feed: running.stdin.take().map(|pipe| Feed { pipe, rest: input }),
        stdout: Stream::new(running.stdout.take(), input.len() + FIRST_CHUNK),
        stderr: Stream::new(running.stderr.take(), FIRST_CHUNK),
        news,
        end,
        watch: running.cell.as_ref().map(|cell| Watch::new(cell, leader)),
        ended: false,
        last_sign: Instant::now(),
        on_stderr: ctx.on_stderr.as_ref(),
    };
    pump.prepare().map_err(talking)?;
    // The pipe is empty: there is nothing to wait for.
    pump.feed().map_err(talking)?;
    let heard = pump.listen(leader, ctx);
    if heard.is_err() && ending == Ending::Asked {
        kill::ask(leader);
        pump.let_end();
    }
    heard?;
    Ok(Printed {
        stdout: pump.stdout.bytes,
        stderr: pump.stderr.bytes,
    })
}

/// Makes a pipe hold as much as will go through it: what does not fit has to wait for the other side. The system may
/// refuse, and nothing depends on it.
#[cfg(target_os = "linux")]
fn widen(pipe: Option<&impl AsFd>, size: usize) {
    if let Some(pipe) = pipe.filter(|_| size > PIPE.start) {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, size.min(PIPE.end));
    }
}

#[cfg(not(target_os = "linux"))]
fn widen(_: Option<&impl AsFd>, _: usize) {}

fn talking(source: io::Error) -> RunError {
    RunError::Io {
        doing: "talk to the function",
        source,
    }
}

/// What becomes readable when a child has ended, on systems that have such a thing.
#[cfg(target_os = "linux")]
fn end_of(child: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(child, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_: Pid) -> Option<OwnedFd> {
    None
}

/// Says when the child has ended, without waiting for it in the sense of the operating system: until that is done its
/// number, which is also that of its group, cannot be given to another process.
fn tell_when_ended(child: Pid, teller: PipeWriter) -> Result<(), RunError> {
    let waiter = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(child), options), Err(Errno::INTR)) {}
        tell(&teller, ENDED);
    };
    let spawned = thread::Builder::new().spawn(waiter);
    spawned.map(drop).map_err(talking)
}

/// Nobody listens any more if it fails, and that is fine.
fn tell(mut teller: &PipeWriter, news: u8) {
    let _ = teller.write(&[news]);
}

struct Pump<'a> {
    feed: Option<Feed<'a>>,
    stdout: Stream<PipeReader>,
    stderr: Stream<PipeReader>,
    news: PipeReader,
    /// Where the child's end is heard of, if not among the news.
    end: Option<OwnedFd>,
    watch: Option<Watch<'a>>,
    ended: bool,
    /// When something was last heard.
    last_sign: Instant,
    on_stderr: Option<&'a StderrListener>,
}

/// What is still to be written, and where to.
struct Feed<'a> {
    pipe: PipeWriter,
    rest: &'a [u8],
}

/// What is being read, and what was read so far.
struct Stream<T> {
    pipe: Option<T>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Source {
    Feed,
    Stdout,
    Stderr,
    News,
    End,
}

impl Pump<'_> {
    /// No read or write may block: the one loop has others to look after.
    fn prepare(&self) -> io::Result<()> {
        for (_, descriptor, _) in self.sources() {
            ioctl_fionbio(descriptor, true)?;
        }
        Ok(())
    }

    fn listen(&mut self, leader: Pid, ctx: &RunContext) -> Result<(), RunError> {
        while !self.is_done() {
            if let Some(deadline) = ctx.deadline
                && Instant::now() >= deadline.at
            {
                return Err(RunError::TimedOut {
                    timeout: deadline.timeout,
                    stderr: std::mem::take(&mut self.stderr.bytes),
                });
            }
            if self.is_abandoned() {
                kill::kill_all(leader);
                break;
            }
            if let Some(excess) = self.watch.as_mut().and_then(Watch::look) {
                return Err(RunError::OverLimit(excess));
            }
            match self.step(self.patience(ctx)).map_err(talking)? {
                Some(CANCELLED) => return Err(RunError::Cancelled),
                Some(_) => self.ended = true,
                None => {}
            }
            let limit = ctx.limits.max_output;
            if self.stdout.bytes.len() as u64 + self.stderr.bytes.len() as u64 > limit {
                return Err(RunError::OutputTooLarge { limit });
            }
        }
        Ok(())
    }

    /// Waits a while for the end of a child, without keeping what it still has to say.
    fn let_end(&mut self) {
        let until = Instant::now() + ENDING;
        while !self.ended {
            let left = until.saturating_duration_since(Instant::now());
            match self.step(Some(left)) {
                Ok(news) => self.ended = news == Some(ENDED),
                Err(_) => return,
            }
            if left.is_zero() {
                return;
            }
            self.stdout.bytes.clear();
            self.stderr.bytes.clear();
        }
    }

    fn sources(&self) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> {
        let feed = self.feed.as_ref().map(|feed| feed.pipe.as_fd());
        let stdout = self.stdout.pipe.as_ref().map(AsFd::as_fd);
        let stderr = self.stderr.pipe.as_ref().map(AsFd::as_fd);
        // It stays readable, so once is enough.
        let end = self.end.as_ref().filter(|_| !self.ended).map(AsFd::as_fd);
        let sources = [
            (Source::Feed, feed, PollFlags::OUT),
            (Source::Stdout, stdout, PollFlags::IN),
            (Source::Stderr, stderr, PollFlags::IN),
            (Source::News, Some(self.news.as_fd()), PollFlags::IN),
            (Source::End, end, PollFlags::IN),
        ];
        sources
            .into_iter()
            .filter_map(|(source, descriptor, flags)| Some((source, descriptor?, flags)))
    }

    /// Nothing can come any more.
    fn is_done(&self) -> bool {
        self.ended && self.stdout.pipe.is_none() && self.stderr.pipe.is_none()
    }

    /// The child has ended, and those who hold its output say nothing.
    fn is_abandoned(&self) -> bool {
        self.ended && self.last_sign.elapsed() >= SILENCE
    }

    /// How long to wait for the next event; none for as long as it takes.
    fn patience(&self, ctx: &RunContext) -> Option<Duration> {
        let deadline = ctx
            .deadline
            .map(|deadline| deadline.at.saturating_duration_since(Instant::now()));
        let silence = self
            .ended
            .then(|| SILENCE.saturating_sub(self.last_sign.elapsed()));
        let watch = self.watch.as_ref().map(Watch::patience);
        deadline.into_iter().chain(silence).chain(watch).min()
    }

    /// Waits for something to happen and deals with it; answers with the news, if there are any.
    fn step(&mut self, patience: Option<Duration>) -> io::Result<Option<u8>> {
        let ready = self.wait(patience)?;
        let mut news = None;
        for source in ready {
            self.last_sign = Instant::now();
            match source {
                Source::Feed => self.feed()?,
                Source::Stdout => self.stdout.read()?,
                Source::Stderr => self.read_stderr()?,
                Source::News => news = news.or(self.read_news()?),
                Source::End => news = news.or(Some(ENDED)),
            }
        }
        Ok(news)
    }

    fn wait(&self, patience: Option<Duration>) -> io::Result<Vec<Source>> {
        let sources: Vec<_> = self.sources().collect();
        let mut descriptors: Vec<PollFd<'_>> = sources
            .iter()
            .map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
            .collect();
        let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
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

    /// Writes as much as fits, and closes the pipe when all is written or nobody reads.
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

    /// Reads what the child says, and passes it on to the one who wants to hear it at once.
    fn read_stderr(&mut self) -> io::Result<()> {
        let before = self.stderr.bytes.len();
        self.stderr.read()?;
        let new = self.stderr.bytes.get(before..).unwrap_or_default();
        if let Some(listener) = self.on_stderr.filter(|_| !new.is_empty()) {
            listener.hear(new);
        }
        Ok(())
    }

    fn read_news(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        match self.news.read(&mut byte) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(byte[0])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<T: AsFd> Stream<T> {
    /// A stream that is expected to have at most so many bytes, as most do.
    fn new(pipe: Option<T>, expected: usize) -> Stream<T> {
        let bytes = Vec::with_capacity(expected);
        Stream { pipe, bytes }
    }

    /// Reads once, so that a child that never stops writing cannot keep the loop from looking at its clock.
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
