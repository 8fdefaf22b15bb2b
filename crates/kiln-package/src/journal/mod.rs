//! The journal of a change of many files, and its format.
//!
//! A journal has three parts. The *plan* is text, complete before the first temporary file is made, and names
//! everything that will be made. The *contents* are the new bytes of the files that are written over in place, one
//! after the other. The *commit* line is added when everything else is written. Plan and commit end in a checksum, and the
//! plan has those of all contents, so that a journal cut off at any byte has a meaning: no complete plan,
//! nothing was made; no commit line, nothing was replaced.
//!
//! A journal may also be written by another user or program. Reading it gives paths that are
//! inside the package by their form, and [`Journal::package`] ties it to one directory of one file system;
//! what the paths lead to is checked when they are used.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::dir::Stamp;
use crate::tree::PackagePath;

/// The first line: format and version.
const HEADER: &str = "kiln-journal 2";

/// The planned changes of many files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Journal {
    /// The inode of the package's root, so that a journal copied along with a package is not used.
    pub(crate) package: u64,
    /// Directories that are made, parents first.
    pub(crate) directories: Vec<PackagePath>,
    /// Files that are replaced by others.
    pub(crate) puts: Vec<Put>,
    /// Files that are written over in place.
    pub(crate) overwrites: Vec<Overwrite>,
    pub(crate) deletes: Vec<PackagePath>,
}

/// A file to be replaced by a temporary file beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Put {
    pub(crate) path: PackagePath,
    pub(crate) temporary: String,
    pub(crate) content: Fingerprint,
}

/// A file to be written over with content that is in the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Overwrite {
    pub(crate) path: PackagePath,
    /// The content before: a file with another content was written over already, or changed by another program.
    pub(crate) old: Stamp,
    pub(crate) content: Fingerprint,
}

/// Length and checksum of a file's content. Finds accidents, not forgeries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fingerprint {
    length: u64,
    checksum: u64,
}

/// How far the command that wrote a journal came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JournalState<'t> {
    /// The plan is not whole: nothing had been made.
    Unplanned,
    /// Temporary files may exist; no file had been replaced, except the only one of a plan of one.
    Planned(Journal),
    /// All new content was whole; some of it may be in place. With the contents of the overwrites.
    Committed(Journal, Vec<&'t [u8]>),
    /// The parts contradict each other, which cannot result from an interruption.
    Damaged,
}

impl Fingerprint {
    pub(crate) fn of(content: &[u8]) -> Fingerprint {
        Fingerprint {
            length: content.len() as u64,
            checksum: checksum(content),
        }
    }

    fn read<'t>(fields: &mut impl Iterator<Item = &'t str>) -> Option<Fingerprint> {
        Some(Fingerprint {
            length: fields.next()?.parse().ok()?,
            checksum: u64::from_str_radix(fields.next()?, 16).ok()?,
        })
    }
}

/// The name of the `index`-th temporary file of a transaction.
pub(crate) fn temporary_name(transaction: u64, index: usize) -> String {
    format!(".kiln-{transaction:016x}-{index}.tmp")
}

fn is_temporary_name(name: &str) -> bool {
    let parts = || {
        let middle = name.strip_prefix(".kiln-")?.strip_suffix(".tmp")?;
        middle.split_once('-')
    };
    parts().is_some_and(|(transaction, index)| {
        transaction.len() == 16
            && transaction.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !index.is_empty()
            && index.bytes().all(|byte| byte.is_ascii_digit())
    })
}

impl Journal {
    /// The plan as text.
    pub(crate) fn plan(&self) -> String {
        let mut text = format!("{HEADER}\npackage {}\n", self.package);
        for path in &self.directories {
            text.push_str(&format!("mkdir {}\n", escape(path)));
        }
        for put in &self.puts {
            let Fingerprint { length, checksum } = put.content;
            let path = escape(&put.path);
            text.push_str(&format!(
                "put {length} {checksum:016x} {} {path}\n",
                put.temporary
            ));
        }
        for Overwrite { path, old, content } in &self.overwrites {
            let Fingerprint { length, checksum } = content;
            let path = escape(path);
            text.push_str(&format!("over {length} {checksum:016x} {old} {path}\n"));
        }
        for path in &self.deletes {
            text.push_str(&format!("delete {}\n", escape(path)));
        }
        text.push_str(&format!("plan {:016x}\n", checksum(text.as_bytes())));
        text
    }

    /// Whether the plan replaces one file in one step, so that no commit line is needed.
    pub(crate) fn is_single(&self) -> bool {
        self.overwrites.is_empty() && self.puts.len() + self.deletes.len() <= 1
    }

