//! A small image with the hostile program, and runs of it.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output};
use std::sync::OnceLock;

use kiln_sandbox::{
    FileRights, ImageNetwork, ImagePolicy, ImageProcess, ImageSandbox, IsolationLevel,
    SandboxError, StartError, StartedProcess,
};
use rustix::process::{WaitOptions, waitpid};

use crate::fixture::{HOSTILE, TestDirectory, output_text, set_mode, skip};

/// The program in the image.
pub(crate) const PROGRAM: &str = "/bin/hostile";

/// The user that functions see themselves as.
pub(crate) const USER: u32 = 65_534;

/// An unpacked image: the hostile program with its libraries, a few files, and mount points.
pub(crate) struct TestImage {
    directory: TestDirectory,
}

impl TestImage {
    pub(crate) fn new() -> TestImage {
        let directory = TestDirectory::new();
        let root = directory.path().join("root");
        for name in ["bin", "dev", "etc", "proc", "tmp", "data", "empty"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::copy(HOSTILE, root.join("bin/hostile")).unwrap();
        std::fs::write(root.join("etc/motd"), "of the image\n").unwrap();
        std::fs::write(root.join("data/file"), "kept").unwrap();
        set_mode(&root.join("data/file"), 0o666);
        set_mode(&root.join("data"), 0o777);
        for library in libraries() {
            let copy = root.join(library.strip_prefix("/").unwrap());
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(&library, &copy).unwrap();
        }
        TestImage { directory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// The hostile program with these arguments.
    pub(crate) fn process(&self, words: &[&str]) -> ImageProcess {
        let words = [PROGRAM].iter().chain(words).map(Into::into);
        ImageProcess {
            root: self.root(),
            program: PROGRAM.into(),
            words: words.collect(),
            environment: vec![("PATH".into(), "/bin".into())],
            directory: "/".into(),
            user: (USER, USER),
            rights: FileRights::Least,
            writable: vec!["/tmp".into()],
            mounts: Vec::new(),
            network: ImageNetwork::Loopback,
        }
    }
}

/// The libraries of the hostile program, which are those of this one: what is mapped, and the loader.
fn libraries() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.contains(".so"))
        .map(PathBuf::from)
        .collect();
    // Programs name the loader by this path.
    for loader in [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-musl-x86_64.so.1",
    ] {
        paths.extend(Path::new(loader).exists().then(|| loader.into()));
    }
    paths.sort();
    paths.dedup();
    // Libraries are searched for in directories that the loader knows; those of /usr/lib may be listed in a cache.
    let others: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| path.strip_prefix("/usr").ok())
        .map(|path| Path::new("/").join(path))
        .filter(|path| path.exists())
        .collect();
    paths.extend(others);
    paths
}

/// A sandbox for images; `None`, with a message, where the system has none.
pub(crate) fn image_sandbox(policy: ImagePolicy) -> Option<ImageSandbox> {
    if let Some(reason) = reason_against() {
        skip(reason);
        return None;
    }
    Some(ImageSandbox::new(policy).unwrap())
}

/// Why namespaces cannot be used here.
fn reason_against() -> Option<&'static str> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let directory = std::env::temp_dir();
        let namespaces = ImageSandbox::probe(&directory)
            .find(|probe| probe.level == IsolationLevel::NamespacesWithOuterProc);
        let error = namespaces?.outcome.err()?;
        Some(explain(&error))
    });
    reason.as_deref()
}

fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Runs a process of an image to its end. Its output fits into a pipe.
#[track_caller]
pub(crate) fn run_image(sandbox: &ImageSandbox, process: &ImageProcess) -> Output {
    let run = sandbox.prepare_run(process, None).unwrap();
    match run.start() {
        Ok(started) => finish(started),
        Err(StartError::Sandbox(error)) => panic!("{}", explain(&error)),
        Err(error) => panic!("{}", explain(&error)),
    }
}

/// The error of a process that does not start.
#[track_caller]
pub(crate) fn refusal(sandbox: &ImageSandbox, process: &ImageProcess) -> String {
    let error = match sandbox.prepare_run(process, None) {
        Err(error) => return explain(&error),
        Ok(run) => run.start().map(|_| ()).unwrap_err(),
    };
    match error {
        StartError::Sandbox(SandboxError::Isolate(step)) => explain(&step),
        error => explain(&error),
    }
}

pub(crate) fn finish(mut started: StartedProcess) -> Output {
    drop(started.stdin);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    started.stdout.read_to_end(&mut stdout).unwrap();
    started.stderr.read_to_end(&mut stderr).unwrap();
    let (_, status) = waitpid(Some(started.id), WaitOptions::empty())
        .unwrap()
        .unwrap();
    Output {
        status: ExitStatus::from_raw(status.as_raw()),
        stdout,
        stderr,
    }
}

/// The output of the hostile program in an image of its own; `None` if there are no namespaces.
#[track_caller]
pub(crate) fn in_image(words: &[&str]) -> Option<String> {
    let sandbox = image_sandbox(ImagePolicy::default())?;
    let image = TestImage::new();
    Some(output_text(&run_image(&sandbox, &image.process(words))))
}
