//! Older kernels and restricted containers: an engine runs images instead, and `kiln doctor` prints what would help.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::images::{ImageTest, RESOURCE};
use crate::refused_calls::{
    LINUX_4_18, LINUX_5_4, LINUX_5_10, NO_MOUNTS, NO_OPEN_TREE, NO_OPENAT2, OLD_POD, POD,
    RefusedCalls,
};
use crate::test_environment::Outcome;

/// An image that only namespaces or an engine can run, and an engine that changes the resource.
fn test() -> Option<ImageTest> {
    let test = ImageTest::in_namespaces("old", "cat")?;
    let engine = test.test_env.bin().join("docker");
    let script = "#!/bin/sh\ncase $1 in\nrun) exec sed 's/value: old/value: engine/' ;;\nversion) echo 27 ;;\nesac\n";
    fs::write(&engine, script).expect("a file");
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).expect("a mode");
    Some(test)
}

fn kiln(test: &ImageTest, system: &RefusedCalls, words: &str) -> Outcome {
    let mut command = test.command(words);
    let output = system.output(command.env_remove("KRM_FN_RUNTIME"));
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn an_engine_runs_what_an_old_system_cannot_isolate() {
    let Some(test) = test() else {
        return;
    };
    for system in crate::refused_calls::ALL {
        test.test_env.write("pkg/a.yaml", RESOURCE);
        let words = "fn eval pkg --image IMAGE --match-kind ConfigMap";
        let ran = kiln(&test, &system, words);
        assert_eq!(ran.code, Some(0), "{}: {}", system.name, ran.stderr);
        let expected = RESOURCE.replace("old", "engine");
        assert_eq!(test.resource(), expected, "{}", system.name);
        let words = "fn eval pkg --image IMAGE --image-runtime=namespaces";
        let ran = kiln(&test, &system, words);
        assert_eq!(ran.code, Some(1), "{}: {}", system.name, ran.stderr);
        let text = "cannot isolate the function";
        assert!(ran.stderr.contains(text), "{}: {}", system.name, ran.stderr);
    }
}

#[test]
fn doctor_prints_what_an_old_system_needs() {
    let Some(test) = test() else {
        return;
    };
    for (system, expected) in [
        (LINUX_4_18, "fix: use Linux 5.12 or newer"),
        (LINUX_5_4, "fix: use Linux 5.12 or newer"),
        (LINUX_5_10, "fix: use Linux 5.12 or newer"),
        (LINUX_5_10, "fix: use Linux 5.13 or newer with Landlock"),
        (NO_OPEN_TREE, "fix: use Linux 5.12 or newer"),
        (POD, "fix: "),
        (OLD_POD, "seccomp"),
        (NO_MOUNTS, "fix: "),
        (NO_OPENAT2, "seccomp"),
    ] {
        let ran = kiln(&test, &system, "doctor");
        let (name, printed) = (system.name, ran.stdout);
        let level = printed
            .lines()
            .skip(1)
            .take(6)
            .collect::<Vec<_>>()
            .join("\n");
        assert!(level.contains(expected), "{name}: {printed}");
        assert!(!printed.contains("malformed"), "{name}: {printed}");
        let used = ["Images run by: docker\n", "Images run by: landlock\n"];
        assert!(
            used.iter().any(|used| printed.ends_with(used)),
            "{name}: {printed}"
        );
    }
}
