//! The levels at which kiln itself runs images, each tried, and the sandbox of executables.

use std::path::Path;

use kiln_go::error_chain;
use kiln_pages::report::shell_word;
use kiln_sandbox::{
    ImageSandbox, InForce, IsolationLevel, IsolationStep, LevelProbe, RefusedStep, Sandbox,
    SandboxError,
};

use super::{CheckStatus, DoctorCheck, SANDBOX};

/// Tries each level.
pub(super) fn checks() -> Vec<DoctorCheck> {
    let probes: Vec<LevelProbe> = ImageSandbox::probe(&std::env::temp_dir()).collect();
    let strongest = probes
        .iter()
        .any(|probe| probe.level == IsolationLevel::Namespaces && probe.outcome.is_ok());
    let shown = probes.iter().filter(|probe| {
        // A weaker form of the level above it.
        !strongest || probe.level != IsolationLevel::NamespacesWithOuterProc
    });
    shown.map(check).collect()
}

fn check(probe: &LevelProbe) -> DoctorCheck {
    let (status, detail, fix) = match &probe.outcome {
        Ok(()) => (CheckStatus::Ok, works(probe.level).to_owned(), None),
        Err(error) => (CheckStatus::Missing, error_chain(error), fix(error)),
    };
    DoctorCheck {
        group: "images without an engine",
        name: probe.level.to_string(),
        status,
        detail,
        fix,
    }
}

fn works(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Namespaces => "images run in namespaces of their own",
        IsolationLevel::NamespacesWithOuterProc => {
            "images run in namespaces of their own, but see the names of other processes"
        }
        IsolationLevel::Landlock => "images whose program is static run in place, confined",
    }
}

/// The one line that would make a level work.
fn fix(error: &SandboxError) -> Option<String> {
    match error {
        SandboxError::Isolate(refused) => {
            fix_of_step(refused, &|path| std::fs::read_to_string(path).ok())
        }
        SandboxError::Unsupported { .. } => Some(
            "use Linux 5.13 or newer with Landlock enabled (boot parameter lsm=landlock,…), in a container with an engine that knows its system calls"
                .to_owned(),
        ),
        _ => None,
    }
}

/// By the step that was refused, its error, and what settings say about the reason.
fn fix_of_step(refused: &RefusedStep, read: &dyn Fn(&Path) -> Option<String>) -> Option<String> {
    let is_set =
        |path: &str, value: &str| read(Path::new(path)).is_some_and(|text| text.trim() == value);
    let is_apparmor = is_set(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    );
    let in_pod = read(Path::new(
        "/run/secrets/kubernetes.io/serviceaccount/namespace",
    ))
    .is_some();
    let fix = match (refused.step, refused.source.raw_os_error()) {
        (_, Some(ENOSYS)) => Some(match has_all_calls(read) {
            false => "use Linux 5.12 or newer",
            true => {
                "use Linux 5.12 or newer, in a container with an engine whose seccomp profile knows its system calls"
            }
        }),
        (IsolationStep::Namespaces, Some(ENOSPC)) => {
            Some("sudo sysctl -w user.max_user_namespaces=15000")
        }
        (IsolationStep::Namespaces, _)
            if is_set("/proc/sys/kernel/unprivileged_userns_clone", "0") =>
        {
            Some("sudo sysctl -w kernel.unprivileged_userns_clone=1")
        }
        (IsolationStep::Namespaces | IsolationStep::Users | IsolationStep::Mounts, _)
            if is_apparmor =>
        {
            return std::env::current_exe()
                .ok()
                .map(|kiln| install_profile(&kiln));
        }
        (IsolationStep::Proc, _) => Some("set procMount: Unmasked and hostUsers: false in the pod"),
        (_, Some(EPERM)) if in_pod => Some(
            "set securityContext.seccompProfile.type to Unconfined in the pod, or use --runner",
        ),
        (IsolationStep::Namespaces, Some(EPERM)) => Some(
            "allow user namespaces: in a container, run it with --security-opt seccomp=unconfined",
        ),
        (_, Some(EPERM)) => Some(
            "allow mounts: run a container with --security-opt seccomp=unconfined, a service without SystemCallFilter=~@mount",
        ),
        _ => None,
    };
    fix.map(str::to_owned)
}

/// Installs a profile of AppArmor that lets a program make user namespaces, and restricts nothing else.
fn install_profile(program: &Path) -> String {
    let mut path = String::new();
    for letter in program.to_string_lossy().chars() {
        // In a profile they have a meaning.
        if "\\\"*?[]{}^".contains(letter) {
            path.push('\\');
        }
        path.push(letter);
    }
    let lines = [
        "abi <abi/4.0>,",
        "include <tunables/global>",
        &format!("profile kiln \"{path}\" flags=(unconfined) {{ userns, }}"),
    ]
    .map(shell_word);
    format!(
        "printf '%s\\n' {} | sudo tee /etc/apparmor.d/kiln && sudo apparmor_parser -r /etc/apparmor.d/kiln",
        lines.join(" ")
    )
}

/// Whether the kernel has all system calls for namespaces, so that a filter refuses one of them.
fn has_all_calls(read: &dyn Fn(&Path) -> Option<String>) -> bool {
    let release = read(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || -> Option<u32> { numbers.next()?.parse().ok() };
    matches!((next(), next()), (Some(major), Some(minor)) if (major, minor) >= (5, 12))
}

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;

/// The measures of the sandbox of executables.
pub(super) fn sandbox() -> Vec<DoctorCheck> {
    let checks = Sandbox::probe().into_iter().map(|measure| DoctorCheck {
        group: SANDBOX,
        name: measure.name.to_owned(),
        status: match measure.in_force {
            InForce::Yes => CheckStatus::Ok,
            InForce::Partly | InForce::No => CheckStatus::Missing,
        },
        detail: measure.how,
        fix: None,
    });
    checks.collect()
}

#[cfg(test)]
mod tests;
