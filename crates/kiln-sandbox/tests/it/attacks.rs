//! Everything that a function might try, and may not.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

use kiln_sandbox::{SandboxPolicy, processes};

use crate::world::{
    Place, check_denied, check_denied_inside, check_done, inside, inside_with, outside, skip,
};

#[test]
fn secrets_are_not_read() {
    check_denied_inside(&["read", "/etc/shadow"]);
    check_denied(&["list", "/etc"]);
    check_denied(&["list", "/"]);
    check_denied(&["list", "/proc"]);
    let place = Place::new();
    check_denied(&["read", &place.file("secret")]);
    check_denied(&["list", place.path().to_str().unwrap()]);
}

#[test]
fn other_processes_are_not_looked_at() {
    if processes().is_empty() {
        skip("/proc shows the processes of another system");
        return;
    }
    let us = std::process::id();
    for file in ["cmdline", "environ", "maps", "status"] {
        check_denied(&["read", &format!("/proc/{us}/{file}")]);
    }
    check_done(&["read", "/proc/self/status"]);
}

#[test]
fn nothing_is_written_outside() {
    let place = Place::new();
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
    let place = Place::new();
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
fn the_private_directory_is_for_everything() {
    for words in [["create", "file"], ["touch", "file"]] {
        check_done(&words);
    }
}

#[test]
fn nobody_is_connected_to() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    check_denied(&["tcp", &tcp.local_addr().unwrap().to_string()]);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    check_denied(&["udp", &udp.local_addr().unwrap().to_string()]);
    let place = Place::new();
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
fn no_kind_of_socket_is_made() {
    // Families: unix, internet, internet 6, netlink, packet, Bluetooth, cryptography, virtual machines, XDP.
    for family in [1, 2, 10, 16, 17, 31, 38, 40, 44] {
        for kind in [1, 2, 3] {
            let words = ["socket", &family.to_string(), &kind.to_string(), "0"];
            check_denied_inside(&words);
        }
    }
    check_done(&["pair"]);
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
    let place = Place::new();
    let path = place.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    for words in [
        ["unix", &path].as_slice(),
        &["socket", "17", "3", "0"],
        &["socket", "16", "3", "15"],
        &["socket", "2", "3", "1"],
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
    // Who left the group could not be found and killed.
    check_denied(&["group"]);
}

#[test]
fn the_kernel_is_left_alone() {
    let place = Place::new();
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
        libc::SYS_clone3,
        libc::SYS_init_module,
        libc::SYS_chroot,
        libc::SYS_pidfd_getfd,
        libc::SYS_process_vm_readv,
        libc::SYS_open_by_handle_at,
        libc::SYS_syslog,
    ] {
        check_refused(number);
    }
    // Calls of the future, and the second set of x86-64: one's own number, which is otherwise always told.
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
fn nobody_gets_more_rights() {
    check_denied_inside(&["privileges"]);
    check_denied_inside(&["file", "/dev/kmsg", "1"]);
}
