//! Reads the history of a repository: first tasks of revisions, last changes of packages, and numbers already used.

use std::collections::HashMap;

use super::annotation::Annotation;
use super::id::ObjectId;
use super::objects::GitIdentity;
use super::program::GitError;
use super::store::GitStore;
use crate::task::Task;

/// The first tasks of revisions.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    by_revision: HashMap<(String, String), FoundTask>,
}

#[derive(Clone, Debug)]
struct FoundTask {
    task: Task,
    /// Whether the task created the revision. Older commits are then ignored.
    is_first: bool,
}

impl Tasks {
    /// Reads the history of several commits with one command.
    pub fn read(store: &GitStore, tips: &[ObjectId]) -> Result<Tasks, GitError> {
        let mut tasks = Tasks::default();
        if tips.is_empty() {
            return Ok(tasks);
        }
        let arguments = [
            "--format=%B%x00",
            "--date-order",
            "--fixed-strings",
            "--grep=kpt:{",
            "--no-show-signature",
            "--stdin",
        ];
        let tips: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let messages = store.run("log", &arguments, tips.as_bytes())?;
        for annotation in messages.split('\0').flat_map(Annotation::read_all) {
            tasks.add(annotation);
        }
        Ok(tasks)
    }

    /// The task that created a revision. The directory of the package is relative to the root of the repository.
    pub fn first(&self, directory: &str, workspace: &str) -> Option<&Task> {
        let key = (directory.to_owned(), workspace.to_owned());
        self.by_revision.get(&key).map(|found| &found.task)
    }

    /// Adds annotations from the newest to the oldest. The oldest counts, down to the one that created the revision.
    fn add(&mut self, annotation: Annotation) {
        let workspace = match annotation.workspace.as_str() {
            "" => annotation.revision,
            _ => annotation.workspace,
        };
        let Some(task) = annotation.task.filter(Task::is_first) else {
            return;
        };
        let key = (annotation.package, workspace);
        if self
            .by_revision
            .get(&key)
            .is_some_and(|found| found.is_first)
        {
            return;
        }
        let is_first = matches!(task, Task::Init(_) | Task::Clone(_));
        self.by_revision.insert(key, FoundTask { task, is_first });
    }
}

/// The author and time (in seconds since 1970) of the last change of each package on a branch, by the package's directory
/// relative to the root of the repository. Packages without an annotated commit are missing.
pub type LastChanges = HashMap<String, (GitIdentity, i64)>;

pub(crate) fn last_changes(store: &GitStore, head: &ObjectId) -> Result<LastChanges, GitError> {
    let arguments = [
        "--format=%an%x01%ae%x01%at%x01%B%x00",
        "--date-order",
        "--fixed-strings",
        "--grep=kpt:{",
        "--no-show-signature",
        head.as_str(),
        "--",
    ];
    let text = store.run("log", &arguments, b"")?;
    let mut changes = LastChanges::new();
    for record in text.split('\0') {
        let mut fields = record.trim_start_matches('\n').splitn(4, '\x01');
        let mut next = || fields.next().unwrap_or_default();
        let author = GitIdentity {
            name: next().to_owned(),
            email: next().to_owned(),
        };
        let Ok(time) = next().parse() else {
            continue;
        };
        for annotation in Annotation::read_all(next()) {
            let change = changes.entry(annotation.package);
            change.or_insert_with(|| (author.clone(), time));
        }
    }
    Ok(changes)
}

/// A commit of a revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogEntry {
    pub commit: ObjectId,
    pub author: GitIdentity,
    /// Seconds since 1970.
    pub time: i64,
    /// The first line of the message.
    pub subject: String,
    pub task: Option<Task>,
}

/// The commits of a revision, the newest first: those of its draft, and its approval.
pub(crate) fn log_of(
    store: &GitStore,
    tip: &ObjectId,
    directory: &str,
    workspace: &str,
) -> Result<Vec<LogEntry>, GitError> {
    let name = serde_json::to_string(directory).unwrap_or_default();
    let pattern = format!("--grep=\"package\":{name}");
    let arguments = [
        "--format=%H%x01%an%x01%ae%x01%at%x01%B%x00",
        "--topo-order",
        "--fixed-strings",
        "--no-show-signature",
        pattern.as_str(),
        tip.as_str(),
        "--",
    ];
    let text = store.run("log", &arguments, b"")?;
    let entry = |record: &str| {
        let mut fields = record.trim_start_matches('\n').splitn(5, '\x01');
        let commit = ObjectId::new(fields.next()?)?;
        let author = GitIdentity {
            name: fields.next()?.to_owned(),
            email: fields.next()?.to_owned(),
        };
        let time = fields.next()?.parse().ok()?;
        let message = fields.next()?;
        let mut annotations = Annotation::read_all(message).into_iter();
        let own = annotations.find(|annotation| annotation.is_about(directory, workspace))?;
        Some(LogEntry {
            commit,
            author,
            time,
            subject: message.lines().next().unwrap_or_default().to_owned(),
            task: own.task,
        })
    };
    Ok(text.split('\0').filter_map(entry).collect())
}

/// The highest number that a revision of a package ever had on the branch, deleted revisions included: their approvals are still
/// in the history.
pub(crate) fn highest_number(
    store: &GitStore,
    head: &ObjectId,
    directory: &str,
) -> Result<u64, GitError> {
    let name = serde_json::to_string(directory).unwrap_or_default();
    let pattern = format!("--grep=\"package\":{name}");
    let arguments = [
        "--format=%B%x00",
        "--fixed-strings",
        "--no-show-signature",
        pattern.as_str(),
        head.as_str(),
        "--",
    ];
    let messages = store.run("log", &arguments, b"")?;
    let annotations = messages.split('\0').flat_map(Annotation::read_all);
    let own = annotations.filter(|annotation| annotation.package == directory);
    Ok(own
        .filter_map(|annotation| annotation.number())
        .max()
        .unwrap_or(0))
}
