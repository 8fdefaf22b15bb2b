//! Runs a program until it ends or reaches its time limit.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Time limit of a case.
const PATIENCE: Duration = Duration::from_secs(120);

/// The outcome of a program.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None` if it was stopped at its time limit.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program with empty standard input. Its streams go to files in `scratch`, so that a process
/// that it leaves behind does not block the reader.
pub(crate) fn run(command: &mut Command, scratch: &Path) -> io::Result<Outcome> {
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0)
        .spawn()?;
    let group = format!("-{}", child.id());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let status = child.wait();
            let _ = sender.send(());
            status
        });
        let is_late = receiver.recv_timeout(PATIENCE).is_err();
        if is_late {
            let _ = Command::new("kill").args(["-9", "--", &group]).status();
        }
        let status = waiting
            .join()
            .map_err(|_| io::Error::other("the waiting thread panicked"))??;
        let ended = status.code().or(status.signal().map(|signal| 128 + signal));
        Ok(Outcome {
            code: ended.filter(|_| !is_late),
            stdout: text(&out)?,
            stderr: text(&err)?,
        })
    })
}

fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
