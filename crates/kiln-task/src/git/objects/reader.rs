//! Reading objects: one git that lives as long as there is something to ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::super::id::ObjectId;
use super::super::program::{GitError, GitProgram};

const COMMAND: &str = "cat-file";

/// So much is asked at a time that it fits into a pipe, even while nobody reads the answers.
const ASKED_AT_ONCE: usize = 16 * 1024;

/// What kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// An object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) size: u64,
    /// None if it is larger than was asked for.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// A git that is asked for objects.
#[derive(Debug)]
pub(crate) struct Reader {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Reader {
    pub(crate) fn start(git: &GitProgram) -> Result<Reader, GitError> {
        let mut child = git.spawn(COMMAND, &["--batch".as_ref()], Stdio::null())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        match stdout {
            Some(stdout) => Ok(Reader {
                child,
                stdin,
                stdout: BufReader::with_capacity(64 * 1024, stdout),
            }),
            None => Err(unexpected("no output")),
        }
    }

    /// The object that a name or `<commit>:<path>` stands for; none if there is none.
    pub(crate) fn read(&mut self, request: &str, largest: u64) -> Result<Option<Object>, GitError> {
        let mut found = None;
        self.read_all(&[request.to_owned()], largest, |_, object| found = object)?;
        Ok(found)
    }

    /// The same for many; `each` gets the place in the list and what was found.
    pub(crate) fn read_all(
        &mut self,
        requests: &[String],
        largest: u64,
        mut each: impl FnMut(usize, Option<Object>),
    ) -> Result<(), GitError> {
        let mut asked = 0;
        while asked < requests.len() {
            let mut question = String::new();
            let start = asked;
            for request in requests.iter().skip(start) {
                if !question.is_empty() && question.len() + request.len() > ASKED_AT_ONCE {
                    break;
                }
                // What spans lines is not a name of anything; git is asked for something that does not exist either.
                question += match request.contains('\n') {
                    true => "-",
                    false => request,
                };
                question.push('\n');
                asked += 1;
            }
            self.ask(&question)?;
            for place in start..asked {
                let object = self.answer(largest)?;
                each(place, object);
            }
        }
        Ok(())
    }

    fn ask(&mut self, question: &str) -> Result<(), GitError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(unexpected("no input"));
        };
        let written = stdin.write_all(question.as_bytes());
        written.map_err(broken)
    }

    fn answer(&mut self, largest: u64) -> Result<Option<Object>, GitError> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).map_err(broken)?;
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(GitError::GaveUp { command: COMMAND });
        };
        let line = String::from_utf8_lossy(line);
        let Some((id, kind, size)) = header(&line) else {
            return Ok(None);
        };
        let mut object = Object {
            id,
            kind,
            size,
            bytes: None,
        };
        if size <= largest {
            let mut bytes = Vec::new();
            let mut content = (&mut self.stdout).take(size);
            content.read_to_end(&mut bytes).map_err(broken)?;
            object.bytes = Some(bytes);
        } else {
            let mut content = (&mut self.stdout).take(size);
            std::io::copy(&mut content, &mut std::io::sink()).map_err(broken)?;
        }
        let mut end = [0; 1];
        self.stdout.read_exact(&mut end).map_err(broken)?;
        match end {
            [b'\n'] => Ok(Some(object)),
            _ => Err(unexpected(&line)),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stdin = None;
        // It may be writing an answer that nobody wants any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `<name> <kind> <size>`; anything else says that there is no such object.
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

fn broken(error: std::io::Error) -> GitError {
    GitError::Broken {
        command: COMMAND,
        error,
    }
}

fn unexpected(answer: &str) -> GitError {
    GitError::Unexpected {
        command: COMMAND,
        answer: answer.to_owned(),
    }
}
