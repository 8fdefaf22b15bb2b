//! The progress line on a terminal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::faults::skip;
use crate::package_images::registry::TestRegistry;
use crate::test_environment::TestEnvironment;

const ERASE: &str = "\r\x1b[K";

/// Both sides of a new terminal: ours, and that of the program.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("may be used");
    unlockpt(&ours).expect("can be used");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    let theirs = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("opens");
    (ours.into(), theirs.into())
}

/// A package whose function reads the pipe `go` before it ends.
fn test_env() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./slow.sh\n",
    );
    test_env.write_program("slow.sh", "#!/bin/sh\ncat go >/dev/null\nexec cat\n");
    let status = Command::new("mkfifo")
        .arg(test_env.work().join("go"))
        .status();
    assert!(status.expect("mkfifo runs").success());
    test_env
}

/// What a terminal shows of `kiln fn`.
fn shown(test_env: &TestEnvironment, args: &[&str], wanted: &str) -> String {
    let mut command = test_env.command("kiln", &test_env.work());
    command.arg("fn").args(args).env("TERM", "xterm");
    shown_of(test_env, command, wanted)
}

/// What a terminal shows of a command that waits for the pipe `go`. It goes on when `wanted` has been shown, at once if that
/// is empty.
fn shown_of(test_env: &TestEnvironment, command: Command, wanted: &str) -> String {
    let go_on = || {
        // Waits until the command listens.
        let mut go = File::create(test_env.work().join("go")).expect("a pipe");
        go.write_all(b"go").expect("is read");
    };
    let (shown, status) = shown_until(command, wanted, go_on);
    assert!(status.success(), "{shown}");
    shown
}

/// What a terminal shows of a command, and how that ends. `go_on` is called when `wanted` has been shown.
fn shown_until(mut command: Command, wanted: &str, go_on: impl FnOnce()) -> (String, ExitStatus) {
    let (mut ours, theirs) = terminal();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(theirs)
        .spawn()
        .expect("starts");
    // It holds the other side of the terminal.
    drop(command);
    let mut shown = Vec::new();
    let mut go_on = Some(go_on);
    loop {
        let text = String::from_utf8_lossy(&shown).into_owned();
        if text.contains(wanted)
            && let Some(go_on) = go_on.take()
        {
            go_on();
        }
        let mut chunk = [0; 4096];
        // The end of the last program that has it open is an error here.
        match ours.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => shown.extend_from_slice(&chunk[..length]),
        }
    }
    let shown = String::from_utf8(shown).expect("text");
    let status = child.wait().expect("ends");
    (shown.replace("\r\n", "\n"), status)
}

#[test]
fn a_long_function_is_shown_and_erased_before_other_output() {
    let line = format!("{ERASE}  1s step 1 of 1: \"./slow.sh\"");
    let test_env = test_env();
    let shown = shown(&test_env, &["render", "pkg", "--allow-exec"], &line);
    let start = "Package \"pkg\":\n[RUNNING] \"./slow.sh\" on package \"pkg\"\n";
    let rest = shown.strip_prefix(start);
    let rest = rest.and_then(|rest| rest.strip_prefix(&line));
    // It may have been drawn again until the function ended.
    let (progress, end) = rest.and_then(|rest| rest.rsplit_once(ERASE)).expect(&shown);
    assert!(!progress.contains('\n'), "{shown:?}");
    assert!(end.starts_with("[PASS] \"./slow.sh\" in "), "{shown:?}");
}

#[test]
fn the_older_command_shows_it_too() {
    let test_env = test_env();
    test_env.write(
        "pkg/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
    );
    let line = format!("{ERASE}  1s \"./slow.sh\"");
    let args = ["run", "pkg", "--enable-exec", "--exec-path", "./slow.sh"];
    let shown = shown(&test_env, &args, &line);
    assert!(
        shown.starts_with(&line) && shown.ends_with(&format!("{ERASE}No changes.\n")),
        "{shown:?}"
    );
}

