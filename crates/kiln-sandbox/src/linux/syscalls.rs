//! The system calls that functions do not get, and why.
//!
//! Of the calls that we know, those listed here are refused; all newer ones are refused. One table serves both kinds of
//! functions: those of images have namespaces of their own, and get back what [`OF_NAMESPACES`] lists.

use libc::c_long;

/// The newest call at the time of this list (`removexattrat`, Linux 6.13). On x86-64 the numbers of the x32 calls, a
/// second way to everything, are above it too.
pub(super) const NEWEST: u32 = 466;

/// The kernel seems not to have them, because programs then do without.
pub(super) const MISSING: &[c_long] = &[
    // Its flags are in memory, where a filter cannot see them; all programs fall back to clone.
    libc::SYS_clone3,
    // A way around the filter for all its operations, especially sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Files in memory that no limit counts.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Past vulnerabilities, and no use for a function.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // The names of files that other processes make and open, in directories that the function cannot list.
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    // Its own rules for files: each takes memory that no limit counts, and there may be any number.
    libc::SYS_landlock_create_ruleset,
    // Uses a number that the whole system shares.
    libc::SYS_io_setup,
];

/// The file system seems not to have attributes, because programs that copy files then do without. Every user that may
/// write to a file can change its attributes, whatever Landlock allows.
pub(super) const UNSUPPORTED: &[c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];

/// These files seem not to be of the right kind, because programs then read and write. The calls put pages into pipes
/// instead of copies, and each page keeps the memory that it is part of, up to 2 MiB, after the file or the process has
/// released it: 32 pipes held 1 GB that no limit counted.
pub(super) const WITHOUT_COPYING: &[c_long] = &[
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
];

/// Return success and do nothing: writing out the data of all processes would take the disk from them.
pub(super) const NO_OPERATION: &[c_long] = &[libc::SYS_sync, libc::SYS_syncfs];

/// Refused for all arguments.
pub(super) const REFUSED: &[c_long] = &[
    // Other processes: their memory, files and execution.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_get_robust_list,
    // Leaving the group by which all processes are found and killed.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Sockets with addresses. Pairs are enough to communicate with own children.
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // What stays after the function: System V's memory, queues and semaphores, message queues, keys. An object of
    // another process of the user can be used by its number, without a call that opens it.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // The file system and other views of it.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_unshare,
    libc::SYS_setns,
    // The machine and its kernel.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Calls with addresses, which functions with network get back.
pub(super) const OF_NETWORK: &[c_long] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Calls that functions of images get back in addition: their sessions, files and sockets are in namespaces of their
/// own, which end with them.
pub(super) const OF_NAMESPACES: &[c_long] = &[
    // Killing the first process of the namespace kills all, whatever their group is.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // They see their own files only.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
];

/// Changes of a file's metadata by its name, which Landlock does not restrict. Refused to functions that run as the
/// same user as we do, and so own the same files.
pub(super) const OF_OWNERS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
];

/// Calls that pass open files between processes. A file in transit counts for no process, nor does the memory that it
/// holds.
pub(super) const OF_TRANSIT: &[c_long] = &[libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// Calls whose first argument is a process, 0 for the caller, and which a user may apply to all its processes.
pub(super) const OF_PROCESSES: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// The same with the process as second argument, after the kind of ID: that of a process, or else that of a group or of
/// a user, where 0 is all processes of the caller's group or user.
pub(super) const OF_PRIORITIES: &[(c_long, u32)] = &[
    (libc::SYS_setpriority, 0),
    // `IOPRIO_WHO_PROCESS`
    (libc::SYS_ioprio_set, 1),
];

// Too new for the library on all architectures; since 424 the numbers are the same everywhere.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
