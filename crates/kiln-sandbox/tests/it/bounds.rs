//! Limits of resources.

use std::io::{BufRead, BufReader};
use std::path::Path;

use kiln_sandbox::{ControlGroupUse, Excess, SandboxLimits, SandboxPolicy, processes};
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

use crate::fixture::{HOSTILE, check_done, inside, inside_with, run_in, sandbox, skip};

fn limited(limits: SandboxLimits) -> SandboxPolicy {
    SandboxPolicy {
        limits,
        // This tests the measurement without a control group.
        control_group: ControlGroupUse::Never,
        ..SandboxPolicy::default()
    }
}

#[test]
fn files_stay_small() {
    let policy = limited(SandboxLimits {
        file_size: 4 << 20,
        ..SandboxLimits::default()
    });
    let Some(small) = inside_with(policy.clone(), &["file", "small", "3"]) else {
        return;
    };
    assert_eq!(small, "done");
    // The signal of the limit ends it.
    assert_eq!(inside_with(policy, &["file", "large", "5"]).unwrap(), "");
}

#[test]
fn a_file_of_a_gigabyte_is_too_large() {
    if let Some(printed) = inside(&["file", "large", "1024"]) {
        assert_eq!(printed, "");
    }
}

#[test]
fn memory_is_bounded() {
    let policy = limited(SandboxLimits {
        memory: 256 << 20,
        ..SandboxLimits::default()
    });
    let Some(small) = inside_with(policy.clone(), &["memory", "64"]) else {
        return;
    };
    assert_eq!(small, "done");
    let large = inside_with(policy, &["memory", "300"]).unwrap();
    assert!(large.starts_with("denied: "), "{large}");
    check_done(&["memory", "300"]);
}

#[test]
fn addresses_are_bounded() {
    let policy = limited(SandboxLimits {
        memory: 256 << 20,
        ..SandboxLimits::default()
    });
    // What the largest language runtimes reserve, and more than the page tables allow.
    let Some(large) = inside_with(policy.clone(), &["reserve", "100"]) else {
        return;
    };
    assert_eq!(large, "done");
    let larger = inside_with(policy, &["reserve", "200"]).unwrap();
    assert!(larger.starts_with("denied: "), "{larger}");
    // .NET reserves that much.
    check_done(&["reserve", "256"]);
}

#[test]
fn stacks_and_core_dumps_are_bounded() {
    let Some(sandbox) = sandbox(SandboxPolicy::default()) else {
        return;
    };
    let output = run_in(&sandbox, Path::new("/bin/cat"), &["/proc/self/limits"]);
    let limits = String::from_utf8(output.stdout).unwrap();
    let hard = |name: &str| -> u64 {
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {limits}"));
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(hard("Max stack size") <= 64 << 20, "{limits}");
    // With 0, programs that handle core dumps would be started.
    let ours = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    assert_eq!(hard("Max core file size"), ours.unwrap_or(1).min(1));
}

#[test]
fn memory_of_the_kernel_counts_too() {
    if processes().is_empty() {
        skip("/proc shows the processes of another system");
        return;
    }
    // 400 sockets hold about 85 MB, 400 pipes 26 MB, the tables of 15 GiB take 30 MiB, 60,000 mappings 15 MiB.
    for (words, small, large) in [
        (["hold-sockets", "200"], 64, 256),
        (["hold-fifos", "400"], 20, 256),
        (["hold-mappings", "60000"], 12, 256),
        (["hold-tables", "15"], 24, 256),
    ] {
        for (megabytes, expected) in [(small, true), (large, false)] {
            let memory = megabytes << 20;
            let policy = limited(SandboxLimits {
                memory,
                ..SandboxLimits::default()
            });
            let excess = expected.then_some(Excess::Memory(memory));
            match excess_of(policy, &words) {
                Some(found) => assert_eq!(found, excess, "{words:?}, {megabytes} MiB"),
                None => return,
            }
        }
    }
}

/// The limit that the hostile program exceeds; `None` without a sandbox.
fn excess_of(policy: SandboxPolicy, words: &[&str]) -> Option<Option<Excess>> {
    let sandbox = sandbox(policy)?;
    let program = Path::new(HOSTILE);
    let sandbox_run = sandbox.prepare_run(program, None).unwrap();
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let started = sandbox_run.start(program, "hostile", &words).unwrap();
    let mut line = String::new();
    BufReader::new(started.stdout).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{words:?}");
    let excess = sandbox_run.excess(started.id);
    kill_process(started.id, Signal::KILL).unwrap();
    waitpid(Some(started.id), WaitOptions::empty()).unwrap();
    Some(excess)
}