    /// The line that follows plan and contents at the point of no return.
    pub(crate) fn commit(plan: &str) -> String {
        format!("commit {:016x}\n", checksum(plan.as_bytes()))
    }

    /// Reads a journal, complete or not.
    pub(crate) fn read(text: &[u8]) -> JournalState<'_> {
        // The plan's last line and all before it; what follows can only be contents and the commit line.
        let Some(plan_end) = end_of_plan(text) else {
            return JournalState::Unplanned;
        };
        let (plan, rest) = text.split_at(plan_end);
        let Some(journal) = std::str::from_utf8(plan).ok().and_then(parse_plan) else {
            return match rest.is_empty() {
                true => JournalState::Unplanned,
                false => JournalState::Damaged,
            };
        };
        let Some((contents, rest)) = journal.split_contents(rest) else {
            return JournalState::Planned(journal);
        };
        let commit = format!("commit {:016x}\n", checksum(plan));
        if rest == commit.as_bytes() {
            let fingerprints = contents.iter().map(|content| Fingerprint::of(content));
            match fingerprints.eq(journal.overwrites.iter().map(|over| over.content)) {
                true => JournalState::Committed(journal, contents),
                false => JournalState::Damaged,
            }
        } else if commit.as_bytes().starts_with(rest) {
            JournalState::Planned(journal)
        } else {
            JournalState::Damaged
        }
    }

    /// The contents of the overwrites and what follows them; `None` if they are cut off.
    fn split_contents<'t>(&self, mut text: &'t [u8]) -> Option<(Vec<&'t [u8]>, &'t [u8])> {
        let mut contents = Vec::new();
        for over in &self.overwrites {
            let length = usize::try_from(over.content.length).ok()?;
            let (content, rest) = text.split_at_checked(length)?;
            contents.push(content);
            text = rest;
        }
        Some((contents, text))
    }
}

/// Where the line that begins with `plan ` ends.
fn end_of_plan(text: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if line.starts_with(b"plan ") && line.ends_with(b"\n") {
            return Some(end);
        }
    }
    None
}

/// The journal of a complete plan; `None` if it differs from what [`Journal::plan`] writes.
fn parse_plan(plan: &str) -> Option<Journal> {
    let mut lines = plan.lines();
    if lines.next()? != HEADER {
        return None;
    }
    let package = lines.next()?.strip_prefix("package ")?.parse().ok()?;
    let mut journal = Journal {
        package,
        directories: Vec::new(),
        puts: Vec::new(),
        overwrites: Vec::new(),
        deletes: Vec::new(),
    };
    for line in lines {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "mkdir" => journal.directories.push(unescape(rest)?),
            "delete" => journal.deletes.push(unescape(rest)?),
            "put" => {
                let mut fields = rest.split(' ');
                let content = Fingerprint::read(&mut fields)?;
                let temporary = fields.next()?.to_owned();
                let path = unescape(fields.next()?)?;
                if fields.next().is_some() || !is_temporary_name(&temporary) {
                    return None;
                }
                journal.puts.push(Put {
                    path,
                    temporary,
                    content,
                });
            }
            "over" => {
                let mut fields = rest.split(' ');
                let content = Fingerprint::read(&mut fields)?;
                let old = Stamp::read(&mut fields)?;
                let path = unescape(fields.next()?)?;
                if fields.next().is_some() {
                    return None;
                }
                journal.overwrites.push(Overwrite { path, old, content });
            }
            "plan" => {}
            _ => return None,
        }
    }
    // Writing it again checks the rest: order, spelling, checksum.
    (journal.plan() == plan).then_some(journal)
}

/// A path on one line, in ASCII without spaces.
fn escape(path: &PackagePath) -> String {
    let mut out = String::new();
    for &byte in path.to_path().as_os_str().as_bytes() {
        match byte {
            b'%' | 0..=b' ' | 0x7f.. => out.push_str(&format!("%{byte:02x}")),
            _ => out.push(char::from(byte)),
        }
    }
    out
}

fn unescape(text: &str) -> Option<PackagePath> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let path = OsString::from_vec(bytes);
    PackagePath::from_os(OsStr::new(&path)).ok()
}

/// 64-bit FNV-1a, eight bytes at a time where there are as many, because all that is written goes through it.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        // The multiplication carries upwards only.
        hash ^ (hash >> 29)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        step(hash, u64::from_le_bytes(*word))
    });
    rest.iter()
        .fold(hash, |hash, byte| step(hash, u64::from(*byte)))
}

#[cfg(test)]
mod tests;
