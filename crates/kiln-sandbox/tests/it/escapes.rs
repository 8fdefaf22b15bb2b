//! Attempts of an image's program to leave its namespaces.

use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};

use kiln_sandbox::{
    ControlGroupUse, Excess, FileRights, ImageMount, ImageNetwork, ImagePolicy, IsolationLevel,
    MountAccess, SandboxLimits, processes,
};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

use crate::attacks::wait_until_gone;
use crate::fixture::{HOSTILE, TestDirectory, output_text, set_mode, skip};
use crate::image::{TestImage, USER, image_sandbox, in_image, refusal, run_image};

#[track_caller]
fn check_denied(words: &[&str]) {
    if let Some(inside) = in_image(words) {
        assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
    }
}

/// Refused by the filter or for lack of rights, not because something is missing.
#[track_caller]
fn check_refused(words: &[&str]) {
    if let Some(inside) = in_image(words) {
        let is_refused = [
            "os error 1)",
            "os error 13)",
            "os error 38)",
            "os error 30)",
        ];
        let is_refused = is_refused.iter().any(|error| inside.contains(error));
        assert!(is_refused, "{words:?}: {inside}");
    }
}

#[track_caller]
fn check_done(words: &[&str]) {
    if let Some(inside) = in_image(words) {
        assert_eq!(inside, "done", "{words:?}");
    }
}

#[test]
fn a_function_sees_the_image_and_nothing_else() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let printed = output_text(&run_image(&sandbox, &image.process(&["describe"])));
    let proc = match sandbox.level() {
        IsolationLevel::Namespaces => "mount /proc ro proc\n",
        // Its processes are counted below.
        _ => return skip("the outer /proc is different everywhere"),
    };
    let expected = format!(
        "Uid: {USER} {USER} {USER} {USER}\n\
         Gid: {USER} {USER} {USER} {USER}\n\
         Groups:\n\
         CapInh: 0000000000000000\n\
         CapPrm: 0000000000000000\n\
         CapEff: 0000000000000000\n\
         CapBnd: 0000000000000000\n\
         CapAmb: 0000000000000000\n\
         NoNewPrivs: 1\n\
         Seccomp: 2\n\
         process 1\n\
         processes 1\n\
         host localhost\n\
         directory /\n\
         variables PATH\n\
         open 0 pipe\n\
         open 1 pipe\n\
         open 2 pipe\n\
         interface lo\n\
         mount / ro image\n\
         mount /dev ro tmpfs\n\
         mount /dev rw tmpfs\n\
         mount /dev/shm rw tmpfs\n\
         {proc}\
         mount /tmp rw tmpfs\n"
    );
    // Groups that a user without rights cannot drop.
    let groups = |line: &&str| !line.starts_with("Groups:") && !line.starts_with("mount /dev/");
    let printed: Vec<&str> = printed.lines().filter(groups).collect();
    let expected: Vec<&str> = expected.lines().filter(groups).collect();
    assert_eq!(
        printed.get(..expected.len()),
        Some(&expected[..]),
        "{printed:#?}"
    );
}

#[test]
fn the_image_stays_as_it_is() {
    for words in [
        ["create", "/new"].as_slice(),
        &["create", "/data/new"],
        &["write", "/data/file"],
        &["remove", "/data/file"],
        &["chmod", "/data/file"],
        &["times", "/data/file"],
        &["truncate", "/data/file"],
        &["rename", "/data/file", "/data/other"],
        &["write", "/bin/hostile"],
        // The program that runs, and that of its parent (CVE-2019-5736).
        &["write", "/proc/self/exe"],
        &["truncate", "/proc/self/exe"],
        &["create", "/dev/new"],
        &["remove", "/dev/null"],
    ] {
        check_denied(words);
    }
    for words in [
        ["create", "/tmp/file"].as_slice(),
        &["touch", "/tmp/file"],
        &["create", "/dev/shm/file"],
        &["write", "/dev/null"],
        &["read", "/dev/zero"],
        &["read", "/dev/urandom"],
        &["write", "/dev/stdout"],
        &["read", "/etc/motd"],
        &["list", "/"],
        &["list", "/proc"],
    ] {
        check_done(words);
    }
}

