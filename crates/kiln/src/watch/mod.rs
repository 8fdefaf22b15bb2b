//! Repeats work whenever a file of a package changes.
//!
//! The operating system reports that something may have changed; comparing the files with a snapshot shows what. The snapshot is
//! taken before the work and updated with what the work wrote, so that its own writes do not trigger it again and a change
//! during the work is not missed. Files outside of the package are not watched.

mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kiln_krm::package::FileChange;
use kiln_runtime::{CancelToken, process};
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecursiveMode, Watcher};

use crate::error::{CommandError, ErrorClass};
use crate::ui::{Record, Ui};
use snapshot::Snapshot;

/// Time without events before the work starts: editors save a file in several steps.
const SETTLE_TIME: Duration = Duration::from_millis(100);

pub(crate) struct Watch<'a> {
    /// The directory of the package.
    pub(crate) root: &'a Path,
    /// The name on the command line.
    pub(crate) named: &'a str,
    /// A directory to ignore, because the work writes to it.
    pub(crate) ignored: Option<PathBuf>,
    /// Cancelled by Ctrl-C.
    pub(crate) cancel: CancelToken,
}

/// The outcome of one run of the work.
pub(crate) struct Round {
    pub(crate) written: Vec<FileChange>,
    pub(crate) result: Result<()>,
}

enum WatchEvent {
    Changed,
    Failed(notify::Error),
    Cancelled,
}

/// Does the work now and whenever a file changes, until it is cancelled. A failure is printed and does not end it.
pub(crate) fn watch(ui: &Ui, watch: &Watch<'_>, work: impl Fn() -> Round) -> Result<()> {
    let (sender, events) = channel();
    let _watcher = start(watch, &sender)?;
    let cancel_sender = sender.clone();
    let _guard = watch.cancel.on_cancel(move || {
        let _ = cancel_sender.send(WatchEvent::Cancelled);
    });
    loop {
        let mut known = Snapshot::take(watch.root, watch.ignored.as_deref());
        let Round { written, result } = work();
        known.add(&written);
        if watch.cancel.is_cancelled() {
            return Ok(());
        }
        if let Err(error) = result {
            let error = CommandError::from(error);
            if error.class == ErrorClass::OutputClosed {
                return Err(error.into());
            }
            ui.print_error(&error);
        }
        // No function is running now.
        process::reap_orphans();
        log_waiting(ui, watch.named);
        match next_change(watch, &known, &events)? {
            Some(changed) => log_changed(ui, &changed),
            None => return Ok(()),
        }
    }
}

fn start(watch: &Watch<'_>, sender: &Sender<WatchEvent>) -> Result<notify::RecommendedWatcher> {
    let sender = sender.clone();
    let on_event = move |event: notify::Result<notify::Event>| {
        let event = match event {
            Ok(event) if is_reading(event.kind) => return,
            Ok(_) => WatchEvent::Changed,
            Err(error) => WatchEvent::Failed(error),
        };
        // The receiver is gone when the program ends.
        let _ = sender.send(event);
    };
    let cannot = || format!("cannot watch {}", watch.named);
    let mut watcher = notify::recommended_watcher(on_event).with_context(cannot)?;
    watcher
        .watch(watch.root, RecursiveMode::Recursive)
        .with_context(cannot)?;
    Ok(watcher)
}

/// Whether an event is caused by reading, as our own reads are.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// Waits until a file differs from the snapshot; `None` if cancelled.
fn next_change(
    watch: &Watch<'_>,
    known: &Snapshot,
    events: &Receiver<WatchEvent>,
) -> Result<Option<Vec<String>>> {
    loop {
        let mut next = events.recv().unwrap_or(WatchEvent::Cancelled);
        loop {
            match next {
                WatchEvent::Changed => {}
                WatchEvent::Failed(error) => {
                    return Err(error).context(format!("cannot watch {}", watch.named));
                }
                WatchEvent::Cancelled => return Ok(None),
            }
            next = match events.recv_timeout(SETTLE_TIME) {
                Ok(next) => next,
                Err(RecvTimeoutError::Disconnected) => WatchEvent::Cancelled,
                Err(RecvTimeoutError::Timeout) => break,
            };
        }
        if !watch.root.is_dir() {
            bail!(
                "{} was removed; there is nothing left to watch",
                watch.named
            );
        }
        let now = Snapshot::take(watch.root, watch.ignored.as_deref());
        let changed = known.differences(&now);
        if !changed.is_empty() {
            return Ok(Some(changed));
        }
    }
}

fn log_waiting(ui: &Ui, named: &str) {
    let message = format!("Waiting for changes in {named}; press Ctrl-C to stop.");
    let record = Record {
        event: "waiting",
        message: Some(&message),
        ..Record::default()
    };
    ui.log(&record, &message);
}

/// How many changed files are printed.
const MAX_PRINTED: usize = 5;

fn log_changed(ui: &Ui, changed: &[String]) {
    let (named, others) = changed.split_at(changed.len().min(MAX_PRINTED));
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
    ui.log(&record, &message);
}
