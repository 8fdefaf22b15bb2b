//! The fixes of refused steps.

use std::io;

use kiln_sandbox::{IsolationStep, RefusedStep};

use super::{fix_of_step, install_profile};

#[track_caller]
fn check(step: IsolationStep, errno: i32, settings: &[(&str, &str)], expected: &str) {
    let refused = RefusedStep {
        step,
        doing: "try",
        source: io::Error::from_raw_os_error(errno),
    };
    let read = |path: &std::path::Path| {
        let found = settings.iter().find(|(name, _)| path.ends_with(name));
        found.map(|(_, value)| format!("{value}\n"))
    };
    let fix = fix_of_step(&refused, &read).unwrap_or_default();
    assert!(fix.contains(expected), "{step:?} {errno}: {fix}");
}

#[test]
fn each_environment_has_its_fix() {
    let apparmor = [("apparmor_restrict_unprivileged_userns", "1")];
    check(
        IsolationStep::Namespaces,
        28,
        &[],
        "user.max_user_namespaces",
    );
    check(
        IsolationStep::Namespaces,
        1,
        &[("unprivileged_userns_clone", "0")],
        "unprivileged_userns_clone=1",
    );
    check(IsolationStep::Users, 13, &apparmor, "apparmor_parser");
    check(IsolationStep::Mounts, 1, &apparmor, "apparmor_parser");
    check(
        IsolationStep::Namespaces,
        1,
        &[("serviceaccount/namespace", "x")],
        "seccompProfile",
    );
    check(IsolationStep::Namespaces, 1, &[], "seccomp=unconfined");
    check(IsolationStep::Proc, 1, &[], "procMount");
    check(IsolationStep::Mounts, 38, &[], "5.12");
    check(IsolationStep::Mounts, 38, &apparmor, "5.12");
    check(IsolationStep::Mounts, 1, &[], "@mount");
    check(IsolationStep::Other, 1, &[], "seccomp=unconfined");
    let pod = [("serviceaccount/namespace", "x")];
    check(IsolationStep::Other, 1, &pod, "seccompProfile");
    let old = [("osrelease", "5.4.0-216-generic")];
    check(IsolationStep::Other, 38, &old, "use Linux 5.12 or newer");
    let new = [("osrelease", "6.8.0-31-generic")];
    check(IsolationStep::Other, 38, &new, "seccomp profile");
}

/// The line that a shell executes has the path of the program, as AppArmor reads it.
#[test]
fn the_profile_names_the_program() {
    for (program, expected) in [
        ("/home/me/.local/bin/kiln", "/home/me/.local/bin/kiln"),
        ("/opt/it's [new]/kiln", "/opt/it's \\[new\\]/kiln"),
    ] {
        let line = install_profile(std::path::Path::new(program));
        let (print, rest) = line.split_once(" | ").unwrap();
        assert!(rest.ends_with("apparmor_parser -r /etc/apparmor.d/kiln"));
        let shell = std::process::Command::new("sh")
            .args(["-c", print])
            .output();
        let printed = String::from_utf8(shell.unwrap().stdout).unwrap();
        let expected = format!(
            "abi <abi/4.0>,\ninclude <tunables/global>\nprofile kiln \"{expected}\" flags=(unconfined) {{ userns, }}\n"
        );
        assert_eq!(printed, expected);
    }
}