#[test]
fn a_run_leaves_nothing_to_the_next() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let list = || {
        let found = walk(&image.root());
        (
            found,
            std::fs::read_to_string("/proc/self/mountinfo").unwrap(),
        )
    };
    let before = list();
    for _ in 0..3 {
        let created = run_image(&sandbox, &image.process(&["create", "/tmp/file"]));
        assert_eq!(output_text(&created), "done");
        let read = run_image(&sandbox, &image.process(&["read", "/tmp/file"]));
        assert!(output_text(&read).contains("os error 2)"), "{read:?}");
    }
    assert_eq!(list(), before);
}

fn walk(directory: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let status = std::fs::symlink_metadata(&path).unwrap();
        let modified = status.modified().unwrap();
        found.push(format!(
            "{} {modified:?} {:?}",
            path.display(),
            status.permissions()
        ));
        if status.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn mounts_are_not_changed() {
    for words in [
        ["mount", "/tmp"].as_slice(),
        &["remount", "/"],
        &["remount", "/proc"],
        &["unmount", "/tmp"],
        &["unmount", "/proc"],
        &["make-device", "/tmp/disk"],
    ] {
        check_refused(words);
    }
}

#[test]
fn namespaces_are_neither_made_nor_entered() {
    // Mounts, users, processes, network, each and together.
    for flags in [
        0x0002_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
        0x7002_0000,
    ] {
        check_refused(&["namespaces", &i32::to_string(&flags)]);
        check_refused(&["clone", &(flags | libc::SIGCHLD).to_string()]);
    }
    for kind in ["mnt", "user", "net", "pid"] {
        check_refused(&["set-namespace", &format!("/proc/1/ns/{kind}")]);
    }
}

#[test]
fn settings_of_the_kernel_stay() {
    for path in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/proc/self/uid_map",
        "/proc/1/mem",
    ] {
        check_denied(&["write", path]);
    }
}

#[test]
fn the_kernel_is_left_alone() {
    for number in [
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_open_by_handle_at,
        libc::SYS_mount_setattr,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsmount,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_sethostname,
        libc::SYS_memfd_create,
        libc::SYS_fanotify_init,
        467,
        5000,
    ] {
        check_refused(&["syscall", &number.to_string()]);
    }
    check_denied(&["privileges"]);
}

#[test]
fn sessions_files_and_sockets_are_the_functions_own() {
    // Unlike executables, which share them with this machine.
    for words in [
        ["syscall", &libc::SYS_inotify_init1.to_string()].as_slice(),
        &["watch", "/tmp"],
        &["pair"],
        &["socket", "1", "1", "0"],
        &["socket", "2", "1", "0"],
        &["socket", "10", "2", "0"],
        &["socket", "16", "3", "0"],
        &["socket-pair", "1", "2"],
        &["listen", "of-the-function"],
        &["pass-file"],
    ] {
        check_done(words);
    }
    // Raw sockets, packets, other netlink protocols, virtual machines, SCTP.
    for [family, kind, protocol] in [
        ["2", "3", "1"],
        ["17", "3", "0"],
        ["16", "3", "12"],
        ["40", "1", "0"],
        ["2", "5", "132"],
    ] {
        check_refused(&["socket", family, kind, protocol]);
    }
}

