//! Attacks that a function might try.

use std::io::BufRead;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kiln_sandbox::{SandboxPolicy, processes};

use crate::fixture::{
    HOSTILE, TestDirectory, check_denied, check_denied_inside, check_done, inside, inside_program,
    inside_with, outside, set_mode, skip,
};

#[test]
fn secrets_are_not_read() {
    check_denied_inside(&["read", "/etc/shadow"]);
    check_denied(&["list", "/etc"]);
    check_denied(&["list", "/"]);
    check_denied(&["list", "/proc"]);
    let place = TestDirectory::new();
    check_denied(&["read", &place.file("secret")]);
    check_denied(&["list", place.path().to_str().unwrap()]);
}

#[test]
fn other_processes_are_hidden() {
    if processes().is_empty() {
        skip("/proc shows the processes of another system");
        return;
    }
    let us = std::process::id();
    for file in ["cmdline", "environ", "maps", "status", "stat"] {
        check_denied(&["read", &format!("/proc/{us}/{file}")]);
    }
    for directory in ["fd", "task", "net", "ns"] {
        check_denied(&["list", &format!("/proc/{us}/{directory}")]);
    }
    for file in ["mem", "pagemap", "oom_score_adj", "timerslack_ns"] {
        check_denied_inside(&["write", &format!("/proc/{us}/{file}")]);
        check_denied_inside(&["write", &format!("/proc/self/{file}")]);
    }
    check_denied_inside(&["read", "/proc/self/mem"]);
    check_done(&["read", "/proc/self/status"]);
    check_done(&["list", "/proc/self/fd"]);
}

#[test]
fn connections_of_the_machine_are_hidden() {
    for file in ["tcp", "unix", "dev"] {
        check_denied(&["read", &format!("/proc/self/net/{file}")]);
        check_denied(&["read", &format!("/proc/thread-self/net/{file}")]);
        check_denied(&["read", &format!("/proc/net/{file}")]);
    }
    check_denied(&["list", "/proc/self/net"]);
    check_denied(&["list", "/proc/self/task"]);
}

