//! Renders that would change nothing are not repeated.
//!
//! A render of a whole package that changed nothing leaves a note: which files and directories it read, a hash of what was in
//! them, and what it reported. If everything that the note names is still the same, so is the result of a render, and its
//! report is printed again. A note is kept only if every function that ran is built in, because only those depend on nothing
//! but the files and the program itself; one that may draw random values names itself so ([`kiln_runtime::RANDOM`]).

mod note;
mod read_trace;

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::{io, iter};

use function_runner::BuildInfo;
use kiln_evaluators::CacheMode;
use kiln_krm::kptfile::{BFS_RENDERING, FILE_NAME, Kptfile};
use kiln_krm::package::FileSource;
use kiln_krm::record::UnknownKeys;
use kiln_lock::LOCK_FILE;
use kiln_package::{DiskFiles, available_threads};
use kiln_render::{Event, Log, RenderReport};
use kiln_store::{KeyHasher, ResultKey, ResultKind};
use note::NotedEvent;
pub(crate) use note::RenderNote;
pub(crate) use read_trace::TracedFiles;

use crate::functions::cache::KeptResults;
use crate::ui::Ui;

/// The number of the fields of the key, of the form of notes and of what they mean. Raise it whenever one of them changes.
const SCHEME: u32 = 2;

/// The prefix of identities of built-in functions.
const NATIVE: &str = "native:";
/// The prefix of the names of functions that are part of the pipeline itself.
const BUILTIN: &str = "builtins/";

/// What a render depends on besides the files of the package.
pub(crate) struct RenderSettings<'a> {
    /// The absolute path of the package, which functions can see.
    pub(crate) root: &'a str,
    pub(crate) working_directory: &'a str,
    /// All flags that can change the result, in any form.
    pub(crate) flags: String,
    /// Whether other results in the status of Kptfiles count as no change, as with `--check`.
    pub(crate) accepts_results: bool,
    /// The bytes of the lock file that the render uses.
    pub(crate) lock_file: Option<&'a [u8]>,
}

/// The notes about one package and one set of flags.
pub(crate) struct RenderNotes {
    kept: KeptResults,
    key: ResultKey,
    /// Of notes about renders that would change nothing but results in the status of Kptfiles, which `--check` accepts.
    settled_key: Option<ResultKey>,
    lock_file: Option<Vec<u8>>,
    identity: String,
}

impl RenderNotes {
    /// `None` if renders of this package are never skipped.
    pub(crate) fn new(
        kept: KeptResults,
        settings: &RenderSettings<'_>,
        files: &DiskFiles,
    ) -> Option<RenderNotes> {
        if is_breadth_first(files)? {
            return None;
        }
        let identity = program_identity()?;
        let key = |accepted: &str| {
            KeyHasher::new(SCHEME)
                .field(identity.as_bytes())
                .field(settings.root.as_bytes())
                .field(settings.working_directory.as_bytes())
                .field(settings.flags.as_bytes())
                .field(accepted.as_bytes())
                .optional(settings.lock_file)
                .finish()
        };
        Some(RenderNotes {
            kept,
            key: key("no change"),
            settled_key: settings.accepts_results.then(|| key("other results")),
            lock_file: settings.lock_file.map(<[u8]>::to_vec),
            identity,
        })
    }

    /// The note of an earlier render, if everything that it read is the same now.
    pub(crate) fn find(&self, files: &DiskFiles) -> Option<RenderNote> {
        let results = &self.kept.results;
        let mut keys = iter::once(&self.key).chain(&self.settled_key);
        keys.find_map(|key| {
            let payload = results.read(ResultKind::Render, key, &self.identity)?;
            let note = RenderNote::parse(&payload)?;
            let hash = read_trace::hash(files, &note.reads, available_threads());
            (hash == note.hash).then_some(note)
        })
    }

    /// Whether renders run even if there is a note.
    pub(crate) fn is_verifying(&self) -> bool {
        self.kept.mode == CacheMode::Verify
    }