#[test]
fn nothing_of_this_machine_is_connected_to() {
    let name = format!("kiln-image-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    check_denied(&["abstract", &name]);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    check_denied(&["tcp", &address]);
    // With the network of this machine the same address is reached, and nothing but internet protocols.
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    for (words, is_done) in [
        (["tcp", &address].as_slice(), true),
        (&["abstract", &name], false),
        (&["socket", "1", "1", "0"], false),
        (&["socket", "17", "3", "0"], false),
    ] {
        let mut process = image.process(words);
        process.network = ImageNetwork::Host;
        let printed = output_text(&run_image(&sandbox, &process));
        assert_eq!(printed == "done", is_done, "{words:?}: {printed}");
    }
}

#[test]
fn other_processes_do_not_exist() {
    let us = std::process::id().to_string();
    check_denied(&["signal", &us, "0"]);
    check_denied(&["trace", "1"]);
    check_denied(&["limit", &us]);
    if let Some(inside) = in_image(&["read", &format!("/proc/{us}/environ")]) {
        assert!(inside.starts_with("denied: "), "{inside}");
    }
    // To all processes that it can see, which is none.
    check_denied(&["signal", "-1", "0"]);
}

fn limited(limits: SandboxLimits) -> ImagePolicy {
    ImagePolicy {
        limits,
        // This tests the limits without a control group.
        control_group: ControlGroupUse::Never,
    }
}

#[test]
fn memory_for_files_is_bounded_for_all_directories_together() {
    let policy = limited(SandboxLimits {
        file_size: 8 << 20,
        ..SandboxLimits::default()
    });
    let Some(sandbox) = image_sandbox(policy) else {
        return;
    };
    let image = TestImage::new();
    for (words, is_done) in [
        (["fill", "/tmp", "3", "2"], true),
        (["fill", "/tmp", "5", "2"], false),
        (["fill", "/dev/shm", "5", "2"], false),
        (["fill", "/tmp", "70000", "0"], false),
    ] {
        let printed = output_text(&run_image(&sandbox, &image.process(&words)));
        assert_eq!(printed == "done", is_done, "{words:?}: {printed}");
        assert!(is_done || printed.contains("os error 28)"), "{printed}");
    }
}

#[test]
fn processes_are_bounded() {
    let policy = limited(SandboxLimits {
        processes: 20,
        ..SandboxLimits::default()
    });
    let Some(sandbox) = image_sandbox(policy) else {
        return;
    };
    let image = TestImage::new();
    let few = output_text(&run_image(&sandbox, &image.process(&["fork", "10"])));
    assert_eq!(few, "done");
    let many = output_text(&run_image(&sandbox, &image.process(&["fork", "30"])));
    assert!(many.contains("os error 11)"), "{many}");
}

#[test]
fn memory_of_all_processes_together_is_watched() {
    if processes().is_empty() {
        return skip("/proc shows the processes of another system");
    }
    let policy = limited(SandboxLimits {
        memory: 64 << 20,
        ..SandboxLimits::default()
    });
    let Some(sandbox) = image_sandbox(policy) else {
        return;
    };
    let image = TestImage::new();
    let process = image.process(&["memory", "300"]);
    let alone = output_text(&run_image(&sandbox, &process));
    assert!(alone.starts_with("denied: "), "{alone}");
    // Tables, which no limit of the kernel counts.
    let process = image.process(&["hold-tables", "15"]);
    let run = sandbox.prepare_run(&process, Some(16 << 20)).unwrap();
    let started = run.start().unwrap();
    let mut line = String::new();
    BufReader::new(&started.stdout)
        .read_line(&mut line)
        .unwrap();
    if line == "ready\n" {
        // One look was once seen to find nothing here, and why is not known. kiln's watcher looks again and again, so this
        // asserts that it finds the excess, not that the first look does.
        let excess = (0..1000).find_map(|_| run.excess(started.id));
        assert_eq!(excess, Some(Excess::Memory(16 << 20)));
    } else {
        // The limit of addresses was lower.
        assert!(line.starts_with("denied: "), "{line}");
    }
    let _ = kill_process(started.id, Signal::KILL);
    waitpid(Some(started.id), WaitOptions::empty()).unwrap();
}

#[test]
fn killing_the_first_process_kills_all() {
    if processes().is_empty() {
        return skip("/proc shows the processes of another system");
    }
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let process = image.process(&["daemon"]);
    let run = sandbox.prepare_run(&process, None).unwrap();
    let started = run.start().unwrap();
    let mut line = String::new();
    BufReader::new(&started.stdout)
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("1 "), "{line}");
    let function = started.id.as_raw_nonzero().get();
    let daemon = processes()
        .into_iter()
        .find(|process| process.parent == function);
    let daemon = daemon.unwrap().id;
    kill_process(started.id, Signal::KILL).unwrap();
    // The kernel reports its end only after that of all others.
    waitpid(Some(started.id), WaitOptions::empty()).unwrap();
    assert!(
        processes().iter().all(|process| process.id != daemon),
        "{daemon}"
    );
}

