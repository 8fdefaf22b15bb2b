//! The program of an image: found inside its root, and what kind of file it is.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt as _;

use kiln_oci::RunConfig;
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use crate::in_root;

/// A program inside an image.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageProgram {
    /// The absolute path inside the image.
    pub path: String,
    pub format: ExecutableFormat,
}

/// How the kernel runs a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum ExecutableFormat {
    /// An ELF program.
    Elf {
        /// `e_machine`, for example 62 for x86-64.
        machine: u16,
        /// The path of the dynamic loader inside the image; `None` if the program is static.
        interpreter: Option<String>,
    },
    /// A script that starts with `#!`.
    Script {
        interpreter: String,
        argument: Option<String>,
    },
    /// Another format, for example of `binfmt_misc`.
    Other,
}

/// Where programs are searched for if an image sets no `PATH`, as container engines do.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How much of a file decides its format.
const HEAD: u64 = 4096;
/// The largest table of program headers, as in Linux.
const MAX_TABLE: usize = 64 << 10;
/// `PT_INTERP`, the program header with the path of the dynamic loader.
const PT_INTERP: u32 = 3;

/// Finds a program in the root of an image: a name is searched for in the image's `PATH`, a relative path starts at its working
/// directory. `None` if there is no such file or it is not executable.
pub fn find_program(
    root: BorrowedFd<'_>,
    run: &RunConfig,
    program: &str,
) -> io::Result<Option<ImageProgram>> {
    if program.is_empty() {
        return Ok(None);
    }
    if program.contains('/') {
        let path = match program.starts_with('/') {
            true => program.to_owned(),
            false => format!("{}/{program}", working_directory(run)),
        };
        return executable(root, path);
    }
    for directory in search_path(run).split(':') {
        // As in a shell, an empty element is the working directory.
        let path = match directory.starts_with('/') {
            true => format!("{directory}/{program}"),
            false => format!("{}/{directory}/{program}", working_directory(run)),
        };
        if let Some(found) = executable(root, path)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn working_directory(run: &RunConfig) -> &str {
    run.working_dir.trim_end_matches('/')
}

/// The image's `PATH`; the last one wins.
fn search_path(run: &RunConfig) -> &str {
    let paths = run.env.iter().rev();
    let path = paths
        .filter_map(|variable| variable.strip_prefix("PATH="))
        .next();
    path.filter(|path| !path.is_empty()).unwrap_or(DEFAULT_PATH)
}

/// The program at a path, if it is a regular file that may be executed.
fn executable(root: BorrowedFd<'_>, path: String) -> io::Result<Option<ImageProgram>> {
    let Ok(mut file) = in_root::open_file(root, path.as_bytes()) else {
        return Ok(None);
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if !mode.intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH) {
        return Ok(None);
    }
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    let format = match head.as_slice() {
        [0x7f, b'E', b'L', b'F', ..] => elf(&head, &file),
        [b'#', b'!', script @ ..] => script_format(script),
        _ => None,
    };
    Ok(Some(ImageProgram {
        path: normalized(&path),
        format: format.unwrap_or(ExecutableFormat::Other),
    }))
}

/// A path without empty components and `.`. Links are not resolved.
fn normalized(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.fold(String::new(), |path, part| path + "/" + part)
}

/// Interpreter and argument, as Linux splits the first line.
fn script_format(line: &[u8]) -> Option<ExecutableFormat> {
    let end = line.iter().position(|byte| *byte == b'\n');
    let line = line.get(..end.unwrap_or(line.len()))?;
    let line = std::str::from_utf8(line)
        .ok()?
        .trim_matches([' ', '\t', '\r']);
    let (interpreter, argument) = match line.split_once([' ', '\t']) {
        Some((interpreter, argument)) => (interpreter, Some(argument.trim().to_owned())),
        None => (line, None),
    };
    (!interpreter.is_empty()).then(|| ExecutableFormat::Script {
        interpreter: interpreter.to_owned(),
        argument,
    })
}

/// Machine and interpreter of an ELF file. `None` if its headers are invalid.
fn elf(head: &[u8], file: &File) -> Option<ExecutableFormat> {
    let fields = ElfFields {
        is_64_bit: *head.get(4)? == 2,
        is_little_endian: *head.get(5)? == 1,
    };
    let machine = u16::try_from(fields.number(head, 18, 2)?).ok()?;
    let (table, entry_size, count) = match fields.is_64_bit {
        true => (fields.number(head, 32, 8)?, 54, 56),
        false => (fields.number(head, 28, 4)?, 42, 44),
    };
    let entry_size = usize::try_from(fields.number(head, entry_size, 2)?).ok()?;
    let count = usize::try_from(fields.number(head, count, 2)?).ok()?;
    // The kernel runs nothing else. The fields are of the image, and the memory is ours.
    let expected = if fields.is_64_bit { 56 } else { 32 };
    let table_size = entry_size.checked_mul(count)?;
    if entry_size != expected || table_size > MAX_TABLE {
        return None;
    }
    let mut entries = vec![0; table_size];
    file.read_exact_at(&mut entries, table).ok()?;
    let mut interpreter = None;
    for entry in entries.chunks_exact(expected) {
        if fields.number(entry, 0, 4)? != u64::from(PT_INTERP) {
            continue;
        }
        let (offset, size) = match fields.is_64_bit {
            true => (fields.number(entry, 8, 8)?, fields.number(entry, 32, 8)?),
            false => (fields.number(entry, 4, 4)?, fields.number(entry, 16, 4)?),
        };
        let mut path = vec![0; usize::try_from(size.min(HEAD)).ok()?];
        file.read_exact_at(&mut path, offset).ok()?;
        let path = path.split(|byte| *byte == 0).next()?;
        interpreter = Some(String::from_utf8(path.to_vec()).ok()?);
    }
    Some(ExecutableFormat::Elf {
        machine,
        interpreter,
    })
}

/// How numbers are stored in an ELF file.
struct ElfFields {
    is_64_bit: bool,
    is_little_endian: bool,
}

impl ElfFields {
    fn number(&self, bytes: &[u8], at: usize, length: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(length)?)?;
        let add = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
        Some(match self.is_little_endian {
            true => field.iter().rev().fold(0, add),
            false => field.iter().fold(0, add),
        })
    }
}

#[cfg(test)]
mod tests;
