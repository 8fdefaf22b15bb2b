//! Attacks that take a resource and keep it until they are killed.

#![expect(clippy::print_stdout, reason = "tests wait for what is printed")]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kiln_sandbox::{HostEnvironment, Sandbox, SandboxPolicy};

use super::kernel::{call, map, read_each};

/// Tries one attack, and waits if it succeeded; `None` if it is not one of these.
pub(crate) fn run(words: &[&str]) -> Option<io::Result<()>> {
    Some(match *words {
        ["hold-sockets", pairs] => hold_sockets(pairs).and_then(wait),
        ["hold-tables", gigabytes] => hold_tables(gigabytes).and_then(wait),
        ["hold-fifos", count] => hold_fifos(count).and_then(wait),
        ["hold-mappings", count] => hold_mappings(count).and_then(wait),
        ["linger"] => {
            // Detaches like a daemon.
            let _ = call(libc::SYS_setsid, &[]);
            let _ = call(libc::SYS_setpgid, &[0.into(), 0.into()]);
            wait(())
        }
        ["daemon"] => start_daemon(),
        ["host"] => host(),
        _ => return None,
    })
}

/// Fills the buffers of both ends of so many pairs.
fn hold_sockets(pairs: &str) -> io::Result<Vec<UnixStream>> {
    let mut held = Vec::new();
    for _ in 0..number(pairs)? {
        let (one, other) = UnixStream::pair()?;
        for mut end in [&one, &other] {
            end.set_nonblocking(true)?;
            while end.write(&[0; 4096]).is_ok() {}
        }
        held.extend([one, other]);
    }
    Ok(held)
}

/// Fills pipes that have names, which are removed at once.
fn hold_fifos(count: &str) -> io::Result<Vec<File>> {
    let mut held = Vec::new();
    for _ in 0..number(count)? {
        let name = c"fifo";
        let mode = (libc::S_IFIFO | 0o600).cast_signed().into();
        let path = name.to_bytes_with_nul().into();
        call(libc::SYS_mknodat, &[libc::AT_FDCWD.into(), path, mode])?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true);
        let mut fifo = options.custom_flags(libc::O_NONBLOCK).open("fifo")?;
        std::fs::remove_file("fifo")?;
        while fifo.write(&[0; 4096]).is_ok() {}
        held.push(fifo);
    }
    Ok(held)
}

/// Maps single pages that the kernel cannot join, because every other one may be read.
fn hold_mappings(count: &str) -> io::Result<()> {
    for index in 0..number(count)? {
        let protection = [libc::PROT_NONE, libc::PROT_READ];
        map(4096, protection[index % 2])?;
    }
    Ok(())
}

/// Reads memory that nothing was ever written to: it takes none, but tables.
fn hold_tables(gigabytes: &str) -> io::Result<()> {
    let size = number(gigabytes)? << 30;
    let memory = map(size, libc::PROT_READ)?;
    read_each(memory, size, 2 << 20);
    Ok(())
}

/// Starts a process that stays, asks the kernel to outlive its parent, and prints both numbers.
fn start_daemon() -> io::Result<()> {
    let mut daemon = Command::new(std::env::current_exe()?);
    daemon
        .arg("linger")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let daemon = daemon.stderr(Stdio::null()).spawn()?;
    let _ = call(libc::SYS_prctl, &[libc::PR_SET_PDEATHSIG.into(), 0.into()]);
    println!("{} {}", std::process::id(), daemon.id());
    park()
}

/// Runs the daemon in a sandbox, as a program that runs functions does.
fn host() -> io::Result<()> {
    let surroundings = HostEnvironment {
        environment: Vec::new(),
        temporary: std::env::temp_dir(),
    };
    let sandbox = Sandbox::new(SandboxPolicy::default(), surroundings).map_err(io::Error::other)?;
    let program: PathBuf = std::env::current_exe()?;
    let sandbox_run = sandbox
        .prepare_run(&program, None)
        .map_err(io::Error::other)?;
    let started = sandbox_run.start(&program, "hostile", &["daemon".to_owned()]);
    let mut started = started.map_err(io::Error::other)?;
    io::copy(&mut started.stdout, &mut io::stdout())?;
    park()
}

fn wait<T>(_held: T) -> io::Result<()> {
    println!("ready");
    park()
}

fn park() -> io::Result<()> {
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(|_| io::Error::other("not a number"))
}