#[test]
fn a_function_does_not_outlive_a_runner_that_is_killed() {
    if image_sandbox(ImagePolicy::default()).is_none() || processes().is_empty() {
        return skip("no namespaces, or no /proc");
    }
    let image = TestImage::new();
    let mut host = Command::new(HOSTILE);
    host.arg("host-image")
        .arg(image.root())
        .stdout(Stdio::piped());
    let mut host = host.spawn().unwrap();
    let mut line = String::new();
    let stdout = host.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let ids: Vec<i32> = line
        .split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect();
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(ids.len() == 2 && ids.iter().all(|id| *id > 1), "{line}");
    wait_until_gone(&ids);
}

#[test]
fn mounts_are_read_only_unless_they_are_to_be_written() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let place = TestDirectory::new();
    set_mode(place.path(), 0o777);
    let file = place.file("file");
    let mount = |target: &str, access| ImageMount {
        source: place.path().to_owned(),
        target: target.into(),
        access,
    };
    for (words, access, is_done) in [
        (["read", "/empty/file"], MountAccess::ReadOnly, true),
        (["create", "/empty/new"], MountAccess::ReadOnly, false),
        (["create", "/empty/new"], MountAccess::ReadWrite, true),
    ] {
        let mut process = image.process(&words);
        process.mounts = vec![mount("/empty", access)];
        let printed = output_text(&run_image(&sandbox, &process));
        assert_eq!(printed == "done", is_done, "{words:?}: {printed}");
    }
    // A file, in a writable directory where it does not exist yet.
    let mut process = image.process(&["read", "/tmp/from-outside"]);
    process.mounts = vec![ImageMount {
        source: file.into(),
        target: "/tmp/from-outside".into(),
        access: MountAccess::ReadOnly,
    }];
    assert_eq!(output_text(&run_image(&sandbox, &process)), "done");
    // Directories that the image does not have are added, and it stays read-only.
    for (words, is_done) in [
        (["read", "/missing/deep/file"], true),
        (["read", "/etc/motd"], true),
        (["create", "/missing/deep/new"], false),
        (["create", "/missing/new"], false),
        (["create", "/data/new"], false),
        (["create", "/tmp/new"], true),
    ] {
        let mut process = image.process(&words);
        process.mounts = vec![mount("/missing/deep", MountAccess::ReadOnly)];
        let printed = output_text(&run_image(&sandbox, &process));
        assert_eq!(printed == "done", is_done, "{words:?}: {printed}");
    }
    // With our rights, a directory that is closed to others is written to.
    set_mode(place.path(), 0o700);
    for (rights, is_done) in [(FileRights::Ours, true), (FileRights::Least, !is_root())] {
        let mut process = image.process(&["create", "/empty/mine"]);
        process.rights = rights;
        process.mounts = vec![mount("/empty", MountAccess::ReadWrite)];
        let printed = output_text(&run_image(&sandbox, &process));
        assert_eq!(printed == "done", is_done, "{rights:?}: {printed}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn links_of_an_image_lead_nowhere_else() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let place = TestDirectory::new();
    let secret = place.file("secret");
    std::os::unix::fs::symlink(place.path(), image.root().join("link")).unwrap();
    std::os::unix::fs::symlink("../../../../../..", image.root().join("up")).unwrap();
    // Mount points that are links of the image: what is mounted there stays inside.
    std::fs::remove_dir(image.root().join("tmp")).unwrap();
    std::os::unix::fs::symlink("/empty", image.root().join("tmp")).unwrap();
    for (words, is_done) in [
        (["read", "/link/secret"], false),
        (["read", &format!("/up{secret}")], false),
        (["create", "/empty/file"], true),
    ] {
        let printed = output_text(&run_image(&sandbox, &image.process(&words)));
        assert_eq!(printed == "done", is_done, "{words:?}: {printed}");
    }
    std::fs::remove_file(image.root().join("tmp")).unwrap();
    std::os::unix::fs::symlink(place.path(), image.root().join("tmp")).unwrap();
    let created = run_image(&sandbox, &image.process(&["create", "/tmp/file"]));
    assert_eq!(output_text(&created), "done");
    assert!(!place.path().join("file").exists());
}

#[test]
fn a_program_that_is_missing_is_not_a_lack_of_the_system() {
    let Some(sandbox) = image_sandbox(ImagePolicy::default()) else {
        return;
    };
    let image = TestImage::new();
    let mut process = image.process(&[]);
    process.program = "/bin/missing".into();
    let error = refusal(&sandbox, &process);
    assert!(
        error.starts_with("cannot start the program: No such file"),
        "{error}"
    );
    let mut process = image.process(&[]);
    process.directory = "/missing".into();
    let error = refusal(&sandbox, &process);
    assert!(error.contains("working directory"), "{error}");
}

#[test]
fn the_step_that_the_system_refuses_is_reported() {
    // In a user namespace of the test that allows no further ones.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" probe";
    let mut unshare = Command::new("unshare");
    let unshare = unshare.args(["-r", "sh", "-c", script, HOSTILE]).output();
    let output = match unshare {
        Ok(output) if output.status.success() => output,
        other => return skip(&format!("unshare does not work: {other:?}")),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines[0].starts_with("namespaces: cannot isolate the function: cannot create namespaces: "),
        "{printed}"
    );
    assert!(lines[0].contains("os error 28)"), "{printed}");
}

/// As in most containers: the kernel mounts a new `/proc` only where all of the old one is visible.
#[test]
fn the_outer_proc_is_used_where_parts_of_it_are_hidden() {
    if image_sandbox(ImagePolicy::default()).is_none() {
        return;
    }
    let image = TestImage::new();
    let root = image.root().display().to_string();
    let inside = |words: &[&str]| {
        let script = "mount --bind /dev/null /proc/version && exec \"$@\"";
        let mut unshare = Command::new("unshare");
        let unshare = unshare.args(["-rm", "sh", "-c", script, "sh", HOSTILE]);
        let output = unshare.args(words).output().ok()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(printed)
    };
    let Some(probed) = inside(&["probe"]) else {
        return skip("unshare or mount does not work");
    };
    let lines: Vec<&str> = probed.lines().collect();
    let refused = "namespaces: cannot isolate the function: cannot mount /proc: ";
    assert!(lines[0].starts_with(refused), "{probed}");
    assert_eq!(lines[1], "namespaces with the outer /proc: works");
    for (words, expected) in [
        (["write", "/proc/sys/kernel/hostname"], "denied: "),
        (["read", "/proc/1/environ"], "denied: "),
        (["list", "/proc"], "done"),
        (["list", "/proc/1/root"], "denied: "),
    ] {
        let printed = inside(&[&["run-image", &root], &words[..]].concat()).unwrap();
        let mut lines = printed.lines();
        let line = lines.next().unwrap_or_default();
        assert!(line.starts_with(expected), "{words:?}: {printed}");
        assert_eq!(lines.next(), Some("namespaces with the outer /proc"));
    }
}