    /// Keeps a note about a render that changed nothing. `expected` is the note that there was before, if it still applied.
    pub(crate) fn keep(&self, ui: &Ui, render: &FinishedRender<'_>, expected: Option<&RenderNote>) {
        let key = match render.changes {
            RenderChanges::None => Some(&self.key),
            RenderChanges::Results => self.settled_key.as_ref(),
            RenderChanges::Files => None,
        };
        let note = key.and_then(|key| Some((key, self.note(render)?)));
        if let (Some(expected), true) = (expected, self.is_verifying())
            && note.as_ref().map(|(_, note)| note) != Some(expected)
        {
            ui.warn(
                "the result of this render differs from the one that was kept for the same files; please report it",
            );
            for key in iter::once(&self.key).chain(&self.settled_key) {
                self.kept.results.remove(ResultKind::Render, key);
            }
            return;
        }
        let Some((key, note)) = note else {
            return;
        };
        let payload = note.to_bytes();
        let written = (self.kept.results).write(ResultKind::Render, key, &self.identity, &payload);
        if let Err(error) = written {
            ui.warn(&format!("the result of this render is not kept: {error}"));
        }
    }

    fn note(&self, render: &FinishedRender<'_>) -> Option<RenderNote> {
        let report = render.report;
        let is_clean = report.error.is_none() && report.emptied.is_empty();
        if !is_clean {
            return None;
        }
        let is_same_lock = read_lock_file(render.files.disk())? == self.lock_file;
        if !is_same_lock {
            return None;
        }
        let events = render.events.take()?;
        let (reads, hash) = render.files.trace()?;
        Some(RenderNote {
            reads,
            hash,
            events,
            functions: report.functions,
            packages: report.packages,
        })
    }
}

/// A render that ran to its end.
pub(crate) struct FinishedRender<'a> {
    pub(crate) files: &'a TracedFiles<'a>,
    pub(crate) report: &'a RenderReport,
    pub(crate) events: &'a KeptEvents<'a>,
    pub(crate) changes: RenderChanges,
}

/// What a render would change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RenderChanges {
    None,
    /// Results in the status of Kptfiles, because functions report another result about what they have changed already.
    Results,
    Files,
}

/// Passes events to a log and keeps them, as long as all functions are built in.
pub(crate) struct KeptEvents<'a> {
    log: &'a dyn Log,
    /// `None` after an event that is not printed again.
    events: RefCell<Option<Vec<NotedEvent>>>,
}

impl<'a> KeptEvents<'a> {
    pub(crate) fn new(log: &'a dyn Log) -> KeptEvents<'a> {
        KeptEvents {
            log,
            events: RefCell::new(Some(Vec::new())),
        }
    }

    fn take(&self) -> Option<Vec<NotedEvent>> {
        self.events.take()
    }
}

impl Log for KeptEvents<'_> {
    fn event(&self, event: Event) {
        let noted = self.events.take().and_then(|mut noted| {
            noted.push(NotedEvent::of(&event)?);
            Some(noted)
        });
        self.events.replace(noted);
        self.log.event(event);
    }
}

/// Whether the root package is rendered breadth-first; `None` if its Kptfile cannot be read.
fn is_breadth_first(files: &DiskFiles) -> Option<bool> {
    let kptfile = files.read(FILE_NAME).ok()?;
    let kptfile = Kptfile::read_with(&kptfile, UnknownKeys::Refuse).ok()?;
    Some(kptfile.is_annotated_true(BFS_RENDERING))
}

/// The bytes of the lock file, if there is one. Not through `files`, for which a file that was read must not change.
/// `None` if it cannot be read.
fn read_lock_file(files: &DiskFiles) -> Option<Option<Vec<u8>>> {
    let path = files.root().join(LOCK_FILE);
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Some(Some(std::fs::read(path).ok()?)),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
        Err(_) => None,
    }
}

/// This very program: a build that was not committed has a file of its own size and time. `None` if it cannot be found.
fn program_identity() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let build = BuildInfo::this();
    let modified = (file.mtime(), file.mtime_nsec());
    Some(format!(
        "kiln {} {} {} {modified:?}",
        build.version,
        build.commit,
        file.len()
    ))
}
