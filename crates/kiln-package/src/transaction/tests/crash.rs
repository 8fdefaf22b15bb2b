//! Stops and failures at every single step.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::recover::recover_stepwise;

fn old_package() -> tempfile::TempDir {
    package(&[
        ("a.yaml", "old a"),
        ("b/c.yaml", "old c"),
        ("gone.yaml", "x"),
        ("b/gone.yaml", "y"),
    ])
}

fn changes() -> Vec<FileChange> {
    vec![
        write("a.yaml", "new a"),
        write("b/c.yaml", "new c"),
        write("d/e/f.yaml", "new f"),
        write("d/g.yaml", "new g"),
        delete("gone.yaml"),
        delete("b/gone.yaml"),
    ]
}

/// The package before and after all changes.
fn states(changes: &[FileChange]) -> (Snapshot, Snapshot) {
    let root = old_package();
    let old = snapshot(root.path());
    apply(root.path(), changes, DURABLE).expect("applies");
    (old, snapshot(root.path()))
}

/// Lets the step of this number fail and all others happen.
fn fail_at(number: usize) -> Steps {
    let count = AtomicUsize::new(0);
    Steps::hooked(Arc::new(move |_, _| {
        match count.fetch_add(1, Ordering::SeqCst) == number {
            false => Ok(()),
            true => Err(io::Error::from_raw_os_error(5)),
        }
    }))
}

/// Asserts that the package is in one of two states, and says whether it is the new one.
#[track_caller]
fn is_new(root: &Path, old: &Snapshot, new: &Snapshot, what: &str) -> bool {
    let now = snapshot(root);
    assert!(now == *old || now == *new, "mixed {what}: {now:#?}");
    now == *new
}

/// Stops after every number of steps; gives the number of steps of a whole run.
fn stop_everywhere(changes: &[FileChange], options: ApplyOptions) -> usize {
    let (old, new) = states(changes);
    let mut seen = [false; 2];
    let mut allowed = 0;
    loop {
        let root = old_package();
        let outcome = apply_stepwise(root.path(), changes, options, stop_after(allowed));
        if outcome.is_ok() {
            assert_eq!(snapshot(root.path()), new);
            assert!(seen[0] && seen[1], "both outcomes must be possible");
            return allowed;
        }
        // Recovery may be killed as well, at any of its own steps, and be run again.
        let mut recovery_allowed = 0;
        while recover_stepwise(root.path(), stop_after(recovery_allowed)).is_err() {
            recovery_allowed += 1;
            assert!(recovery_allowed < 1000, "recovery does not end");
        }
        let finished = is_new(root.path(), &old, &new, &format!("after {allowed} steps"));
        seen[usize::from(finished)] = true;
        assert_eq!(recover(root.path()).expect("nothing left"), None);
        allowed += 1;
    }
}

#[test]
fn stopped_after_any_step_all_files_are_old_or_all_are_new() {
    let fast = stop_everywhere(&changes(), ApplyOptions::default());
    let durable = stop_everywhere(&changes(), DURABLE);
    assert!(
        fast > 15 && durable > fast + 8,
        "{fast} and {durable} steps"
    );
}

/// So many files that several threads write over them.
#[test]
fn stopped_while_threads_write_all_files_are_old_or_all_are_new() {
    let names: Vec<String> = (0..300)
        .map(|n| format!("d{}/f{n:03}.yaml", n / 100))
        .collect();
    let with = |content: &'static str| names.iter().map(move |name| (name.as_str(), content));
    let changes: Vec<FileChange> = with("new").map(|(name, text)| write(name, text)).collect();
    let files: Vec<(&str, &str)> = with("old").collect();
    let new = {
        let root = package(&files);
        apply(root.path(), &changes, ApplyOptions::default()).expect("applies");
        snapshot(root.path())
    };
    for allowed in [3, 4, 40, 150, 299, 302] {
        let root = package(&files);
        let old = snapshot(root.path());
        let steps = stop_after(allowed);
        apply_stepwise(root.path(), &changes, ApplyOptions::default(), steps).expect_err("stopped");
        recover(root.path()).expect("recovers");
        is_new(root.path(), &old, &new, &format!("after {allowed} steps"));
    }
}

#[test]
fn stopped_after_any_step_a_single_file_is_old_or_new() {
    stop_everywhere(&[write("a.yaml", "new a")], DURABLE);
    stop_everywhere(&[write("x/y/z.yaml", "new z")], DURABLE);
    stop_everywhere(&[delete("gone.yaml")], DURABLE);
}