#[test]
fn steps_are_counted_over_mutators_and_validators() {
    let test_env = test_env();
    test_env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: cat\n    \
         - exec: cat\n  validators:\n    - exec: ./slow.sh\n    - exec: cat\n",
    );
    let line = format!("{ERASE}  1s step 3 of 4: \"./slow.sh\"");
    let shown = shown(&test_env, &["render", "pkg", "--allow-exec"], &line);
    assert!(shown.contains(&line), "{shown:?}");
}

#[test]
fn nothing_of_it_where_it_is_not_wanted() {
    let no_variable = ("A", "b");
    for (more, variable) in [
        (&["--quiet"][..], no_variable),
        (&["--log-format=json"], no_variable),
        (&["--quiet", "--timings"], no_variable),
        (&["--compat=kpt"], no_variable),
        (&[], ("CI", "true")),
        (&[], ("TERM", "dumb")),
    ] {
        let test_env = test_env();
        // Longer than it takes until the line would be shown.
        test_env.write_program(
            "slow.sh",
            "#!/bin/sh\ncat go >/dev/null\nsleep 1.2\nexec cat\n",
        );
        let mut command = test_env.command("kiln", &test_env.work());
        command.args(["fn", "render", "pkg", "--allow-exec"]);
        command.args(more).env("TERM", "xterm");
        command.env(variable.0, variable.1);
        let shown = shown_of(&test_env, command, "");
        assert!(!shown.contains('\x1b'), "{more:?} {variable:?}: {shown:?}");
    }
}

/// A registered remote repository `r` with a draft `r.p.v1`, and a stand-in for git that waits before it runs `command`; `None`
/// without git.
fn waiting_git(command: &str) -> Option<TestEnvironment> {
    let test_env = test_env();
    let script = format!(
        "set -e; export TERM=dumb
         git config --global user.name Tester; git config --global user.email tester@example.com
         git config --global init.defaultBranch main
         git init -q --bare repo.git
         kiln repo register file://$PWD/repo.git --name r --create-branch
         kiln rpkg init p --repository r --workspace v1 -q
         mkdir stand-in; real=$(command -v git)
         printf '#!/bin/sh\\n[ \"$1\" != {command} ] || cat %s/go >/dev/null\\nexec %s \"$@\"\\n' \"$PWD\" \"$real\" > stand-in/git
         chmod +x stand-in/git"
    );
    let made = test_env.shell(&test_env.work(), &script, &[]);
    if made.code == Some(127) {
        skip("progress", "git is not there");
        return None;
    }
    assert_eq!(made.code, Some(0), "{made:?}");
    Some(test_env)
}

#[test]
fn fetches_and_pushes_are_shown_once() {
    for command in ["fetch", "push"] {
        let Some(test_env) = waiting_git(command) else {
            return;
        };
        let work = test_env.work();
        let address = format!("file://{}/repo.git", work.display());
        let line = format!("{ERASE}  git {command} \"{address}\" ");
        let line: String = line.chars().take(ERASE.len() + 79).collect();
        let mut command = test_env.command("kiln", &work);
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!(
            "{}/stand-in:{}:{path}",
            work.display(),
            test_env.bin().display()
        );
        command
            .args(["rpkg", "propose", "r.p.v1"])
            .env("PATH", path);
        command.env("TERM", "xterm");
        let shown = shown_of(&test_env, command, &line);
        // It is not drawn again, because git may ask for a password meanwhile, and erased at the end.
        assert_eq!(shown.matches("  git ").count(), 1, "{shown:?}");
        let (_, end) = shown.rsplit_once(ERASE).expect("erased");
        assert!(
            !end.contains('\x1b') && !end.contains("  git "),
            "{shown:?}"
        );
    }
}

