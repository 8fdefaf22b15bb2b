//! The trait of a function, its input and its result.

use kiln_krm::Resource;
use kiln_krm::results::{ResultItem, Severity};
use kiln_runtime::RunContext;
use kiln_yaml::{Allowance, Document};

use crate::budget;
use crate::output::{Printed, Results};

/// A function of the catalog, or your own.
///
/// It changes the list in place. If it fails, the caller gets the list as it is then, as from a program that has
/// written its output before it exits.
pub trait Function: Send + Sync {
    /// Processes the list.
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending;

    /// Where the original writes comments above items of lists. This affects only its bytes: a function that works on
    /// trees keeps comments where they are.
    fn list_heads(&self) -> ListHeads {
        ListHeads::Own
    }

    /// Whether every resource that it changes passes through text, which loses its styles and damages some folded texts.
    fn rewrites_text(&self) -> bool {
        false
    }
}

/// Where comments above items of lists, and above the first fields of such items, are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListHeads {
    /// Unchanged.
    Own,
    /// Above the item: the comment of the item if it has one, else that of its first field (kyaml v0.10.21).
    ItemOrFirstField,
    /// Above the item, but only the comment of its first field, and only in lists that are not nested in lists (kyaml
    /// v0.10.20).
    FirstField,
}

/// The input and output of a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionList {
    pub items: Vec<Resource>,
    /// `functionConfig`, if there is one. Whether an empty mapping counts as missing depends on the SDK, and is left
    /// to the function.
    pub config: Option<Document>,
    /// The results that the function reports.
    pub results: Results,
    pub stderr: Printed,
    /// Indices of items whose text may be parsed as another tree: new text that needs quotes, a new comment inside of
    /// `[a, b]`. They are parsed again before the next function.
    pub unsettled: Vec<usize>,
    /// Whether the function may draw random values, so that another run on the same input may have another result.
    pub is_random: bool,
}

/// How a function ended. The SDK of the original ([`crate::sdk::Sdk`]) decides exit code and standard error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    Success,
    /// The function failed; its results contain the reason.
    Failure,
    /// The function failed with this error.
    Error(String),
    /// The function ends with its own exit code.
    Exit {
        /// The exit code.
        code: i32,
        /// The end of its standard error.
        stderr: String,
    },
    /// The function was stopped ([`Context::check`]).
    Stopped,
}

/// What a function can access besides its list.
pub struct Context<'a> {
    /// `NAME=value`, sorted.
    pub environment: &'a [String],
    /// Deadline, limits and cancellation.
    pub run: &'a RunContext,
    /// The files that it may read.
    pub files: &'a dyn Files,
}

/// Files that the user lets a function read: for a container the mounted files, for a program those of the machine.
pub trait Files: Send + Sync {
    /// The text at an absolute path; `None` if there is no such file or it is not text.
    fn read(&self, path: &str) -> Option<String>;
}

/// No files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Option<String> {
        None
    }
}

/// The call was cancelled, or has exceeded its time or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

impl From<Stopped> for Ending {
    fn from(_: Stopped) -> Ending {
        Ending::Stopped
    }
}

impl Context<'_> {
    /// Whether the function may go on. Every loop over resources calls this: it stops a function that is past its
    /// deadline, is cancelled, or has used too much memory.
    pub fn check(&self) -> Result<(), Stopped> {
        let is_exceeded = || Allowance::current().is_some_and(|allowance| allowance.is_exceeded());
        match budget::is_over(self.run) || is_exceeded() {
            true => Err(Stopped),
            false => Ok(()),
        }
    }
}

impl FunctionList {
    /// Reports a result that concerns no particular resource.
    pub fn report(&mut self, severity: Severity, message: impl Into<String>) {
        self.results.push(ResultItem::new(severity, message));
    }
}
