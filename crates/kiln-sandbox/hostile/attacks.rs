//! The attacks.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::SystemTime;

use libc::c_long;

use super::kernel::{Argument, call, map};

pub(crate) fn run(words: &[&str]) -> io::Result<()> {
    match *words {
        ["read", path] => {
            let mut byte = [0];
            File::open(path)?.read(&mut byte).map(drop)
        }
        ["list", path] => std::fs::read_dir(path).map(drop),
        ["write", path] => OpenOptions::new().write(true).open(path).map(drop),
        ["create", path] => std::fs::write(path, "x"),
        ["remove", path] => std::fs::remove_file(path),
        ["rename", from, to] => std::fs::rename(from, to),
        ["link", from, to] => std::fs::hard_link(from, to),
        ["truncate", path] => {
            let path = terminated(path);
            call(libc::SYS_truncate, &[path.as_slice().into(), 0.into()]).map(drop)
        }
        ["chmod", path] => std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)),
        ["times", path] => {
            let path = terminated(path);
            let arguments = [libc::AT_FDCWD.into(), path.as_slice().into()];
            call(libc::SYS_utimensat, &arguments).map(drop)
        }
        ["open-times", path] => {
            let file = File::open(path)?;
            call(libc::SYS_utimensat, &[file.as_raw_fd().into()]).map(drop)
        }
        ["attribute", path] => {
            let (path, name) = (terminated(path), terminated("user.kiln"));
            let (path, name) = (path.as_slice().into(), name.as_slice().into());
            let value = b"x".as_slice().into();
            call(libc::SYS_setxattr, &[path, name, value, 1.into()]).map(drop)
        }
        ["open-attribute", path] => {
            let (file, name) = (File::open(path)?, terminated("user.kiln"));
            let (file, name) = (file.as_raw_fd().into(), name.as_slice().into());
            let value = b"x".as_slice().into();
            call(libc::SYS_fsetxattr, &[file, name, value, 1.into()]).map(drop)
        }
        ["fcntl", path, command, argument] => {
            let file = File::open(path)?;
            let arguments = [file.as_raw_fd().into(), number(command)?, number(argument)?];
            call(libc::SYS_fcntl, &arguments).map(drop)
        }
        ["ioctl", path, request] => {
            let file = File::open(path)?;
            let request: c_long = request.parse().map_err(|_| bad_word())?;
            // Memory enough for what any of them writes there.
            let mut memory = [0_u8; 4096];
            let arguments = [
                file.as_raw_fd().into(),
                Argument::Number(request),
                Argument::Number(memory.as_mut_ptr() as c_long),
            ];
            call(libc::SYS_ioctl, &arguments).map(drop)
        }
        ["watch", path] => {
            let path = terminated(path);
            let watch = call(libc::SYS_inotify_init1, &[])?;
            let everything = (libc::IN_ALL_EVENTS as i32).into();
            let arguments = [Argument::Number(watch), path.as_slice().into(), everything];
            call(libc::SYS_inotify_add_watch, &arguments).map(drop)
        }
        ["prctl", option, argument] => {
            call(libc::SYS_prctl, &[number(option)?, number(argument)?]).map(drop)
        }
        // Both set the current value, in case they succeed.
        ["priority", kind, of] => call(
            libc::SYS_setpriority,
            &[number(kind)?, number(of)?, 0.into()],
        )
        .map(drop),
        ["io-priority", kind, of] => {
            let best_effort = (2 << 13 | 4).into();
            let arguments = [number(kind)?, number(of)?, best_effort];
            call(libc::SYS_ioprio_set, &arguments).map(drop)
        }
        ["scheduler", process] => {
            let parameters = [0_u8; 4];
            let normal = libc::SCHED_OTHER.into();
            let arguments = [number(process)?, normal, parameters.as_slice().into()];
            call(libc::SYS_sched_setscheduler, &arguments).map(drop)
        }
        ["affinity", process] => {
            let all = [0xff_u8; 8];
            let arguments = [number(process)?, 8.into(), all.as_slice().into()];
            call(libc::SYS_sched_setaffinity, &arguments).map(drop)
        }
        ["capable", capability] => {
            let capability: u32 = capability.parse().map_err(|_| bad_word())?;
            let status = std::fs::read_to_string("/proc/self/status")?;
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
            let set = line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
            match set.ok_or_else(bad_word)? >> capability & 1 {
                0 => Err(ErrorKind::PermissionDenied.into()),
                _ => Ok(()),
            }
        }
        ["pass-file"] => {
            // An empty message; with one, open files could be passed.
            let (one, _other) = UnixStream::pair()?;
            let message = [0_u8; 56];
            let arguments = [one.as_raw_fd().into(), message.as_slice().into()];
            call(libc::SYS_sendmsg, &arguments).map(drop)
        }
        ["socket-buffer"] => {
            let (one, _other) = UnixStream::pair()?;
            let size = (1_i32 << 20).to_ne_bytes();
            let arguments = [
                one.as_raw_fd().into(),
                libc::SOL_SOCKET.into(),
                libc::SO_SNDBUF.into(),
                size.as_slice().into(),
                4.into(),
            ];
            call(libc::SYS_setsockopt, &arguments).map(drop)
        }
        ["reserve", gigabytes] => {
            let gigabytes: usize = gigabytes.parse().map_err(|_| bad_word())?;
            map(gigabytes << 30, libc::PROT_NONE).map(drop)
        }
        ["touch", path] => File::create(path)?.set_modified(SystemTime::now()),
        ["tcp", address] => TcpStream::connect(address).map(drop),
        ["udp", address] => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.send_to(b"x", address).map(drop)
        }
        ["unix", path] => UnixStream::connect(path).map(drop),
        ["abstract", name] => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?).map(drop)
        }
        ["datagram", path] => {
            // A pair needs no address, but its ends can be used with one.
            let (one, _other) = UnixDatagram::pair()?;
            one.send_to(b"x", path).map(drop)
        }
        ["raw-pair", path] => {
            // A datagram socket that does not say so.
            let mut pair = [0_i32; 2];
            let arguments = [
                libc::AF_UNIX.into(),
                libc::SOCK_RAW.into(),
                0.into(),
                Argument::Number(pair.as_mut_ptr() as c_long),
            ];
            call(libc::SYS_socketpair, &arguments)?;
            let mut address = 1_u16.to_ne_bytes().to_vec();
            address.extend(terminated(path));
            let length = i32::try_from(address.len()).map_err(|_| bad_word())?;
            let arguments = [
                pair[0].into(),
                b"x".as_slice().into(),
                1.into(),
                0.into(),
                address.as_slice().into(),
                length.into(),
            ];
            call(libc::SYS_sendto, &arguments).map(drop)
        }
        ["socket-pair", family, kind] => {
            let mut pair = [0_i32; 2];
            let pair = Argument::Number(pair.as_mut_ptr() as c_long);
            let arguments = [number(family)?, number(kind)?, 0.into(), pair];
            call(libc::SYS_socketpair, &arguments).map(drop)
        }
        ["map", flags] => {
            let readable = libc::PROT_READ | libc::PROT_WRITE;
            let arguments = [
                0.into(),
                (64 << 10).into(),
                readable.into(),
                number(flags)?,
                (-1).into(),
                0.into(),
            ];
            call(libc::SYS_mmap, &arguments).map(drop)
        }
        ["to-pipe", way] => {
            let name = format!("kiln-hostile-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, "x")?;
            let opened = File::open(&path)?;
            std::fs::remove_file(&path)?;
            let (_reader, pipe) = io::pipe()?;
            let (file, writer) = (opened.as_raw_fd(), pipe.as_raw_fd());
            let bytes = [b"x".as_ptr() as usize, 1];
            let bytes = Argument::Number(bytes.as_ptr() as c_long);
            let zero = || Argument::from(0);
            let (number, arguments) = match way {
                "splice" => (
                    libc::SYS_splice,
                    vec![file.into(), zero(), writer.into(), zero(), 1.into()],
                ),
                "sendfile" => (
                    libc::SYS_sendfile,
                    vec![writer.into(), file.into(), zero(), 1.into()],
                ),
                _ => (libc::SYS_vmsplice, vec![writer.into(), bytes, 1.into()]),
            };
            call(number, &arguments).map(drop)
        }
        ["clone", flags] => {
            // The copy ends at once.
            match call(libc::SYS_clone, &[number(flags)?])? {
                0 => call(libc::SYS_exit_group, &[0.into()]).map(drop),
                _ => Ok(()),
            }
        }
        #[cfg(target_arch = "x86_64")]
        ["old-call"] => {
            super::kernel::old_call();
            Ok(())
        }
        ["pair"] => {
            let (mut one, mut other) = UnixStream::pair()?;
            one.write_all(b"x")?;
            other.read_exact(&mut [0])
        }
        ["socket", family, kind, protocol] => {
            let arguments = [number(family)?, number(kind)?, number(protocol)?];
            call(libc::SYS_socket, &arguments).map(drop)
        }
        ["signal", process, signal] => {
            call(libc::SYS_kill, &[number(process)?, number(signal)?]).map(drop)
        }
        ["limit", process] => {
            // Sets nothing and reads nothing; the permission is checked first.
            let arguments = [number(process)?, (libc::RLIMIT_CORE as i32).into()];
            call(libc::SYS_prlimit64, &arguments).map(drop)
        }
        ["trace", process] => {
            let arguments = [(libc::PTRACE_SEIZE as i32).into(), number(process)?];
            call(libc::SYS_ptrace, &arguments).map(drop)
        }
        ["mount", path] => {
            let (kind, path) = (terminated("tmpfs"), terminated(path));
            let arguments = [
                kind.as_slice().into(),
                path.as_slice().into(),
                kind.as_slice().into(),
                0.into(),
            ];
            call(libc::SYS_mount, &arguments).map(drop)
        }
        ["syscall", number_of_call] => {
            let number: c_long = number_of_call.parse().map_err(|_| bad_word())?;
            call(number, &[]).map(drop)
        }
        ["namespaces", flags] => call(libc::SYS_unshare, &[number(flags)?]).map(drop),
        ["group"] => Command::new("/bin/true")
            .process_group(0)
            .status()
            .map(drop),
        ["privileges"] => {
            // A process that has kept a capability may become root.
            call(libc::SYS_setresuid, &[0.into(), 0.into(), 0.into()]).map(drop)
        }
        ["file", path, megabytes] => {
            let megabytes: usize = megabytes.parse().map_err(|_| bad_word())?;
            let mut file = File::create(path)?;
            let block = vec![b'x'; 1 << 20];
            for _ in 0..megabytes {
                file.write_all(&block)?;
            }
            Ok(())
        }
        ["memory", megabytes] => {
            let megabytes: usize = megabytes.parse().map_err(|_| bad_word())?;
            let mut memory: Vec<u8> = Vec::new();
            memory
                .try_reserve_exact(megabytes << 20)
                .map_err(|_| Error::from(ErrorKind::OutOfMemory))?;
            memory.resize(megabytes << 20, 1);
            std::hint::black_box(&memory);
            Ok(())
        }
        _ => Err(bad_word()),
    }
}

fn bad_word() -> Error {
    Error::other("no such attack")
}

fn number(word: &str) -> io::Result<Argument<'static>> {
    let number: i32 = word.parse().map_err(|_| bad_word())?;
    Ok(number.into())
}

pub(crate) fn terminated(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}
