//! Private directories and the environment.

use std::path::Path;

use kiln_sandbox::SandboxPolicy;

use crate::fixture::{TestDirectory, run_in, run_in_sandbox, sandbox_in, sandbox_of, set_mode};

const SHELL: &str = "/bin/sh";

#[test]
fn each_run_has_a_directory_of_its_own_for_as_long_as_it_lasts() {
    let place = TestDirectory::new();
    let Some(sandbox) = sandbox_in(SandboxPolicy::default(), place.path()) else {
        return;
    };
    let script = "ls -A; stat -c '%a %Y' .; echo $PWD $TMPDIR $HOME; touch -d @1 . 2>/dev/null; \
                  mkdir -p a/b && echo x >a/b/c && mkfifo a/d && ln -s / e && chmod 0 . 2>/dev/null; :";
    let output_text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    let first = output_text(run_in(&sandbox, Path::new(SHELL), &["-c", script]));
    let second = output_text(run_in(&sandbox, Path::new(SHELL), &["-c", script]));
    // The second finds no trace of the first, not even in the times.
    for printed in [&first, &second] {
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines.len(), 2, "{printed}");
        assert!(lines[0].starts_with("700 "), "{printed}");
        assert!(lines[0].len() > "700 1".len(), "{printed}");
    }
    let words: Vec<&str> = first.lines().nth(1).unwrap().split(' ').collect();
    assert_eq!((words[0], words[0]), (words[1], words[2]), "{first}");
    assert!(
        words[0].starts_with(place.path().to_str().unwrap()),
        "{first}"
    );
    assert!(!Path::new(words[0]).exists());
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
    drop(sandbox);
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}

#[test]
fn no_function_sees_the_directory_of_another() {
    let place = TestDirectory::new();
    let Some(sandbox) = sandbox_in(SandboxPolicy::default(), place.path()) else {
        return;
    };
    let shell = Path::new(SHELL);
    let cells = [(); 2].map(|()| sandbox.prepare_run(shell, None).unwrap());
    let other = cells[1].directory().display().to_string();
    let script = format!("echo x >mine && ls {other} || echo x >{other}/x || ls {other}/..");
    let output = run_in_sandbox(&cells[0], shell, &["-c", &script]);
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
    assert!(cells[0].directory().join("mine").exists());
    assert!(!cells[1].directory().join("x").exists());
}

#[test]
fn abandoned_directories_are_removed_and_used_ones_are_not() {
    let place = TestDirectory::new();
    let left = place.path().join("kiln-sandbox-1-1");
    std::fs::create_dir_all(left.join("3/4")).unwrap();
    std::fs::write(left.join("3/file"), "").unwrap();
    let Some(first) = sandbox_in(SandboxPolicy::default(), place.path()) else {
        return;
    };
    assert!(!left.exists());
    let sandbox_run = first.prepare_run(Path::new(SHELL), None).unwrap();
    let _second = sandbox_in(SandboxPolicy::default(), place.path());
    assert!(sandbox_run.directory().exists());
}

#[test]
fn functions_get_few_variables_and_no_files() {
    let place = TestDirectory::new();
    let policy = SandboxPolicy {
        variables: vec!["MINE".to_owned()],
        ..SandboxPolicy::default()
    };
    let Some(sandbox) = sandbox_in(policy, place.path()) else {
        return;
    };
    let zero = std::fs::File::open("/dev/zero").unwrap();
    let _inherited = rustix::io::dup(&zero).unwrap();
    let output = run_in(&sandbox, Path::new("/usr/bin/env"), &[]);
    let listed = String::from_utf8(output.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split('=').next());
    let strange: Vec<&str> = names
        .filter(|name| {
            let known = ["PATH", "LANG", "LANGUAGE", "TZ", "HOME", "TMPDIR", "MINE"];
            !known.contains(name) && !name.starts_with("LC_")
        })
        .collect();
    assert_eq!(strange, [""; 0]);
    for name in ["PATH=", "HOME=", "TMPDIR=", "MINE="] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let output = run_in(&sandbox, Path::new("/bin/ls"), &["/proc/self/fd"]);
    // The fourth is the directory that is being listed.
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n1\n2\n3\n");
}

#[test]
fn functions_see_their_directory_and_what_they_are_given() {
    use std::os::unix::fs::PermissionsExt;
    let (own, given) = (TestDirectory::new(), TestDirectory::new());
    let script = own.join("function");
    let data = given.file("data");
    own.file("beside");
    let text = format!("#!/bin/sh\ncat ${{0%/*}}/beside {data}\n");
    std::fs::write(&script, text).unwrap();
    // Closed to other users: a function with another user must get in all the same.
    for (path, mode) in [
        (Path::new(&script), 0o700),
        (own.path(), 0o700),
        (given.path(), 0o700),
    ] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    for (read, expected) in [
        (vec![], "kept"),
        (vec![given.path().to_owned()], "keptkept"),
    ] {
        let policy = SandboxPolicy {
            read,
            ..SandboxPolicy::default()
        };
        let Some(sandbox) = crate::fixture::sandbox(policy) else {
            return;
        };
        let output = run_in(&sandbox, Path::new(&script), &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{stderr}"
        );
    }
}

#[test]
fn functions_see_nothing_of_a_home_or_of_a_directory_that_all_may_write_to() {
    let own = TestDirectory::new();
    let script = own.join("function");
    own.file("beside");
    std::fs::write(&script, "#!/bin/sh\ncat ${0%/*}/beside\n").unwrap();
    set_mode(Path::new(&script), 0o755);
    let home = own.path().to_str().unwrap();
    let (elsewhere, inside) = (TestDirectory::new(), own.join("home"));
    std::fs::create_dir(&inside).unwrap();
    let (link, parent_link) = (elsewhere.join("link"), elsewhere.join("parent"));
    std::os::unix::fs::symlink(home, &link).unwrap();
    std::os::unix::fs::symlink(own.path().parent().unwrap(), &parent_link).unwrap();
    let through_parent = format!(
        "{parent_link}/{}",
        own.path().file_name().unwrap().display()
    );
    let up = std::env::current_dir().unwrap();
    let up = "../".repeat(up.components().count() - 1);
    let relative = format!("{up}{}", home.trim_start_matches('/'));
    for (mode, home, expected) in [
        (0o755, relative.as_str(), ""),
        (0o755, "nowhere", "kept"),
        (0o755, "/", "kept"),
        (0o755, "/nowhere", "kept"),
        (0o755, elsewhere.path().to_str().unwrap(), "kept"),
        (0o755, "", "kept"),
        (0o755, home, ""),
        (0o755, &format!("{home}/"), ""),
        (0o755, &format!("{home}/./home/.."), ""),
        (0o755, &link, ""),
        (0o755, &through_parent, ""),
        (0o755, &inside, ""),
        (0o755, &format!("{link}/home//"), ""),
        (0o1777, "/nowhere", ""),
    ] {
        set_mode(own.path(), mode);
        let policy = SandboxPolicy::default();
        let Some(sandbox) = sandbox_of(policy, &std::env::temp_dir(), home) else {
            return;
        };
        for path in [
            &script,
            &format!("{link}/function"),
            &format!("{link}/home/../function"),
        ] {
            let output = run_in(&sandbox, Path::new(path), &[]);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                expected,
                "{path}, HOME={home}"
            );
        }
    }
}