/// A registry behind a proxy that stops in the middle of a layer, and the image of that layer.
struct SlowRegistry {
    _registry: TestRegistry,
    image: String,
    is_open: Arc<(Mutex<bool>, Condvar)>,
}

/// As much of a connection passes before the proxy stops; manifests and configurations are smaller.
const BEFORE_STOP: u64 = 30_000;

impl SlowRegistry {
    fn new() -> SlowRegistry {
        let registry = TestRegistry::scripted();
        let mut archive = tar::Builder::new(Vec::new());
        // Layers are compressed, and this does not shrink.
        let mut state = 1_u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        let content: Vec<u8> = (0..100_000).map(|_| noise()).collect();
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        let appended = archive.append_data(&mut header, "bin/function", &content[..]);
        appended.expect("an entry");
        registry.push(
            "team/function",
            "v1",
            vec![archive.into_inner().expect("an archive")],
        );
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("an address");
        let is_open = Arc::new((Mutex::new(false), Condvar::new()));
        let (gate, real) = (Arc::clone(&is_open), registry.host.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let gate = Arc::clone(&gate);
                let server = TcpStream::connect(&real).expect("the registry");
                let mut requests = client.try_clone().expect("a stream");
                let mut to_server = server.try_clone().expect("a stream");
                thread::spawn(move || io::copy(&mut requests, &mut to_server));
                thread::spawn(move || pass(server, client, &gate));
            }
        });
        SlowRegistry {
            _registry: registry,
            image: format!("{host}/team/function:v1"),
            is_open,
        }
    }

    fn open(&self) {
        let (is_open, changed) = &*self.is_open;
        *is_open.lock().expect("not poisoned") = true;
        changed.notify_all();
    }
}

fn pass(mut server: TcpStream, mut client: TcpStream, gate: &(Mutex<bool>, Condvar)) {
    let passed = io::copy(&mut (&mut server).take(BEFORE_STOP), &mut client);
    if passed.is_ok_and(|passed| passed < BEFORE_STOP) {
        // The registry closed the connection, as it does with TLS.
        let _ = client.shutdown(Shutdown::Both);
        return;
    }
    let (is_open, changed) = gate;
    let locked = is_open.lock().expect("not poisoned");
    drop(changed.wait_while(locked, |is_open| !*is_open));
    let _ = io::copy(&mut server, &mut client);
}

#[test]
fn a_pull_shows_its_bytes() {
    let registry = SlowRegistry::new();
    let test_env = test_env();
    let mut command = test_env.command("kiln", &test_env.work());
    command.args(["image", "pull", &registry.image]);
    command.env("TERM", "xterm");
    let (shown, status) = shown_until(command, " kB of ", || registry.open());
    assert!(status.success(), "{shown}");
    let line = format!(" \"{}\": ", registry.image);
    assert!(shown.contains(&line), "{shown:?}");
}

#[test]
fn a_step_shows_the_pull_that_it_waits_for() {
    let registry = SlowRegistry::new();
    let test_env = test_env();
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - image: {}\n",
        registry.image
    );
    test_env.write("pkg/Kptfile", &kptfile);
    let mut command = test_env.command("kiln", &test_env.work());
    command.args(["fn", "render", "pkg", "--image-runtime=namespaces"]);
    command.env("TERM", "xterm");
    let wanted = " (waiting for image pull";
    let (shown, _) = shown_until(command, wanted, || registry.open());
    let line = format!(" step 1 of 1: \"{}\"{wanted}", registry.image);
    assert!(shown.contains(&line), "{shown:?}");
}

#[test]
fn colours_are_not_part_of_it() {
    let line = format!("{ERASE}  1s step 1 of 1: \"./slow.sh\"");
    let test_env = test_env();
    let mut command = test_env.command("kiln", &test_env.work());
    command.args(["fn", "render", "pkg", "--allow-exec"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let shown = shown_of(&test_env, command, &line);
    assert!(!shown.replace(ERASE, "").contains('\x1b'), "{shown:?}");
}
