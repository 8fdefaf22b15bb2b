//! What a command leaves behind when it fails or is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::test_environment::TestEnvironment;

fn at(path: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    \
         config.kubernetes.io/path: {path}\n"
    )
}

#[test]
fn a_sink_that_fails_leaves_nothing() {
    let long = "x".repeat(300);
    for input in [
        "a: b\n  c: d\n".to_owned(),
        at("../x.yaml"),
        at("/x.yaml"),
        at("."),
        at(&format!("{long}.yaml")),
        at("\"x\\0y.yaml\""),
        format!("{}---\n{}", at("d"), at("d/x.yaml")),
    ] {
        for compat in ["--compat=kiln", "--compat=kpt"] {
            let test_env = TestEnvironment::new();
            let ran = test_env.kiln(&[compat, "fn", "sink", "new/out"], &input);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{input}");
            assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
            let left = fs::read_dir(test_env.work()).expect("a directory").count();
            assert_eq!(left, 0, "{input}");
        }
    }
}

#[test]
fn a_sink_makes_directories_0755_and_files_by_the_umask() {
    let test_env = TestEnvironment::new();
    let script = "umask 027; kiln fn sink new/out";
    fs::write(test_env.work().join("in"), at("d/x.yaml")).expect("a file");
    let ran = test_env.shell(&test_env.work(), &format!("{script} < in"), &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let mode = |path: &str| {
        let metadata = fs::metadata(test_env.work().join(path)).expect("is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode("new"), 0o750);
    assert_eq!(mode("new/out"), 0o750);
    assert_eq!(mode("new/out/d"), 0o750);
    assert_eq!(mode("new/out/d/x.yaml"), 0o640);
}

#[test]
fn an_interrupted_change_is_recovered_and_reported_by_the_next_command() {
    let test_env = TestEnvironment::new();
    test_env.write("pkg/a.yaml", &at("a.yaml"));
    // A journal that was cut off before its plan was whole: nothing had been done.
    test_env.write("pkg/.kiln-journal", "kiln-journal 1\npack");
    let ran = test_env.kiln(&["fn", "source", "pkg"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("undid an interrupted change"),
        "{}",
        ran.stderr
    );
    assert!(!test_env.work().join("pkg/.kiln-journal").exists());
    assert_eq!(test_env.kiln(&["fn", "source", "pkg"], "").stderr, "");

    // An invalid one is neither applied nor removed.
    test_env.write("pkg/.kiln-journal", "kiln-journal 1\nplan 0\nmore\n");
    let ran = test_env.kiln(&["fn", "source", "pkg"], "");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(".kiln-journal is damaged"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_pipe_in_a_package_does_not_make_kiln_wait() {
    for compat in ["kiln", "kpt", "kpt-v0.39"] {
        let test_env = TestEnvironment::new();
        fs::create_dir(test_env.work().join("pkg")).expect("a directory");
        let script = "mkfifo pkg/x.yaml && timeout 20 kiln fn source pkg";
        let ran = test_env.shell(&test_env.work(), script, &[("KILN_COMPAT", compat)]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("not a regular file"), "{}", ran.stderr);
    }
}
