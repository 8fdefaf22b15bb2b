//! Control groups, on a directory that replaces their file system.

use std::fs::{create_dir_all, read_to_string, write};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A directory that looks like a control group, removed at the end.
struct Fake {
    path: PathBuf,
}

impl Fake {
    fn new(controllers: &str) -> Fake {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiln-groups-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        create_dir_all(&path).unwrap();
        write(path.join("cgroup.controllers"), controllers).unwrap();
        write(path.join("cgroup.subtree_control"), "").unwrap();
        write(path.join("cgroup.procs"), "").unwrap();
        Fake { path }
    }

    fn find(&self) -> Result<Delegated, String> {
        Delegated::find(&ControlGroupUse::In(self.path.clone()))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn limits() -> SandboxLimits {
    SandboxLimits {
        memory: 64 << 20,
        processes: 7,
        ..SandboxLimits::default()
    }
}

#[test]
fn a_run_gets_a_group_with_its_limits() {
    let fake = Fake::new("cpu memory pids\n");
    let groups = fake.find().unwrap().prepare().unwrap();
    let read = |path: &Path| read_to_string(path).unwrap();
    assert_eq!(
        read(&fake.path.join("cgroup.subtree_control")),
        "+memory +pids"
    );
    let mut group = groups.make(&limits()).unwrap();
    let path = group.path.clone();
    assert!(path.starts_with(&fake.path), "{path:?}");
    for (file, value) in [
        ("memory.max", "67108864"),
        ("memory.swap.max", "0"),
        ("memory.oom.group", "1"),
        ("pids.max", "7"),
    ] {
        assert_eq!(read(&path.join(file)), value, "{file}");
    }
    // The kernel makes this file with the group.
    write(path.join("cgroup.procs"), "").unwrap();
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    group.members = openat(CWD, path.join("cgroup.procs"), flags, Mode::empty());
    group.join().unwrap();
    assert_eq!(read(&path.join("cgroup.procs")), "0");
    assert!(!group.ran_out_of_memory());
    for (events, expected) in [
        ("low 0\nmax 9\noom 1\noom_kill 0\n", false),
        ("low 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n", true),
    ] {
        write(path.join("memory.events"), events).unwrap();
        assert_eq!(group.ran_out_of_memory(), expected);
    }
    drop(group);
    assert_eq!(read(&path.join("cgroup.kill")), "1");
}

#[test]
fn groups_that_are_not_enough_are_not_used() {
    for (controllers, reason) in [
        ("pids\n", "has no controller memory"),
        ("cpu memory io\n", "has no controller pids"),
        ("memory.x pids", "has no controller memory"),
    ] {
        let fake = Fake::new(controllers);
        let found = fake.find().unwrap_err();
        assert!(found.ends_with(reason), "{found}");
    }
    let missing = Path::new("/nowhere").to_owned();
    assert!(Delegated::find(&ControlGroupUse::In(missing)).is_err());
    assert!(Delegated::find(&ControlGroupUse::Never).is_err());
}

#[test]
fn groups_of_processes_that_are_gone_are_removed() {
    let fake = Fake::new("memory pids");
    // Process IDs are below 2²².
    let (gone, ours) = (
        fake.path.join(format!("{PREFIX}{}-3", i32::MAX)),
        fake.path.join(format!("{PREFIX}{}-99", std::process::id())),
    );
    let other = fake.path.join("init.scope");
    for path in [&gone, &ours, &other] {
        create_dir_all(path).unwrap();
    }
    let groups = fake.find().unwrap().prepare().unwrap();
    assert!(!gone.exists() && ours.exists() && other.exists());
    let left = fake.path.join("left");
    create_dir_all(&left).unwrap();
    groups.left.lock().unwrap().push(left.clone());
    drop(groups.make(&limits()).unwrap());
    assert!(!left.exists());
}

#[test]
fn the_group_of_this_process_is_found() {
    let mounts = b"24 1 0:21 / /proc rw - proc proc rw\n\
        30 1 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    let of_container = b"31 1 0:26 /../x/y\\040z /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let found = |membership: &[u8], mounts: &[u8]| {
        let found = own_group(membership, mounts);
        found.map(|(own, top)| format!("{} in {}", own.display(), top.display()))
    };
    let mixed = b"4:memory:/a\n0::/user.slice/x.scope\n";
    assert_eq!(
        found(mixed, mounts).unwrap(),
        "/sys/fs/cgroup/unified/user.slice/x.scope in /sys/fs/cgroup/unified"
    );
    assert_eq!(
        found(b"0::/\n", mounts).unwrap(),
        "/sys/fs/cgroup/unified in /sys/fs/cgroup/unified"
    );
    assert_eq!(
        found(b"0::/../x/y z/w\n", of_container).unwrap(),
        "/sys/fs/cgroup/w in /sys/fs/cgroup"
    );
    // Another part of the tree is mounted, only version 1 is, nothing is.
    assert_eq!(found(b"0::/other\n", of_container), None);
    assert_eq!(found(b"4:memory:/a\n", mounts), None);
    assert_eq!(found(b"", b"1 2 - \n\n"), None);
}

#[test]
fn a_group_is_delegated_by_a_mark_or_as_the_uppermost_of_a_container() {
    let fake = Fake::new("memory pids");
    let group = fake.path.join("group");
    create_dir_all(&group).unwrap();
    assert!(!is_delegated(&fake.path, &fake.path));
    write(fake.path.join("memory.max"), "max").unwrap();
    assert!(is_delegated(&fake.path, &fake.path));
    assert!(!is_delegated(&group, &fake.path));
    assert!(!is_delegated(Path::new("/"), &fake.path));
    let flags = rustix::fs::XattrFlags::empty();
    match rustix::fs::setxattr(&group, "user.delegate", b"1", flags) {
        Ok(()) => assert!(is_delegated(&group, &fake.path)),
        Err(errno) => skip(&format!("no attributes in {}: {errno}", group.display())),
    }
}

/// Processes join real groups and are killed with them; this needs no controllers.
#[test]
fn real_groups_are_joined_killed_and_removed() {
    let read = |path: &str| std::fs::read(path).unwrap_or_default();
    let own = own_group(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
    let Some((own, _)) = own else {
        skip("version 2 of control groups is not mounted");
        return;
    };
    let path = own.join(format!("{PREFIX}{}-test", std::process::id()));
    if let Err(error) = std::fs::create_dir(&path) {
        skip(&format!("{}: {error}", path.display()));
        return;
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let members = openat(CWD, path.join("cgroup.procs"), flags, Mode::empty());
    let left: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let group = ControlGroup {
        members,
        path: path.clone(),
        left: Arc::clone(&left),
    };
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    write(path.join("cgroup.procs"), child.id().to_string()).unwrap();
    assert_eq!(
        read_to_string(path.join("cgroup.procs")).unwrap().trim(),
        child.id().to_string()
    );
    group.kill();
    // A signal ended it.
    assert_eq!(child.wait().unwrap().code(), None);
    drop(group);
    assert!(!path.exists() && left.lock().unwrap().is_empty());
}

#[expect(clippy::print_stderr, reason = "a skipped test is visible")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}