#[test]
fn recovery_reports_what_it_did() {
    let changes = changes();
    let (old, new) = states(&changes);
    for allowed in 1.. {
        let root = old_package();
        if apply_stepwise(root.path(), &changes, DURABLE, stop_after(allowed)).is_ok() {
            break;
        }
        let recovery = recover(root.path()).expect("recovers");
        let finished = is_new(root.path(), &old, &new, "report");
        match recovery {
            Some(Recovery::Finished { files }) => {
                assert!(finished);
                assert_eq!(files.len(), 6);
            }
            Some(Recovery::Undone { .. }) => assert!(!finished),
            // Stopped when only the last look at the directory was missing.
            None => assert!(finished),
        }
    }
}

#[test]
fn a_failing_step_before_the_commit_changes_nothing() {
    let changes = changes();
    let (old, new) = states(&changes);
    for options in [ApplyOptions::default(), DURABLE] {
        for number in 0.. {
            let root = old_package();
            match apply_stepwise(root.path(), &changes, options, fail_at(number)) {
                Ok(_) => break,
                Err(ApplyError::Stage { path, source }) => {
                    assert_eq!(snapshot(root.path()), old, "failing step {number}");
                    assert_eq!(source.raw_os_error(), Some(5));
                    assert!(!path.is_empty());
                    assert_eq!(recover(root.path()).expect("nothing left"), None);
                }
                Err(ApplyError::Unfinished { .. }) => {
                    recover(root.path()).expect("recovers");
                    assert_eq!(snapshot(root.path()), new, "failing step {number}");
                }
                Err(error) => panic!("step {number}: {error:?}"),
            }
        }
    }
}

/// The environment variable that makes this test binary the victim of [`killed_for_real`].
const VICTIM: &str = "KILN_TEST_KILL_AFTER";

/// Not a test by itself: applies the changes in the given directory and kills itself on the way.
#[test]
fn victim() {
    let Ok(instruction) = std::env::var(VICTIM) else {
        return;
    };
    let (options, rest) = instruction.split_once(' ').expect("options first");
    let (allowed, root) = rest.split_once(' ').expect("a number and a path");
    let options = match options {
        "durable" => DURABLE,
        _ => ApplyOptions::default(),
    };
    let allowed: usize = allowed.parse().expect("a number");
    let count = AtomicUsize::new(0);
    let steps = Steps::hooked(Arc::new(move |_, _| {
        if count.fetch_add(1, Ordering::SeqCst) >= allowed {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL)?;
        }
        Ok(())
    }));
    apply_stepwise(Path::new(root), &changes(), options, steps).expect("applies");
}

#[test]
fn killed_for_real() {
    kill_everywhere("durable");
    kill_everywhere("fast");
}

fn kill_everywhere(options: &str) {
    let changes = changes();
    let (old, new) = states(&changes);
    let mut seen = [false; 2];
    for allowed in 0.. {
        let root = old_package();
        let status = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "transaction::tests::crash::victim"])
            .env(
                VICTIM,
                format!("{options} {allowed} {}", root.path().display()),
            )
            .stdout(std::process::Stdio::null())
            .status()
            .expect("starts");
        if status.success() {
            assert_eq!(snapshot(root.path()), new);
            break;
        }
        assert_eq!(status.signal(), Some(9), "{status:?}");
        recover(root.path()).expect("recovers");
        let finished = is_new(root.path(), &old, &new, &format!("kill {allowed}"));
        seen[usize::from(finished)] = true;
    }
    assert!(seen[0] && seen[1]);
}

/// Needs the right to mount, so that a small disk can be filled.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
#[test]
fn a_full_disk_changes_nothing() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let place = tempfile::tempdir().expect("a temporary directory");
    let size = c"size=256k,mode=0755";
    if let Err(error) = mount("tmpfs", place.path(), "tmpfs", MountFlags::empty(), size) {
        eprintln!("SKIPPED a_full_disk_changes_nothing: cannot mount a small tmpfs: {error}");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let root = place.path().join("pkg");
        fs::create_dir(&root).expect("a directory");
        fs::write(root.join("a.yaml"), "old").expect("a file");
        let before = snapshot(&root);
        let big = "x".repeat(120 * 1024);
        let changes: Vec<_> = (0..4)
            .map(|n| write(&format!("dir{n}/big.yaml"), &big))
            .chain([write("a.yaml", "new")])
            .collect();
        let error = apply(&root, &changes, DURABLE).expect_err("must not fit");
        let ApplyError::Stage { path, source } = error else {
            panic!("{error:?}");
        };
        assert!(path.ends_with("big.yaml"), "{path}");
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(snapshot(&root), before);
        apply(&root, &[write("a.yaml", "new")], DURABLE).expect("there is room again");
    });
    unmount(place.path(), UnmountFlags::DETACH).expect("unmounts");
    outcome.expect("no panic");
}
