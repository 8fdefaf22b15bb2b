//! Reads objects through one long-lived `git cat-file --batch`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::super::id::ObjectId;
use super::super::program::{GitError, GitProgram};

const COMMAND: &str = "cat-file";

/// The size of a batch of requests. It fits into a pipe, so that writing does not block while no output is read.
const BATCH_SIZE: usize = 16 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

#[derive(Clone, Debug)]
pub(crate) struct GitObject {
    pub(crate) id: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) size: u64,
    /// `None` if the object is larger than the limit.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A running `git cat-file --batch`.
#[derive(Debug)]
pub(crate) struct ObjectReader {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl ObjectReader {
    pub(crate) fn start(git: &GitProgram) -> Result<ObjectReader, GitError> {
        let mut child = git.spawn(COMMAND, &["--batch".as_ref()], Stdio::null())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        match stdout {
            Some(stdout) => Ok(ObjectReader {
                child,
                stdin,
                stdout: BufReader::with_capacity(64 * 1024, stdout),
            }),
            None => Err(unexpected("no output")),
        }
    }

    /// Reads the object of a name or of `<commit>:<path>`; `None` if there is no such object.
    pub(crate) fn read(
        &mut self,
        request: &str,
        max_size: u64,
    ) -> Result<Option<GitObject>, GitError> {
        let mut found = None;
        self.read_all(&[request.to_owned()], max_size, |_, object| found = object)?;
        Ok(found)
    }

    /// Reads several objects. `each` gets the index of the request and its object.
    pub(crate) fn read_all(
        &mut self,
        requests: &[String],
        max_size: u64,
        mut each: impl FnMut(usize, Option<GitObject>),
    ) -> Result<(), GitError> {
        let mut sent = 0;
        while sent < requests.len() {
            let mut batch = String::new();
            let start = sent;
            for request in requests.iter().skip(start) {
                if !batch.is_empty() && batch.len() + request.len() > BATCH_SIZE {
                    break;
                }
                // A request with a line break names no object and would split into two. `-` names no object either.
                batch += match request.contains('\n') {
                    true => "-",
                    false => request,
                };
                batch.push('\n');
                sent += 1;
            }
            self.send(&batch)?;
            for index in start..sent {
                let object = self.receive(max_size)?;
                each(index, object);
            }
        }
        Ok(())
    }

    fn send(&mut self, batch: &str) -> Result<(), GitError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(unexpected("no input"));
        };
        let written = stdin.write_all(batch.as_bytes());
        written.map_err(pipe_error)
    }

    fn receive(&mut self, max_size: u64) -> Result<Option<GitObject>, GitError> {
        let mut line = Vec::new();
        self.stdout
            .read_until(b'\n', &mut line)
            .map_err(pipe_error)?;
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(GitError::EndedEarly { command: COMMAND });
        };
        let line = String::from_utf8_lossy(line);
        let Some((id, kind, size)) = header(&line) else {
            return Ok(None);
        };
        let mut object = GitObject {
            id,
            kind,
            size,
            bytes: None,
        };
        if size <= max_size {
            let mut bytes = Vec::new();
            let mut content = (&mut self.stdout).take(size);
            content.read_to_end(&mut bytes).map_err(pipe_error)?;
            object.bytes = Some(bytes);
        } else {
            let mut content = (&mut self.stdout).take(size);
            std::io::copy(&mut content, &mut std::io::sink()).map_err(pipe_error)?;
        }
        let mut end = [0; 1];
        self.stdout.read_exact(&mut end).map_err(pipe_error)?;
        match end {
            [b'\n'] => Ok(Some(object)),
            _ => Err(unexpected(&line)),
        }
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        self.stdin = None;
        // Git may be in the middle of its output.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses `<name> <kind> <size>`. Any other line means that there is no such object.
fn header(line: &str) -> Option<(ObjectId, ObjectKind, u64)> {
    let mut words = line.split(' ');
    let id = ObjectId::new(words.next()?)?;
    let kind = match words.next()? {
        "blob" => ObjectKind::Blob,
        "tree" => ObjectKind::Tree,
        "commit" => ObjectKind::Commit,
        "tag" => ObjectKind::Tag,
        _ => return None,
    };
    let size = words.next()?.parse().ok()?;
    words.next().is_none().then_some((id, kind, size))
}

fn pipe_error(error: std::io::Error) -> GitError {
    GitError::Pipe {
        command: COMMAND,
        error,
    }
}

fn unexpected(output: &str) -> GitError {
    GitError::Unexpected {
        command: COMMAND,
        output: output.to_owned(),
    }
}
