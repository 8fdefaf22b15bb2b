//! kill -9, at every system call that matters and at any moment.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Job, VERBS, skip};

const SIGKILL: i32 = 9;

fn was_killed(status: ExitStatus) -> bool {
    // strace ends as the program that it watches did.
    status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL)
}

/// Whether strace is there and allowed to do its work.
fn has_strace(job: &Job) -> bool {
    let script =
        "strace -qq -o /dev/null -e trace=write -e inject=write:signal=KILL:when=1 echo; exit $?";
    job.test_env.shell(&job.test_env.work(), script, &[]).code == Some(128 + SIGKILL)
}

/// Kills kiln as it enters the calls of one name: the first, then in another run the second, until one is not reached.
/// Gives how often the package was old and how often it was new.
fn kill_at_every(verb: &str, call: &str) -> [usize; 2] {
    let states = Job::states(verb);
    let mut outcomes = [0; 2];
    for number in 1.. {
        assert!(number < 1000, "{verb}: {call} without end");
        let job = Job::new(verb);
        let (trace, inject) = (
            format!("trace={call}"),
            format!("inject={call}:signal=KILL:when={number}"),
        );
        let words = "strace -qq -o /dev/null -e".split(' ').collect::<Vec<_>>();
        let words: Vec<&str> = words.into_iter().chain([&*trace, "-e", &inject]).collect();
        let status = job.command_behind(&words).status().expect("strace runs");
        let what = format!("{verb} killed at {call} {number}");
        let is_new = job.settle(&states, &what);
        if !was_killed(status) {
            assert!(status.success() && is_new, "{what}: {status}");
            return outcomes;
        }
        outcomes[usize::from(is_new)] += 1;
    }
    outcomes
}

#[test]
fn killed_at_any_step_of_writing() {
    if !has_strace(&Job::new("sink")) {
        return skip("killed_at_any_step_of_writing", "strace does not work here");
    }
    for verb in VERBS {
        let outcomes = ["renameat", "unlinkat", "mkdirat", "write", "fchmod"]
            .map(|call| kill_at_every(verb, call));
        let [old, new] = outcomes
            .into_iter()
            .fold([0, 0], |[old, new], [o, n]| [old + o, new + n]);
        assert!(old > 0 && new > 0, "{verb}: {old} old, {new} new");
    }
}

#[test]
fn killed_while_reading() {
    if !has_strace(&Job::new("sink")) {
        return skip("killed_while_reading", "strace does not work here");
    }
    let [old, _] = kill_at_every("render", "openat");
    assert!(old > 0);
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn kill(mut child: Child) -> ExitStatus {
    // It may have ended already.
    let _ = child.kill();
    child.wait().expect("a status")
}

#[test]
fn killed_at_any_moment() {
    let mut dice = Dice(0x5eed);
    for verb in VERBS {
        let states = Job::states(verb);
        let started = Instant::now();
        Job::new(verb)
            .command_behind(&[])
            .status()
            .expect("kiln runs");
        let longest = started.elapsed().as_micros();
        let longest = u64::try_from(longest).expect("no more than years");
        let (_silent, never) = mpsc::channel::<()>();
        for number in 0..25 {
            let job = Job::new(verb);
            let child = job.command_behind(&[]).spawn().expect("kiln runs");
            // Nothing depends on the time that this takes: any moment will do, and nothing is ever sent.
            let moment = Duration::from_micros(dice.below(longest));
            let _ = never.recv_timeout(moment);
            let status = kill(child);
            let is_new = job.settle(&states, &format!("{verb}, moment {number}"));
            assert!(is_new || was_killed(status), "{verb}: {status}");
        }
    }
}

#[test]
fn killed_while_functions_run() {
    for verb in ["render", "eval", "run"] {
        let states = Job::states(verb);
        let job = Job::new(verb);
        // The function prints that it runs, and then waits until the test ends.
        job.test_env
            .shell(&job.test_env.work(), "mkfifo runs ends", &[]);
        job.function("echo > runs; cat ends > /dev/null; cat answer.yaml");
        let child = job.command_behind(&[]).spawn().expect("kiln runs");
        std::fs::read(job.test_env.work().join("runs")).expect("the function runs");
        assert!(was_killed(kill(child)));
        assert!(!job.settle(&states, verb));
        // Lets the orphan go.
        std::fs::write(job.test_env.work().join("ends"), "").expect("the function waits");
    }
}

#[test]
fn the_next_command_reports_what_it_recovered() {
    let job = Job::new("render");
    if !has_strace(&job) {
        return skip(
            "the_next_command_reports_what_it_recovered",
            "strace does not work here",
        );
    }
    for (call, words) in [
        ("fchmod", "undid an interrupted change of "),
        ("renameat", "finished an interrupted change of "),
    ] {
        let job = Job::new("render");
        let inject = format!("inject={call}:signal=KILL:when=1");
        let words_before = ["strace", "-qq", "-o", "/dev/null", "-e", &inject];
        let status = job
            .command_behind(&words_before)
            .status()
            .expect("strace runs");
        assert!(was_killed(status));
        let ran = job.test_env.kiln(&["fn", "source", "pkg"], "");
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.contains("a.yaml"), "{}", ran.stderr);
        let again = job.test_env.kiln(&["fn", "source", "pkg"], "");
        assert_eq!(again.stderr, "");
    }
}
