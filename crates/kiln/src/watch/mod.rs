//! Doing something again whenever a file of a package changes.
//!
//! The operating system says that something may have changed; what has changed is told by comparing the files with what
//! they were when the work began, and with what the work itself wrote. So the own writes of the work do not set it off
//! again, and a change that comes in while it goes on is not missed. What lies outside of the package is not watched.

mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kiln_krm::package::FileChange;
use kiln_runtime::{CancelToken, process};
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecursiveMode, Watcher};

use crate::ui::{Record, Ui, is_broken_pipe};
use snapshot::Snapshot;

/// How long nothing must happen before the work begins: those who save a file do it in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// What is watched.
pub(crate) struct Watch<'a> {
    /// The package.
    pub(crate) root: &'a Path,
    /// What the user calls it.
    pub(crate) named: &'a str,
    /// A directory whose files do not count, because the work writes them.
    pub(crate) ignored: Option<PathBuf>,
    /// Tells that the user has enough.
    pub(crate) cancel: CancelToken,
}

/// What the work did once.
pub(crate) struct Round {
    /// What it wrote.
    pub(crate) written: Vec<FileChange>,
    /// Whether it succeeded.
    pub(crate) result: Result<()>,
}

enum News {
    SomethingChanged,
    NobodyWatches(notify::Error),
    Cancelled,
}

/// Works now and whenever a file changes, until the user has enough. That the work fails is told, and no reason to end.
pub(crate) fn watch(ui: &Ui, watch: &Watch<'_>, work: impl Fn() -> Round) -> Result<()> {
    let (teller, news) = channel();
    let _watcher = start(watch, &teller)?;
    let cancel_teller = teller.clone();
    let _guard = watch.cancel.on_cancel(move || {
        let _ = cancel_teller.send(News::Cancelled);
    });
    loop {
        let mut known = Snapshot::take(watch.root, watch.ignored.as_deref());
        let Round { written, result } = work();
        known.add(&written);
        if watch.cancel.is_cancelled() {
            return Ok(());
        }
        if let Err(error) = result {
            if is_broken_pipe(&error) {
                return Err(error);
            }
            ui.report(&error);
        }
        // Nothing is running now.
        process::bury_orphans();
        tell_waiting(ui, watch.named);
        match next_change(watch, &known, &news)? {
            Some(changed) => tell_changed(ui, &changed),
            None => return Ok(()),
        }
    }
}

fn start(watch: &Watch<'_>, teller: &Sender<News>) -> Result<notify::RecommendedWatcher> {
    let teller = teller.clone();
    let hear = move |event: notify::Result<notify::Event>| {
        let news = match event {
            Ok(event) if is_reading(event.kind) => return,
            Ok(_) => News::SomethingChanged,
            Err(error) => News::NobodyWatches(error),
        };
        // Nobody wants to know when the program ends.
        let _ = teller.send(news);
    };
    let cannot = || format!("cannot watch {}", watch.named);
    let mut watcher = notify::recommended_watcher(hear).with_context(cannot)?;
    watcher
        .watch(watch.root, RecursiveMode::Recursive)
        .with_context(cannot)?;
    Ok(watcher)
}

/// Looking at files must not make us look at files.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// Waits until a file is different from what is known; none if the user has enough.
fn next_change(
    watch: &Watch<'_>,
    known: &Snapshot,
    news: &Receiver<News>,
) -> Result<Option<Vec<String>>> {
    loop {
        let mut next = news.recv().unwrap_or(News::Cancelled);
        loop {
            match next {
                News::SomethingChanged => {}
                News::NobodyWatches(error) => {
                    return Err(error).context(format!("cannot watch {}", watch.named));
                }
                News::Cancelled => return Ok(None),
            }
            next = match news.recv_timeout(QUIET) {
                Ok(next) => next,
                Err(RecvTimeoutError::Disconnected) => News::Cancelled,
                Err(RecvTimeoutError::Timeout) => break,
            };
        }
        if !watch.root.is_dir() {
            bail!("{} is gone, there is nothing left to watch", watch.named);
        }
        let now = Snapshot::take(watch.root, watch.ignored.as_deref());
        let changed = known.differences(&now);
        if !changed.is_empty() {
            return Ok(Some(changed));
        }
    }
}

fn tell_waiting(ui: &Ui, named: &str) {
    let message = format!("Waiting for changes in {named}, Ctrl-C ends it.");
    let record = Record {
        event: "waiting",
        message: Some(&message),
        ..Record::default()
    };
    ui.tell(&record, &message);
}

/// The most files that are named.
const NAMED: usize = 5;

fn tell_changed(ui: &Ui, changed: &[String]) {
    let (named, others) = changed.split_at(changed.len().min(NAMED));
    let mut message = format!("Changed: {}", named.join(", "));
    if !others.is_empty() {
        message.push_str(&format!(" and {} more", others.len()));
    }
    let record = Record {
        event: "changed",
        file: changed.first().map(String::as_str),
        message: Some(&message),
        ..Record::default()
    };
    ui.tell(&record, &message);
}
