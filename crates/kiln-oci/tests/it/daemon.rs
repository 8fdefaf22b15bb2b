//! Debian's `docker-registry` as a process.
//!
//! Tests of other crates use this file too.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// A process that is stopped when it is dropped.
pub(crate) struct Daemon {
    child: Child,
    /// Host and port.
    pub(crate) host: String,
}

impl Daemon {
    /// Starts a registry with its files in a directory; `more` is added to its configuration below `http`. `None`, with a
    /// message on standard error, if it is not installed.
    pub(crate) fn start(directory: &Path, more: &str) -> Option<Daemon> {
        // Another process may take the port in between; then the next one is tried.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let host = free.unwrap().to_string();
            let config = directory.join("config.yaml");
            let text = format!(
                "version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: {host}\n{more}",
                directory.join("data").display()
            );
            fs::write(&config, text).unwrap();
            let child = Command::new("docker-registry")
                .arg("serve")
                .arg(&config)
                .env_clear()
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let child = match child {
                Ok(child) => child,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let message =
                        "SKIPPED: a real registry, because docker-registry is not installed\n";
                    io::stderr().write_all(message.as_bytes()).unwrap();
                    return None;
                }
                Err(error) => panic!("docker-registry: {error}"),
            };
            let mut daemon = Daemon { child, host };
            if listens(&mut daemon.child) {
                return Some(daemon);
            }
        }
        panic!("docker-registry does not start");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it logs that it listens, or ends. Later output is read and discarded.
fn listens(child: &mut Child) -> bool {
    let (sender, receiver) = mpsc::channel();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.contains("listening on") {
                let _ = sender.send(());
                break;
            }
            line.clear();
        }
        drop(sender);
        let _ = lines.read_to_end(&mut Vec::new());
    });
    receiver.recv().is_ok()
}
