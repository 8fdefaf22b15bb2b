//! Disks that are full, files and directories that may not be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use super::{Job, VERBS, skip, without_status};
use crate::test_environment::{Outcome, files, run};

/// Runs the job on a disk of its own with less and less space, in a namespace that takes the disk with it when it ends.
/// For each space there is a copy of what was there afterwards, and what kiln printed.
const FILL: &str = r#"
set -eu
mkdir disk
mount -t tmpfs -o size=256k none disk
for free in $(seq 0 4 64); do
    rm -rf disk/*
    if [ -d pkg ]; then cp -a pkg disk/; fi
    cp -a function answer.yaml disk/
    used=$(df --output=used -k disk | tail -n 1)
    head -c $(((256 - used - free) * 1024)) /dev/zero > disk/filler
    code=0
    (cd disk && kiln "$@" < ../input > /dev/null 2> ../printed.$free) || code=$?
    echo $code > code.$free
    mkdir after.$free
    for name in pkg out; do if [ -d disk/$name ]; then cp -a disk/$name after.$free/; fi; done
done
"#;

#[test]
fn a_full_disk_changes_nothing() {
    for verb in VERBS {
        let states = Job::states(verb);
        let job = Job::new(verb);
        let work = job.test_env.work();
        fs::write(work.join("input"), job.input()).expect("a file");
        // Root may mount; others may in a namespace where they are root.
        let ran = ["-m", "-Urm"].map(|flags| {
            if work.join("code.64").exists() {
                return None;
            }
            let _ = fs::remove_dir(work.join("disk"));
            let mut command = job.test_env.command("unshare", &work);
            command
                .args([flags, "sh", "-c", FILL, "sh"])
                .args(job.args());
            Some(run(&mut command, ""))
        });
        if !work.join("code.64").exists() {
            return skip("a_full_disk_changes_nothing", &format!("no mount: {ran:?}"));
        }
        let mut failures = 0;
        for free in (0..=64).step_by(4) {
            let read = |name: &str| fs::read_to_string(work.join(format!("{name}.{free}")));
            let (code, printed) = (
                read("code").expect("a code"),
                read("printed").expect("words"),
            );
            let target = job.target();
            let name = target.file_name().expect("a name");
            let after = work.join(format!("after.{free}")).join(name);
            let now = match after.exists() {
                true => files(&after),
                false => super::Files::new(),
            };
            let what = format!("{verb} with {free}k free: {code}{printed}");
            match code.trim() {
                "0" => assert_eq!(now, states.1, "{what}"),
                "1" => {
                    failures += 1;
                    assert_eq!(now, states.0, "{what}");
                    let words = printed.to_lowercase();
                    assert!(words.contains("no space left on device"), "{what}");
                }
                _ => panic!("{what}"),
            }
        }
        assert!(failures > 0, "{verb} never ran out of space");
    }
}

const NOBODY: u32 = 65534;

/// A job that is not root's, because root may write everywhere; none if that cannot be had.
fn as_nobody(job: &Job) -> Option<Outcome> {
    let test_env = &job.test_env;
    let is_root = test_env
        .shell(&test_env.work(), "test $(id -u) = 0", &[])
        .code
        == Some(0);
    if !is_root {
        return Some(test_env.kiln(job.args(), &job.input()));
    }
    // All files belong to the user `nobody`, and the program is readable for that user.
    let base = test_env.work().parent().expect("a parent").to_owned();
    let program = base.join("nobodys-kiln");
    let original = env!("CARGO_BIN_EXE_kiln");
    if !program.exists() && fs::hard_link(original, &program).is_err() {
        fs::copy(original, &program).expect("a copy");
    }
    for path in [&base, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let script = format!("chown -R {NOBODY}:{NOBODY} .");
    test_env.shell(&test_env.work(), &script, &[]);
    let mut command = test_env.command("setpriv", &test_env.work());
    command
        .arg(format!("--reuid={NOBODY}"))
        .arg(format!("--regid={NOBODY}"))
        .arg("--clear-groups")
        .arg(&program)
        .args(job.args())
        .stdin(Stdio::piped());
    let probe = test_env
        .command("setpriv", Path::new("/"))
        .arg("-V")
        .output();
    probe.ok().map(|_| run(&mut command, &job.input()))
}

/// Asserts that the job fails with these words when the path has this mode, and that nothing but the status is changed.
fn check_refused(verb: &str, path: &str, mode: u32, words: &[&str]) {
    if let Some(code) = check_whole(verb, path, mode, words) {
        assert_eq!(code, 1, "{verb} {path}");
    }
}

/// Asserts that the job, when the path has this mode, does all, or fails with these words and changes nothing but the
/// status; which of them, if it could be run.
fn check_whole(verb: &str, path: &str, mode: u32, words: &[&str]) -> Option<i32> {
    let job = Job::new(verb);
    let (old, new) = Job::states(verb);
    let path = job.test_env.work().join(path);
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    let Some(ran) = as_nobody(&job) else {
        skip("check_whole", "there is no setpriv");
        return None;
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    let what = format!("{verb} {}: {ran:?}", path.display());
    let now = without_status(job.files());
    match ran.code {
        Some(0) => assert_eq!(now, without_status(new), "{what}"),
        code => {
            assert_eq!(code, Some(1), "{what}");
            for word in words {
                assert!(ran.stderr.contains(word), "{word:?} in {what}");
            }
            assert_eq!(now, old, "{what}");
        }
    }
    ran.code
}

#[test]
fn what_is_read_only_stays() {
    for verb in ["render", "eval", "run"] {
        let denied = "ermission denied";
        check_refused(verb, "pkg/a.yaml", 0o444, &["cannot write a.yaml", denied]);
        // No temporary file can be made beside a file, which can be written over on some file systems.
        check_whole(verb, "pkg/b", 0o555, &["cannot write b/c.yaml", denied]);
        // No journal can be written.
        check_refused(verb, "pkg", 0o555, &["cannot write", denied]);
        check_refused(verb, "pkg/a.yaml", 0o000, &["a.yaml", denied]);
    }
    check_refused("sink", ".", 0o555, &["out", "ermission denied"]);
}

#[test]
fn a_read_only_file_that_nothing_changes_is_no_obstacle() {
    let job = Job::new("render");
    let (old, _) = Job::states("render");
    job.function("cat");
    for name in ["a.yaml", "gone.yaml"] {
        let path = job.target().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).expect("a mode");
    }
    let Some(ran) = as_nobody(&job) else {
        return skip(
            "a_read_only_file_that_nothing_changes_is_no_obstacle",
            "there is no setpriv",
        );
    };
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut now = job.files();
    let status = now.insert("Kptfile".into(), old["Kptfile"].clone());
    assert!(status.is_some_and(|kptfile| kptfile.contains("RenderSuccess")));
    assert_eq!(now, old);
}
