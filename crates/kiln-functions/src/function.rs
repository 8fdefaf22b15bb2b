//! What a function is: work on a list, and how it ended.

use kiln_krm::Resource;
use kiln_krm::results::{ResultItem, Severity};
use kiln_runtime::RunContext;
use kiln_yaml::{Allowance, Document};

use crate::budget;
use crate::output::{Printed, Results};

/// A function of the catalog, or your own.
///
/// It gets the list and changes it in place. What stands in the list when it fails is what the caller gets beside the
/// failure, as with a program that has written its output before it exits.
pub trait Function: Send + Sync {
    /// Does the work.
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending;

    /// Where the original writes comments above items of lists. Only its bytes show it: a function that works on trees keeps
    /// comments where they are.
    fn list_heads(&self) -> ListHeads {
        ListHeads::Own
    }
}

/// Where comments above items of lists, and above the first fields of such items, are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListHeads {
    /// Where they are.
    Own,
    /// Above the item, that of the item rather than that of its first field, which is lost: kyaml v0.10.21.
    ItemOrFirstField,
    /// Above the item, but only that of its first field, and only in lists that are not in lists: kyaml v0.10.20.
    FirstField,
}

/// What a function works on.
#[derive(Clone, Debug, Default)]
pub struct FunctionList {
    /// The resources.
    pub items: Vec<Resource>,
    /// `functionConfig`, if there is one. Some SDKs take an empty mapping for none; that is for the function to say.
    pub config: Option<Document>,
    /// What the function has to report.
    pub results: Results,
    /// What it prints besides.
    pub stderr: Printed,
    /// Places of items whose text may be read as another tree than the one they have: new text that needs quotes, a new
    /// comment inside of `[a, b]`. They are read again before the next function sees them.
    pub unsettled: Vec<usize>,
}

/// How a function ended. What that means for exit code and standard error is for the SDK to say that the original was
/// written with ([`crate::sdk::Sdk`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It did what it was asked to.
    Success,
    /// It did not, and its results say why.
    Failure,
    /// It did not, and this is why.
    Error(String),
    /// As a program would end that has its own mind about it.
    Exit {
        /// The exit code.
        code: i32,
        /// What it prints last.
        stderr: String,
    },
    /// It noticed that it was to stop ([`Context::check`]).
    Stopped,
}

/// What a function may know of the world.
pub struct Context<'a> {
    /// `NAME=value`, sorted.
    pub environment: &'a [String],
    /// Deadline, limits, and whether anybody still waits.
    pub run: &'a RunContext,
    /// The files that it may read.
    pub files: &'a dyn Files,
}

/// Files that the user lets a function read: in a container those that are mounted, for a program those of the machine.
pub trait Files: Send + Sync {
    /// The text at an absolute path, or nothing if there is no such text.
    fn read(&self, path: &str) -> Option<String>;
}

/// No files at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Option<String> {
        None
    }
}

/// The caller has given up, the time is up, or the memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

impl From<Stopped> for Ending {
    fn from(_: Stopped) -> Ending {
        Ending::Stopped
    }
}

impl Context<'_> {
    /// Whether the work may go on. Every loop over resources calls this: it ends a function that is late, whose caller has
    /// given up, or that has asked for more memory than it may use.
    pub fn check(&self) -> Result<(), Stopped> {
        let is_exceeded = || Allowance::current().is_some_and(|allowance| allowance.is_exceeded());
        match budget::is_over(self.run) || is_exceeded() {
            true => Err(Stopped),
            false => Ok(()),
        }
    }
}

impl FunctionList {
    /// Reports something about nothing in particular.
    pub fn report(&mut self, severity: Severity, message: impl Into<String>) {
        self.results.push(ResultItem {
            message: message.into(),
            severity: severity.as_str().to_owned(),
            ..ResultItem::default()
        });
    }
}
