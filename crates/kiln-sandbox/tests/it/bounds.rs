//! How much of everything.

use kiln_sandbox::{SandboxLimits, SandboxPolicy};

use crate::world::{check_done, inside, inside_with};

fn limited(limits: SandboxLimits) -> SandboxPolicy {
    SandboxPolicy {
        limits,
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
    // The signal that says so ends it.
    assert_eq!(inside_with(policy, &["file", "large", "5"]).unwrap(), "");
}

#[test]
fn a_file_of_a_gigabyte_is_too_large() {
    if let Some(said) = inside(&["file", "large", "1024"]) {
        assert_eq!(said, "");
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
