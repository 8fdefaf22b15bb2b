//! The commands that functions may use of calls with many uses: `fcntl`, `ioctl`, `prctl`, `setsockopt`.
//!
//! The first three are allow lists: the kernel adds commands to these calls, and most change something that outlives
//! the function or that is shared. Each list has what the C library, the shells and the runtimes of Go, Python, Node,
//! Java and .NET need.

/// Commands of `fcntl`: descriptors, flags and locks. Not leases, notifications and signal owners, which reach other
/// processes, nor hints, which stay on the file, nor larger pipes, which are charged to no process.
pub(super) const FCNTL: &[u32] = &[
    libc::F_DUPFD as u32,
    libc::F_GETFD as u32,
    libc::F_SETFD as u32,
    libc::F_GETFL as u32,
    libc::F_SETFL as u32,
    libc::F_GETLK as u32,
    libc::F_SETLK as u32,
    libc::F_SETLKW as u32,
    libc::F_OFD_GETLK as u32,
    libc::F_OFD_SETLK as u32,
    libc::F_OFD_SETLKW as u32,
    libc::F_DUPFD_CLOEXEC as u32,
    libc::F_GETPIPE_SZ as u32,
    libc::F_GET_SEALS as u32,
    // `F_DUPFD_QUERY`, `F_CREATED_QUERY`
    1027,
    1028,
];

/// Requests of `ioctl`: whether a file is a terminal and of which size, how much can be read, and flags that `fcntl`
/// sets too. Nothing that writes to a terminal, and nothing that is stored with a file.
pub(super) const IOCTL: &[u32] = &[
    // `TCGETS`, `TIOCGPGRP`, `TIOCOUTQ`, `TIOCGWINSZ`, `FIONREAD`, `FIONBIO`, `FIONCLEX`, `FIOCLEX`
    0x5401,
    0x540f,
    0x5411,
    0x5413,
    0x541b,
    0x5421,
    0x5450,
    0x5451,
    // `TCGETS2`
    0x802c_542a,
    // `FIOQSIZE`
    0x5460,
];

/// Additional requests of functions with network: the addresses and interfaces of the machine.
pub(super) const IOCTL_OF_NETWORK: &[u32] = &[
    // `SIOCATMARK`, `SIOCGIFNAME`, `SIOCGIFCONF`, `SIOCGIFFLAGS`
    0x8905, 0x8910, 0x8912, 0x8913,
    // `SIOCGIFADDR`, `SIOCGIFDSTADDR`, `SIOCGIFBRDADDR`, `SIOCGIFNETMASK`
    0x8915, 0x8917, 0x8919, 0x891b, // `SIOCGIFMTU`, `SIOCGIFHWADDR`, `SIOCGIFINDEX`
    0x8921, 0x8927, 0x8933,
];

/// Options of `prctl`: what a process may read and change about itself. Not the dumpable flag, which would hide it from
/// the check of its memory, nor core scheduling, which reaches other processes. `PR_SET_PDEATHSIG` has its own rule.
pub(super) const PRCTL: &[u32] = &[
    libc::PR_SET_PDEATHSIG as u32,
    libc::PR_GET_PDEATHSIG as u32,
    libc::PR_GET_DUMPABLE as u32,
    libc::PR_GET_KEEPCAPS as u32,
    libc::PR_SET_NAME as u32,
    libc::PR_GET_NAME as u32,
    libc::PR_GET_SECCOMP as u32,
    libc::PR_SET_SECCOMP as u32,
    libc::PR_CAPBSET_READ as u32,
    libc::PR_CAPBSET_DROP as u32,
    libc::PR_GET_TSC as u32,
    libc::PR_GET_SECUREBITS as u32,
    libc::PR_SET_TIMERSLACK as u32,
    libc::PR_GET_TIMERSLACK as u32,
    libc::PR_SET_CHILD_SUBREAPER as u32,
    libc::PR_GET_CHILD_SUBREAPER as u32,
    libc::PR_SET_NO_NEW_PRIVS as u32,
    libc::PR_GET_NO_NEW_PRIVS as u32,
    libc::PR_GET_TID_ADDRESS as u32,
    libc::PR_SET_THP_DISABLE as u32,
    libc::PR_GET_THP_DISABLE as u32,
    libc::PR_CAP_AMBIENT as u32,
    // `PR_GET_SPECULATION_CTRL`, `PR_SET_SPECULATION_CTRL`, which not every C library names.
    52,
    53,
    // Vector lengths and tagged addresses of arm64: `PR_SVE_*`, `PR_PAC_*`, `PR_*_TAGGED_ADDR_CTRL`, `PR_SME_*`.
    50,
    51,
    54,
    55,
    56,
    60,
    61,
    63,
    64,
    // `PR_SET_MDWE`, `PR_GET_MDWE`
    65,
    66,
    // `PR_GET_AUXV`, and `PR_SET_VMA`, which names memory.
    0x4155_5856,
    0x5356_4d41,
];

/// Options of sockets that enlarge their buffers: `SO_SNDBUF`, `SO_RCVBUF` and those that exceed the system's limit.
pub(super) const BUFFER_SIZES: &[u32] = &[
    libc::SO_SNDBUF as u32,
    libc::SO_RCVBUF as u32,
    libc::SO_SNDBUFFORCE as u32,
    libc::SO_RCVBUFFORCE as u32,
];
