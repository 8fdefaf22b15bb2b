//! System calls that no library makes in a way that is safe in a child before exec.
//!
//! None allocates, locks or panics.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use libc::{c_long, c_uint};
use seccompiler::sock_filter;

/// `LANDLOCK_CREATE_RULESET_VERSION`
const RULESET_VERSION: c_long = 1;

/// The version of Landlock in the kernel; 0 if there is none.
pub(super) fn landlock_version() -> i32 {
    #[expect(unsafe_code, reason = "no library returns the version")]
    // SAFETY: with this flag the kernel reads no memory: there is no attribute, and its size is 0.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0 as c_long,
            RULESET_VERSION,
        )
    };
    i32::try_from(version).map_or(0, |version| version.max(0))
}

/// Whether the kernel filters system calls and can return an error instead.
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    #[expect(unsafe_code, reason = "no library checks this")]
    // SAFETY: the kernel reads four bytes from a variable of four bytes that outlives the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            c_long::from(libc::SECCOMP_GET_ACTION_AVAIL),
            0 as c_long,
            &raw const action,
        )
    };
    answer == 0
}

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneathAttribute {
    allowed_access: u64,
    parent: i32,
}

/// `LANDLOCK_RULE_PATH_BENEATH`
const RULE_PATH_BENEATH: c_long = 1;

/// Adds a path to a ruleset.
pub(super) fn add_rule(
    ruleset: BorrowedFd<'_>,
    path: BorrowedFd<'_>,
    access: u64,
) -> io::Result<()> {
    let attribute = PathBeneathAttribute {
        allowed_access: access,
        parent: path.as_raw_fd(),
    };
    #[expect(unsafe_code, reason = "the library's way of doing it allocates")]
    // SAFETY: the attribute has the kernel's layout, outlives the call and is only read.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            c_long::from(ruleset.as_raw_fd()),
            RULE_PATH_BENEATH,
            &raw const attribute,
            0 as c_long,
        )
    };
    checked(answer)
}

/// Applies the rules to the calling thread permanently.
pub(super) fn restrict_self(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the library's way of doing it allocates")]
    // SAFETY: two numbers are passed, of which the first is an open file for as long as it is borrowed.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            c_long::from(ruleset.as_raw_fd()),
            0 as c_long,
        )
    };
    checked(answer)
}

/// Installs the filter for the calling thread permanently.
pub(super) fn install_filter(filter: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        // The kernel accepts 4096 instructions at most, and refuses 0.
        len: u16::try_from(filter.len()).unwrap_or_default(),
        filter: filter.as_ptr().cast_mut().cast(),
    };
    #[expect(unsafe_code, reason = "the library's way of doing it may allocate")]
    // SAFETY: `program` and what it points to outlive the call and are only read. Both types of instruction are the
    // kernel's `struct sock_filter`: `repr(C)`, with the same four fields.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            c_long::from(libc::SECCOMP_SET_MODE_FILTER),
            0 as c_long,
            &raw const program,
        )
    };
    checked(answer)
}

/// Marks every open file but the standard three to be closed on exec. Every kernel that has Landlock has this.
pub(crate) fn close_all_descriptors_on_exec() -> io::Result<()> {
    close_on_exec_from(3)
}

/// Whether that works, tried without a file.
pub(super) fn can_mark_descriptors() -> bool {
    close_on_exec_from(c_uint::MAX).is_ok()
}

fn close_on_exec_from(first: c_uint) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no library has the call")]
    // SAFETY: three numbers are passed. No descriptor is closed now: their owners find them open.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            c_long::from(first),
            c_long::from(c_uint::MAX),
            c_long::from(libc::CLOSE_RANGE_CLOEXEC),
        )
    };
    checked(answer)
}

/// Closes every open file but the standard three and `kept`, which is in ascending order. For a child, whose table of files
/// is its own: the owners in its parent do not notice.
pub(super) fn close_descriptors_except(kept: &[RawFd]) -> io::Result<()> {
    let mut first: RawFd = 3;
    for descriptor in kept {
        if *descriptor > first {
            close_range(first, c_long::from(*descriptor) - 1)?;
        }
        first = first.max(descriptor.saturating_add(1));
    }
    close_range(first, c_long::from(c_uint::MAX))
}

fn close_range(first: RawFd, last: c_long) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no library has the call")]
    // SAFETY: three numbers are passed. The caller is a child with a table of files of its own, and uses none of these files
    // afterwards.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            c_long::from(first),
            last,
            0 as c_long,
        )
    };
    checked(answer)
}

/// Sets attributes of a mount, and of all mounts in it if asked to. Attributes are only added.
///
/// Not by mounting again, which would have to repeat the attributes that an outer container has locked.
pub(super) fn restrict_mount(
    mount: BorrowedFd<'_>,
    attributes: u64,
    reach: MountReach,
) -> io::Result<()> {
    let attribute = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let recursive = match reach {
        MountReach::One => 0,
        MountReach::AllBelow => libc::AT_RECURSIVE,
    };
    #[expect(unsafe_code, reason = "no library has the call")]
    // SAFETY: the path is an empty text that ends with NUL, and the attribute has the kernel's layout and the size that
    // is passed. Both outlive the call and are only read.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            c_long::from(mount.as_raw_fd()),
            c"".as_ptr(),
            c_long::from(libc::AT_EMPTY_PATH | recursive),
            &raw const attribute,
            size_of::<libc::mount_attr>(),
        )
    };
    checked(answer)
}

/// Which mounts get attributes.
#[derive(Clone, Copy)]
pub(super) enum MountReach {
    One,
    AllBelow,
}

/// Enables the loopback interface of the network namespace.
pub(super) fn enable_loopback() -> io::Result<()> {
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    let mut name = [0; libc::IFNAMSIZ];
    for (byte, letter) in name.iter_mut().zip(*b"lo") {
        // Signed on some processors.
        *byte = letter as libc::c_char;
    }
    let request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            // The interface has few flags.
            ifru_flags: flags as libc::c_short,
        },
    };
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    #[expect(unsafe_code, reason = "no library has the call")]
    // SAFETY: the request has the kernel's layout, outlives the call and is only read. The socket is this process's own,
    // and is closed by its number once.
    unsafe {
        let socket = libc::socket(libc::AF_INET, kind, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let answer = libc::ioctl(
            socket,
            libc::SIOCSIFFLAGS as libc::Ioctl,
            &raw const request,
        );
        let result = checked(answer.into());
        libc::close(socket);
        result
    }
}

fn checked(answer: c_long) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