#[test]
fn nothing_is_written_outside() {
    let place = TestDirectory::new();
    let file = place.file("file");
    let new = place.join("new");
    check_denied(&["write", &file]);
    check_denied(&["truncate", &file]);
    std::fs::write(&file, "kept").unwrap();
    for words in [
        ["create", &new].as_slice(),
        &["remove", &file],
        &["rename", &file, &new],
        &["link", &file, &new],
        &["create", "/usr/kiln-was-here"],
        &["write", "/etc/passwd"],
        &["write", "/dev/mem"],
        &["write", "/proc/self/oom_score_adj"],
        &["write", "/proc/sys/kernel/hostname"],
    ] {
        check_denied_inside(words);
    }
    assert!(!std::path::Path::new(&new).exists());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn what_is_known_about_a_file_stays_as_it_is() {
    let place = TestDirectory::new();
    let file = place.file("file");
    for attack in ["chmod", "times"] {
        let before = std::fs::metadata(&file).unwrap();
        if let Some(inside) = inside(&[attack, &file]) {
            assert!(inside.starts_with("denied: "), "{attack}: {inside}");
            let after = std::fs::metadata(&file).unwrap();
            assert_eq!(
                (after.mode(), after.mtime_nsec()),
                (before.mode(), before.mtime_nsec())
            );
        }
        assert_eq!(outside(&[attack, &file]), "done");
    }
}

#[test]
fn what_is_known_about_an_open_file_stays_as_it_is() {
    // The function may read it: it is in the program's directory.
    let place = TestDirectory::new();
    let program = place.program();
    let file = place.file("file");
    let before = std::fs::metadata(&file).unwrap();
    for words in [
        ["open-times", &file].as_slice(),
        &["attribute", &file],
        &["open-attribute", &file],
        &["ioctl", &file, SET_FLAGS],
        &["ioctl", &file, SET_EXTENDED_FLAGS],
        &["fcntl", &file, SET_LEASE, "0"],
        &["fcntl", &file, SET_HINT, "0"],
        &["ioctl", &file, CLONE_FILE],
        &["ioctl", &file, SET_VERSION],
        &["ioctl", &file, ENABLE_VERITY],
    ] {
        let Some(inside) = inside_program(&program, words) else {
            return;
        };
        // Setting times may succeed; but they must not change.
        let is_refused = inside.starts_with("denied: ") || words[0] == "open-times";
        assert!(is_refused, "{words:?}: {inside}");
        let after = std::fs::metadata(&file).unwrap();
        assert_eq!(
            (after.ctime(), after.ctime_nsec()),
            (before.ctime(), before.ctime_nsec()),
            "{words:?}"
        );
    }
    assert_eq!(outside(&["open-times", &file]), "done");
    assert_eq!(outside(&["fcntl", &file, SET_LEASE, "0"]), "done");
}

/// `FICLONE`, `FS_IOC_SETVERSION`, `FS_IOC_ENABLE_VERITY`.
const CLONE_FILE: &str = "1074041865";
const SET_VERSION: &str = "1074296322";
const ENABLE_VERITY: &str = "1082156677";

/// `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`, `F_SETLEASE`, `F_SET_RW_HINT`.
const SET_FLAGS: &str = "1074292226";
const SET_EXTENDED_FLAGS: &str = "1075599392";
const SET_LEASE: &str = "1024";
const SET_HINT: &str = "1036";

#[test]
fn a_program_that_only_its_owner_may_execute_gets_no_right_by_that() {
    let place = TestDirectory::new();
    let program = place.program();
    set_mode(&program, 0o700);
    let file = place.file("file");
    set_mode(Path::new(&file), 0o600);
    let before = std::fs::metadata(&file).unwrap();
    // CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_CHOWN
    for words in [
        ["capable", "1"].as_slice(),
        &["capable", "3"],
        &["capable", "0"],
        &["chmod", &file],
        &["times", &file],
        &["times", "/etc/passwd"],
        &["open-attribute", "/etc/passwd"],
        &["ioctl", "/etc/passwd", SET_FLAGS],
        &["write", &file],
        &["truncate", &file],
    ] {
        let Some(inside) = inside_program(&program, words) else {
            return;
        };
        assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
    }
    let passwd = std::fs::metadata("/etc/passwd").unwrap();
    inside_program(&program, &["open-times", "/etc/passwd"]);
    inside_program(&program, &["open-times", &file]);
    let changed = |path: &str| {
        let now = std::fs::metadata(path).unwrap();
        (now.ctime(), now.ctime_nsec())
    };
    assert_eq!(changed(&file), (before.ctime(), before.ctime_nsec()));
    assert_eq!(
        changed("/etc/passwd"),
        (passwd.ctime(), passwd.ctime_nsec())
    );
    // It reads what its owner can read.
    assert_eq!(inside_program(&program, &["read", &file]).unwrap(), "done");
}

#[test]
fn names_of_files_are_not_watched() {
    check_denied(&["watch", "/tmp"]);
    check_denied(&["watch", "/usr"]);
    // F_NOTIFY with DN_CREATE
    check_denied(&["fcntl", "/usr", "1026", "4"]);
    check_refused(libc::SYS_fanotify_init);
}

#[test]
fn signals_and_pipes_are_left_as_they_are() {
    // F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETPIPE_SZ
    let us = std::process::id().to_string();
    for [command, argument] in [["8", &us], ["10", "9"]] {
        check_denied(&["fcntl", "/dev/null", command, argument]);
    }
    check_denied_inside(&["fcntl", "/proc/self/fd/0", "1031", "1048576"]);
    // F_GETFD, F_GETFL, FIONREAD
    check_done(&["fcntl", "/dev/null", "1", "0"]);
    check_done(&["fcntl", "/dev/null", "3", "0"]);
    check_done(&["ioctl", "/proc/self/fd/0", "21531"]);
}

#[test]
fn terminals_and_file_systems_are_not_driven() {
    // TIOCSTI, TIOCSCTTY, TIOCLINUX, FIFREEZE, FITRIM, FIOASYNC, FS_IOC_ADD_ENCRYPTION_KEY, PIDFD_GET_INFO
    for request in [
        0x5412,
        0x540e,
        0x541c,
        0xc004_5877_u32,
        0xc018_5879,
        0x5452,
        0xc050_6617,
        0xc040_ff0b,
    ] {
        let words = ["ioctl", "/dev/null", &request.to_string()];
        if let Some(inside) = inside(&words) {
            assert!(inside.contains("os error 1)"), "{request:#x}: {inside}");
        }
    }
    check_denied_inside(&["read", "/dev/tty"]);
}

#[test]
fn only_the_caller_gets_another_priority() {
    let us = std::process::id().to_string();
    // Of processes, groups and users; for the priority of input and output they begin with 1.
    for (attack, [process, group, user]) in [
        ("priority", ["0", "1", "2"]),
        ("io-priority", ["1", "2", "3"]),
    ] {
        check_done(&[attack, process, "0"]);
        check_denied_inside(&[attack, process, &us]);
        check_denied_inside(&[attack, group, "0"]);
        check_denied_inside(&[attack, user, "0"]);
    }
    for attack in ["scheduler", "affinity"] {
        check_done(&[attack, "0"]);
        check_denied(&[attack, &us]);
    }
}

#[test]
fn a_process_does_not_hide_or_outlive() {
    // PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SCHED_CORE, PR_SET_MM, PR_SET_IO_FLUSHER
    for [option, argument] in [
        ["1", "0"],
        ["1", "15"],
        ["4", "0"],
        ["1499557217", "-1"],
        ["62", "0"],
        ["35", "0"],
        ["57", "1"],
    ] {
        if let Some(inside) = inside(&["prctl", option, argument]) {
            assert!(inside.contains("os error 1)"), "{option}: {inside}");
        }
    }
    // PR_SET_PDEATHSIG to the signal that is set, PR_GET_DUMPABLE, PR_SET_TIMERSLACK
    for [option, argument] in [["1", "9"], ["3", "0"], ["29", "1"]] {
        check_done(&["prctl", option, argument]);
    }
}

#[test]
fn a_function_does_not_outlive_a_runner_that_is_killed() {
    let mut host = Command::new(HOSTILE);
    let mut host = host.arg("host").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = host.stdout.as_mut().unwrap();
    std::io::BufReader::new(stdout)
        .read_line(&mut line)
        .unwrap();
    if line.starts_with("denied: ") {
        skip(&line);
        host.wait().unwrap();
        return;
    }
    let ids: Vec<i32> = line
        .split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect();
    let were_running = ids.iter().all(|id| is_running(*id));
    host.kill().unwrap();
    host.wait().unwrap();
    let ([function, daemon], true) = (ids.as_slice(), were_running) else {
        panic!("{line}");
    };
    wait_until_gone(&[*function, *daemon]);
}

/// Waits until none of these runs the hostile program.
pub(crate) fn wait_until_gone(processes: &[i32]) {
    let started = Instant::now();
    while processes.iter().any(|process| is_running(*process)) {
        assert!(started.elapsed() < PATIENCE, "{processes:?}");
        std::thread::yield_now();
    }
}

/// A hang of the test, not of the function.
const PATIENCE: Duration = Duration::from_secs(120);

/// The names of the hostile program, here and in an image.
const NAMES: [&str; 2] = ["(kiln-sandbox-ho", "(hostile)"];

fn is_running(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    // Names are cut off.
    stat.is_ok_and(|stat| !stat.contains(") Z ") && NAMES.iter().any(|name| stat.contains(name)))
}

#[test]
fn the_private_directory_is_for_everything() {
    for words in [["create", "file"], ["touch", "file"]] {
        check_done(&words);
    }
}

#[test]
fn no_connection_is_made() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    check_denied(&["tcp", &tcp.local_addr().unwrap().to_string()]);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    check_denied(&["udp", &udp.local_addr().unwrap().to_string()]);
    let place = TestDirectory::new();
    let (stream, datagram) = (place.join("stream"), place.join("datagram"));
    let _listener = UnixListener::bind(&stream).unwrap();
    check_denied(&["unix", &stream]);
    let _receiver = UnixDatagram::bind(&datagram).unwrap();
    check_denied(&["datagram", &datagram]);
    let name = format!("kiln-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    check_denied(&["abstract", &name]);
}

#[test]
fn no_message_is_sent_from_a_pair() {
    let place = TestDirectory::new();
    let path = place.join("datagram");
    let receiver = UnixDatagram::bind(&path).unwrap();
    receiver.set_nonblocking(true).unwrap();
    if let Some(inside) = inside(&["raw-pair", &path]) {
        assert!(inside.starts_with("denied: "), "{inside}");
        assert!(receiver.recv(&mut [0]).is_err(), "it was sent");
    }
    assert_eq!(outside(&["raw-pair", &path]), "done");
    assert_eq!(receiver.recv(&mut [0]).unwrap(), 1);
    // TIPC, whose pairs can be sent from to other machines; the internet; datagram and raw sockets with flags.
    for [family, kind] in [
        ["30", "5"],
        ["30", "4"],
        ["2", "1"],
        ["1", "2"],
        ["1", "524290"],
        ["1", "526339"],
    ] {
        let words = ["socket-pair", family, kind];
        if let Some(inside) = inside(&words) {
            assert!(inside.contains("os error 1)"), "{words:?}: {inside}");
        }
    }
    check_done(&["socket-pair", "1", "5"]);
}

#[test]
fn memory_that_no_limit_counts_is_refused() {
    // MAP_ANONYMOUS with MAP_SHARED, with MAP_SHARED_VALIDATE, with MAP_PRIVATE and MAP_GROWSDOWN
    for flags in [0x21, 0x23, 0x122] {
        let words = ["map", &i32::to_string(&flags)];
        if let Some(inside) = inside(&words) {
            assert!(inside.contains("os error 1)"), "{words:?}: {inside}");
        }
    }
    check_denied(&["map", "33"]);
    check_denied(&["map", "290"]);
    check_done(&["map", "34"]);
    // MAP_STACK, MAP_NORESERVE
    check_done(&["map", "147490"]);
    // Mapped by those that may write to it, it would be shared memory.
    check_done(&["read", "/dev/zero"]);
    check_denied(&["write", "/dev/zero"]);
    check_done(&["write", "/dev/null"]);
    // Pages in a pipe hold far more memory than they have bytes. Programs can handle this error.
    for way in ["splice", "sendfile", "vmsplice"] {
        check_denied(&["to-pipe", way]);
        if let Some(inside) = inside(&["to-pipe", way]) {
            assert!(inside.contains("os error 22)"), "{way}: {inside}");
        }
    }
}

#[test]
fn children_belong_to_the_process_that_made_them() {
    // CLONE_PARENT, CLONE_PARENT with CLONE_NEWUSER, each with SIGCHLD
    check_denied(&["clone", "32785"]);
    check_denied_inside(&["clone", "268468241"]);
    check_done(&["clone", "17"]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_of_32_bit_programs_end_the_process() {
    if let Some(inside) = inside(&["old-call"]) {
        assert_eq!(inside, "");
    }
}

#[test]
fn no_kind_of_socket_is_made() {
    // Families: unix, internet, internet 6, netlink, packet, Bluetooth, cryptography, virtual machines, XDP.
    for family in [1, 2, 10, 16, 17, 31, 38, 40, 44] {
        for kind in [1, 2, 3] {
            let words = ["socket", &family.to_string(), &kind.to_string(), "0"];
            check_denied_inside(&words);
        }
    }
    check_done(&["pair"]);
    // What is in transit, or in larger buffers, is not counted.
    check_denied_inside(&["pass-file"]);
    check_denied(&["socket-buffer"]);
}

#[test]
fn the_network_can_be_allowed_and_nothing_else_with_it() {
    let policy = || SandboxPolicy {
        allow_network: true,
        ..SandboxPolicy::default()
    };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    let Some(connected) = inside_with(policy(), &["tcp", &address]) else {
        return;
    };
    assert_eq!(connected, "done");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = udp.local_addr().unwrap().to_string();
    assert_eq!(inside_with(policy(), &["udp", &address]).unwrap(), "done");
    let place = TestDirectory::new();
    let path = place.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    for words in [
        ["unix", &path].as_slice(),
        &["socket", "17", "3", "0"],
        &["socket", "16", "3", "15"],
        &["socket", "2", "3", "1"],
        // SCTP, DCCP, UDP-Lite, and what packets of other protocols are put into
        &["socket", "2", "5", "132"],
        &["socket", "2", "6", "33"],
        &["socket", "10", "2", "136"],
        &["socket", "2", "1", "256"],
    ] {
        let inside = inside_with(policy(), words).unwrap();
        assert!(inside.starts_with("denied: "), "{words:?}: {inside}");
    }
}

#[test]
fn others_are_left_alone() {
    let mut victim = Command::new("sleep");
    let mut victim = victim.arg("600").stdin(Stdio::null()).spawn().unwrap();
    for process in [victim.id(), std::process::id()] {
        let process = process.to_string();
        for signal in ["0", "9", "19"] {
            check_denied_inside(&["signal", &process, signal]);
        }
        check_denied(&["limit", &process]);
        check_denied_inside(&["trace", &process]);
    }
    let process = victim.id().to_string();
    assert_eq!(outside(&["signal", &process, "0"]), "done");
    assert_eq!(outside(&["trace", &process]), "done");
    assert!(victim.try_wait().unwrap().is_none(), "it was killed");
    victim.kill().unwrap();
    victim.wait().unwrap();
    // All that one may send signals to, but for init.
    check_denied_inside(&["signal", "1", "0"]);
    // A process outside the group could not be found and killed.
    check_denied(&["group"]);
}

#[test]
fn the_kernel_is_left_alone() {
    let place = TestDirectory::new();
    check_denied_inside(&["mount", place.path().to_str().unwrap()]);
    // Mounts, users, processes, network, each and together.
    for flags in [
        0x0002_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
        0x7002_0000,
    ] {
        check_denied_inside(&["namespaces", &i32::to_string(&flags)]);
    }
    for number in [
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_memfd_create,
        libc::SYS_keyctl,
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_semctl,
        libc::SYS_msgrcv,
        libc::SYS_mq_unlink,
        libc::SYS_io_setup,
        libc::SYS_landlock_create_ruleset,
        libc::SYS_get_robust_list,
        libc::SYS_clone3,
        libc::SYS_init_module,
        libc::SYS_chroot,
        libc::SYS_pidfd_getfd,
        libc::SYS_process_vm_readv,
        libc::SYS_open_by_handle_at,
        libc::SYS_syslog,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_memfd_secret,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_ptrace,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_kcmp,
        libc::SYS_move_pages,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
        libc::SYS_umount2,
        libc::SYS_setns,
        libc::SYS_quotactl,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_reboot,
        libc::SYS_kexec_load,
        libc::SYS_delete_module,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_inotify_init1,
        libc::SYS_fanotify_mark,
        libc::SYS_setsid,
        // open_tree_attr, file_getattr, file_setattr
        467,
        468,
        469,
    ] {
        check_refused(number);
    }
    // Future calls, and the second set of x86-64: getpid, which otherwise always succeeds.
    check_refused(5000);
    #[cfg(target_arch = "x86_64")]
    check_refused(0x4000_0000 | libc::SYS_getpid);
    check_done(&["syscall", &libc::SYS_getpid.to_string()]);
}

/// By the filter, not because the arguments make no sense.
#[track_caller]
fn check_refused(number: libc::c_long) {
    if let Some(inside) = inside(&["syscall", &number.to_string()]) {
        let refused = inside.contains("os error 1)") || inside.contains("os error 38)");
        assert!(refused, "{number}: {inside}");
    }
}

#[test]
fn no_process_gets_more_rights() {
    check_denied_inside(&["privileges"]);
    check_denied_inside(&["file", "/dev/kmsg", "1"]);
}
