//! Attacks on namespaces, and what a program sees of itself in them.

#![expect(clippy::print_stdout, reason = "tests compare what is printed")]

use std::fs::File;
use std::io::{self, Error, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use kiln_sandbox::{FileRights, ImageNetwork, ImagePolicy, ImageProcess, ImageSandbox, processes};

use super::attacks::terminated;
use super::kernel::{Argument, call};

/// Tries one attack; `None` if it is not one of these.
pub(crate) fn run(words: &[&str]) -> Option<io::Result<()>> {
    Some(match *words {
        ["set-namespace", path] => set_namespace(path),
        ["make-device", path] => make_device(path),
        ["remount", path] => remount(path),
        ["unmount", path] => {
            let path = terminated(path);
            call(libc::SYS_umount2, &[path.as_slice().into(), 2.into()]).map(drop)
        }
        ["fill", path, files, megabytes] => fill(path, files, megabytes),
        ["fork", count] => fork(count),
        ["listen", name] => {
            let address = SocketAddr::from_abstract_name(name);
            address
                .and_then(|address| UnixListener::bind_addr(&address))
                .map(drop)
        }
        ["describe"] => describe(),
        ["probe"] => probe(),
        ["host-image", root] => host_image(root),
        ["run-image", root, ref words @ ..] => run_image(root, words),
        _ => return None,
    })
}

fn set_namespace(path: &str) -> io::Result<()> {
    let namespace = File::open(path)?;
    call(libc::SYS_setns, &[namespace.as_raw_fd().into(), 0.into()]).map(drop)
}

/// The first disk of the machine.
fn make_device(path: &str) -> io::Result<()> {
    let path = terminated(path);
    let mode = (libc::S_IFBLK | 0o666).cast_signed();
    let device = Argument::Number(254 << 8);
    let arguments = [
        libc::AT_FDCWD.into(),
        path.as_slice().into(),
        mode.into(),
        device,
    ];
    call(libc::SYS_mknodat, &arguments).map(drop)
}

/// Makes a mount writable again.
fn remount(path: &str) -> io::Result<()> {
    let path = terminated(path);
    let flags = Argument::Number((libc::MS_REMOUNT | libc::MS_BIND).cast_signed());
    let none = || Argument::from(0);
    let arguments = [none(), path.as_slice().into(), none(), flags];
    call(libc::SYS_mount, &arguments).map(drop)
}

/// Fills a directory with files.
fn fill(path: &str, files: &str, megabytes: &str) -> io::Result<()> {
    let block = vec![b'x'; 1 << 20];
    for number in 0..count(files)? {
        let mut file = File::create(Path::new(path).join(number.to_string()))?;
        for _ in 0..count(megabytes)? {
            file.write_all(&block)?;
        }
    }
    Ok(())
}

/// Makes so many processes that stay.
fn fork(number: &str) -> io::Result<()> {
    for _ in 0..count(number)? {
        if call(libc::SYS_clone, &[libc::SIGCHLD.into()])? == 0 {
            loop {
                std::thread::park();
            }
        }
    }
    Ok(())
}

/// Prints what the program sees of itself, a line each.
fn describe() -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let fields = [
        "Uid:",
        "Gid:",
        "Groups:",
        "CapInh:",
        "CapPrm:",
        "CapEff:",
        "CapBnd:",
        "CapAmb:",
        "NoNewPrivs:",
        "Seccomp:",
    ];
    for line in status.lines() {
        if fields.iter().any(|field| line.starts_with(field)) {
            println!("{}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    println!("process {}", std::process::id());
    println!("processes {}", processes().len());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    println!("host {}", host.trim());
    println!("directory {}", std::env::current_dir()?.display());
    let mut variables: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    variables.sort();
    println!("variables {}", variables.join(" "));
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        // The one that reads this directory is open too.
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let number = entry.file_name();
        let is_ours = target.as_os_str().as_encoded_bytes().ends_with(b"/fd");
        if !is_ours {
            let kind = target.to_string_lossy();
            let kind = kind.split(':').next().unwrap_or_default();
            println!("open {} {kind}", number.to_string_lossy());
        }
    }
    let interfaces = std::fs::read_to_string("/proc/self/net/dev")?;
    for line in interfaces.lines().filter_map(|line| line.split_once(':')) {
        println!("interface {}", line.0.trim());
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let access = options.split(',').next().unwrap_or_default();
        let kind = if point == "/" { "image" } else { kind };
        Some(format!("mount {point} {access} {kind}"))
    });
    // Their order depends on the kernel.
    let mut mounts: Vec<String> = mounts.collect();
    mounts.sort();
    for mount in mounts {
        println!("{mount}");
    }
    Ok(())
}

/// Tries the levels of isolation, and prints the result of each.
fn probe() -> io::Result<()> {
    for probe in ImageSandbox::probe(&std::env::temp_dir()) {
        let mut text = match &probe.outcome {
            Ok(()) => "works".to_owned(),
            Err(error) => error.to_string(),
        };
        let mut cause = probe
            .outcome
            .as_ref()
            .err()
            .and_then(std::error::Error::source);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        println!("{}: {text}", probe.level);
    }
    Ok(())
}

/// A run of this program in an image.
fn process_of(root: &str, words: &[&str]) -> ImageProcess {
    let words = ["/bin/hostile"].iter().chain(words);
    ImageProcess {
        root: PathBuf::from(root),
        program: "/bin/hostile".into(),
        words: words.map(Into::into).collect(),
        environment: Vec::new(),
        directory: "/".into(),
        user: (65_534, 65_534),
        rights: FileRights::Least,
        writable: vec!["/tmp".into()],
        mounts: Vec::new(),
        network: ImageNetwork::Loopback,
    }
}

/// Runs an attack in an image, and prints what it prints and the level of isolation.
fn run_image(root: &str, words: &[&str]) -> io::Result<()> {
    let sandbox = ImageSandbox::new(ImagePolicy::default()).map_err(Error::other)?;
    let process = process_of(root, words);
    let run = sandbox.prepare_run(&process, None).map_err(Error::other)?;
    let mut started = run.start().map_err(Error::other)?;
    io::copy(&mut started.stdout, &mut io::stdout())?;
    println!("{}", sandbox.level());
    Ok(())
}

/// Runs the daemon of an image, as a program that runs functions does, and prints the numbers of its processes out here.
fn host_image(root: &str) -> io::Result<()> {
    let sandbox = ImageSandbox::new(ImagePolicy::default()).map_err(Error::other)?;
    let process = process_of(root, &["daemon"]);
    let run = sandbox.prepare_run(&process, None).map_err(Error::other)?;
    let mut started = run.start().map_err(Error::other)?;
    let mut byte = [0];
    // Its numbers in the namespace.
    while byte != *b"\n" {
        io::Read::read_exact(&mut started.stdout, &mut byte)?;
    }
    let function = started.id.as_raw_nonzero().get();
    let daemon = processes()
        .into_iter()
        .find(|process| process.parent == function);
    let daemon = daemon.map_or(0, |daemon| daemon.id);
    println!("{function} {daemon}");
    io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}

fn count(word: &str) -> io::Result<usize> {
    word.parse().map_err(|_| Error::other("not a number"))
}
