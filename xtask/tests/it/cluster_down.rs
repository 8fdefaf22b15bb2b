//! `tests/cluster/down` without a cluster: recorded settings, a directory in place of `/proc` and `/sys`, and programs that
//! only note how they were called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const SETTINGS: [&str; 2] = ["vm/overcommit_memory", "kernel/keys/root_maxkeys"];

/// What is left of a cluster.
struct Remains {
    directory: TempDir,
}

impl Remains {
    fn new() -> Remains {
        let remains = Remains {
            directory: tempfile::tempdir().expect("a directory"),
        };
        for setting in SETTINGS {
            remains.write(&format!("root/proc/sys/{setting}"), "1\n");
        }
        let mounts = format!("1 1 0:1 / {} rw\n", remains.path("cluster/mount").display());
        remains.write("root/proc/self/mountinfo", &mounts);
        remains.write(
            "cluster/sysctl",
            "vm.overcommit_memory = 0\nkernel.keys.root_maxkeys = 200\nno.such = 3\n",
        );
        remains.write("cluster/variables", "export KILN_CLUSTER=x\n");
        remains.write("cluster/pki/ca.key", "secret");
        fs::create_dir_all(remains.path("root/sys/fs/cgroup/pids/kiln-cluster/pod"))
            .expect("a group");
        for program in ["ip", "umount", "ctr"] {
            let path = format!("bin/{program}");
            let calls = remains.path("calls");
            let fails = remains.path(&format!("{program}-fails"));
            let script = format!(
                "#!/bin/sh\necho {program} \"$@\" >>{}\ncase $* in *delete*|*lazy*|*list*) ! [ -e {} ];; esac\n",
                calls.display(),
                fails.display()
            );
            remains.write(&path, &script);
            let permissions = fs::Permissions::from_mode(0o755);
            fs::set_permissions(remains.path(&path), permissions).expect("permissions");
        }
        remains
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Runs a script with the functions of `tests/cluster/common`, or `down` itself; returns its exit code and output.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cluster");
        let path = std::env::var("PATH").expect("a search path");
        let output = Command::new("bash")
            .args(["-c", script])
            .current_dir(scripts)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("KILN_CLUSTER_DIR", self.path("cluster"))
            .env("KILN_CLUSTER_ROOT", self.path("root"))
            .output()
            .expect("bash");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    fn down(&self) -> (Option<i32>, String) {
        self.run("./down")
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    #[track_caller]
    fn check_settings(&self, expected: [&str; 2]) {
        let settings = SETTINGS.map(|setting| {
            let path = self.path(&format!("root/proc/sys/{setting}"));
            fs::read_to_string(path)
                .expect("a setting")
                .trim()
                .to_owned()
        });
        assert_eq!(settings, expected);
    }

    /// Files of the cluster's directory, besides the lock.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("cluster")).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }
}

#[test]
fn all_that_is_left_of_a_cluster_goes() {
    let remains = Remains::new();
    let (code, text) = remains.down();
    assert_eq!((code, text.as_str()), (Some(0), ""));
    remains.check_settings(["0", "200"]);
    assert_eq!(remains.files(), Vec::<String>::new());
    assert!(
        !remains
            .path("root/sys/fs/cgroup/pids/kiln-cluster")
            .exists()
    );
    let calls = remains.calls();
    assert!(calls.contains("ip link delete kiln-cluster"), "{calls}");
    assert!(calls.contains("umount --lazy"), "{calls}");
    // Once more, when nothing is left.
    assert_eq!(remains.down().0, Some(0));
    remains.check_settings(["0", "200"]);
}

#[test]
fn steps_that_fail_do_not_keep_settings_from_being_restored() {
    let remains = Remains::new();
    // A containerd whose containers cannot be listed, a mount, an interface and a group that stay.
    remains.write("ctr-fails", "");
    remains.write("umount-fails", "");
    remains.write("ip-fails", "");
    remains.write("root/sys/fs/cgroup/pids/kiln-cluster/busy", "");
    let (code, text) = remains.run(". ./common; start --outside containerd sleep 1000");
    assert_eq!(code, Some(0), "{text}");

    let (code, text) = remains.down();
    assert_eq!(code, Some(1), "{text}");
    let failed = "failed: stop containers,remove groups,unmount,remove interface; run ";
    assert!(text.contains(failed), "{text}");
    remains.check_settings(["0", "200"]);
    let (code, _) = remains.run(". ./common; runs containerd");
    assert_eq!(code, Some(1), "containerd still runs");

    for program in ["ctr", "umount", "ip"] {
        fs::remove_file(remains.path(&format!("{program}-fails"))).expect("a file");
    }
    fs::remove_file(remains.path("root/sys/fs/cgroup/pids/kiln-cluster/busy")).expect("a file");
    let (code, text) = remains.down();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(remains.files(), Vec::<String>::new());
}

#[test]
fn a_setting_that_cannot_be_restored_is_tried_again() {
    let remains = Remains::new();
    let setting = remains.path("root/proc/sys/vm/overcommit_memory");
    fs::remove_file(&setting).expect("a file");
    fs::create_dir(&setting).expect("a directory");
    let (code, text) = remains.down();
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("cannot set vm.overcommit_memory to 0"),
        "{text}"
    );
    assert!(text.contains("failed: restore settings;"), "{text}");
    assert_eq!(remains.files(), ["sysctl"]);

    fs::remove_dir(&setting).expect("a directory");
    fs::write(&setting, "1\n").expect("a setting");
    assert_eq!(remains.down().0, Some(0));
    remains.check_settings(["0", "200"]);
    assert_eq!(remains.files(), Vec::<String>::new());
}

/// `up` was killed before it had written more than the settings.
#[test]
fn settings_are_restored_after_a_crash() {
    let remains = Remains::new();
    for name in ["cluster/pki", "root/sys"] {
        fs::remove_dir_all(remains.path(name)).expect("a directory");
    }
    fs::remove_file(remains.path("cluster/variables")).expect("a file");
    assert_eq!(remains.down().0, Some(0));
    remains.check_settings(["0", "200"]);
}
