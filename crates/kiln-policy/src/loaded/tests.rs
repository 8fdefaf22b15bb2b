//! Files that apply, and changes of them.

use std::fs;
use std::sync::mpsc;

use super::*;

const ALLOW: &str = "version: 1\ndefault: allow\n";
const DENY: &str = "version: 1\ndefault: deny\n";
const WARN: &str = "version: 1\ndefault: warn\n";

/// A directory with the files of a machine.
struct Machine {
    directory: tempfile::TempDir,
    paths: PolicyPaths,
}

fn machine() -> Machine {
    let directory = tempfile::tempdir().unwrap();
    let paths = PolicyPaths {
        system: directory.path().join("system.yaml"),
        given: None,
        user: Some(directory.path().join("user.yaml")),
    };
    Machine { directory, paths }
}

impl Machine {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn load(&self) -> Result<Option<LoadedPolicy>, PolicyLoadError> {
        LoadedPolicy::load(&self.paths, |_| {})
    }

    fn allows(&self) -> bool {
        is_allowed(&self.load().unwrap().unwrap())
    }
}

fn is_allowed(policy: &LoadedPolicy) -> bool {
    let function = FunctionSpec::image("ghcr.io/x:v1");
    policy.decide(&function, RunWay::Native, None).is_ok()
}

#[test]
fn the_system_file_always_applies() {
    let mut machine = machine();
    assert!(machine.load().unwrap().is_none());
    machine.write("user.yaml", DENY);
    assert!(!machine.allows());
    machine.write("given.yaml", ALLOW);
    machine.paths.given = Some(machine.path("given.yaml"));
    // The named file replaces the user's own.
    assert!(machine.allows());
    machine.write("system.yaml", DENY);
    assert!(!machine.allows());
    machine.write("system.yaml", "");
    assert!(machine.load().is_err());
}

#[test]
fn programs_use_the_path_of_the_system() {
    let paths = PolicyPaths::new(None, Some(PathBuf::from("/home/me/.config")));
    assert_eq!(paths.system, Path::new("/etc/kiln/policy.yaml"));
    let user = Path::new("/home/me/.config/kiln/policy.yaml");
    assert_eq!(paths.user.as_deref(), Some(user));
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let mut machine = machine();
    machine.paths.given = Some(machine.path("missing.yaml"));
    assert!(matches!(machine.load(), Err(PolicyLoadError::Read { .. })));
    machine.paths.given = Some(machine.directory.path().to_owned());
    assert!(matches!(
        machine.load(),
        Err(PolicyLoadError::NotAFile { .. })
    ));
    machine.paths.given = None;
    fs::create_dir(machine.path("system.yaml")).unwrap();
    assert!(matches!(
        machine.load(),
        Err(PolicyLoadError::NotAFile { .. })
    ));
}

#[cfg(unix)]
#[test]
fn a_link_is_the_file_that_it_leads_to() {
    let machine = machine();
    std::os::unix::fs::symlink("target.yaml", machine.path("user.yaml")).unwrap();
    // A link that leads nowhere does not mean that there is no policy.
    assert!(matches!(machine.load(), Err(PolicyLoadError::Read { .. })));
    machine.write("target.yaml", DENY);
    let policy = machine.load().unwrap().unwrap();
    assert!(!is_allowed(&policy));
    machine.write("target.yaml", ALLOW);
    assert!(is_allowed(&policy));
}

#[test]
fn changes_apply_and_invalid_ones_do_not() {
    let machine = machine();
    machine.write("user.yaml", DENY);
    let (sender, events) = mpsc::channel();
    let sender = Mutex::new(sender);
    let listener = move |event: PolicyEvent<'_>| {
        let _ = sender.lock().unwrap().send(format!("{event:?}"));
    };
    let policy = LoadedPolicy::load(&machine.paths, listener)
        .unwrap()
        .unwrap();
    assert!(!is_allowed(&policy));
    machine.write("user.yaml", "version: 1\ndefault: allow\ntypo: 1\n");
    assert!(!is_allowed(&policy) && !is_allowed(&policy));
    assert!(events.recv().unwrap().starts_with("Kept("));
    machine.write("user.yaml", WARN);
    assert!(is_allowed(&policy) && is_allowed(&policy));
    assert_eq!(events.recv().unwrap(), "Replaced");
    assert!(events.recv().unwrap().starts_with("Warned("));
    fs::remove_file(machine.path("user.yaml")).unwrap();
    assert!(is_allowed(&policy));
    assert!(events.recv().unwrap().starts_with("Kept("));
    assert!(events.try_recv().is_err());
}

#[test]
fn a_replaced_key_is_in_force() {
    const OTHER: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
        -----END PUBLIC KEY-----\n";
    let machine = machine();
    machine.write("team.pub", crate::policy::tests::KEY);
    let key = machine.path("team.pub");
    machine.write(
        "user.yaml",
        &format!(
            "{DENY}rules:\n- match: ghcr.io/\n  require:\n  - signature: {{key: {}}}\n",
            key.display()
        ),
    );
    let (sender, events) = mpsc::channel();
    let sender = Mutex::new(sender);
    let listener = move |event: PolicyEvent<'_>| {
        let _ = sender.lock().unwrap().send(format!("{event:?}"));
    };
    let policy = LoadedPolicy::load(&machine.paths, listener)
        .unwrap()
        .unwrap();
    let first = policy.current();
    machine.write("team.pub", OTHER);
    let second = policy.current();
    assert_ne!(first, second);
    assert_eq!(events.recv().unwrap(), "Replaced");
    fs::remove_file(&key).unwrap();
    assert_eq!(policy.current(), second);
    let kept = events.recv().unwrap();
    assert!(
        kept.starts_with("Kept(") && kept.contains("team.pub"),
        "{kept}"
    );
    assert!(events.try_recv().is_err());
}
