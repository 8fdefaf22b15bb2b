//! The switch between kiln's own behaviour and that of the originals.

use std::os::unix::fs::symlink;

use crate::test_environment::TestEnvironment;

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

#[test]
fn bad_yaml_is_shown_where_it_is() {
    let test_env = TestEnvironment::new();
    test_env.write("pkg/sub/a.yaml", &format!("{RESOURCE}---\na: b\n\tc: d\n"));
    let ran = test_env.kiln(&["fn", "source", "pkg"], "");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stdout, "");
    let mut lines = ran.stderr.lines();
    let first = lines.next().expect("a line");
    assert!(first.starts_with("error: pkg/sub/a.yaml:7:1: "), "{first}");
    assert_eq!(lines.next(), Some("7 | \tc: d"));
    assert_eq!(lines.next(), Some("  | ^"));

    let ran = test_env.kiln(&["--compat=kpt", "fn", "source", "pkg"], "");
    let work = test_env.work().canonicalize().expect("a path");
    let wanted = format!(
        "error: {}/pkg/sub/a.yaml: MalformedYAMLError: yaml: line 2: \
         found a tab character that violates indentation\n",
        work.display()
    );
    assert_eq!((ran.code, ran.stderr), (Some(1), wanted));
}

#[test]
fn the_name_the_variable_and_the_flag_choose() {
    let test_env = TestEnvironment::new();
    let stderr = |script: &str| test_env.shell(&test_env.work(), script, &[]).stderr;
    let kpt = "error: unknown flag: --zzz\n";
    assert_eq!(stderr("kpt fn source --zzz"), kpt);
    assert_eq!(stderr("KILN_COMPAT=kpt kiln fn source --zzz"), kpt);
    assert_eq!(stderr("kiln fn source --compat kpt --zzz"), kpt);
    assert_ne!(stderr("kiln fn source --zzz"), kpt);
    assert_ne!(stderr("kpt --compat=kiln fn source --zzz"), kpt);
    // Each generation has flags that the other does not know.
    assert_eq!(
        stderr("kpt fn source --wrap-kind x"),
        "error: unknown flag: --wrap-kind\n"
    );
    assert_eq!(
        stderr("kpt --compat=kpt-v0.39 fn source --fn-config x"),
        "error: unknown flag: --fn-config\n"
    );
    let ran = test_env.kiln(&["--compat=zzz", "fn", "source"], "");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("kiln, kpt, kpt-v0.39"),
        "{}",
        ran.stderr
    );
}

#[test]
fn kpt_v0_39_refuses_packages_of_a_later_generation() {
    for (kptfile, reason) in [
        ("", "EOF"),
        ("# c\n", "EOF"),
        ("null\n", "unknown resource type: , Kind="),
        ("x\n", "missing Resource metadata"),
        ("a: b\n", "missing Resource metadata"),
        ("kind: Kptfile\n", "unknown resource type: , Kind=Kptfile"),
        ("metadata:\n  name: x\n", "unknown resource type: , Kind="),
        (
            "apiVersion: a/b/c\nkind: Kptfile\n",
            "unexpected GroupVersion string: a/b/c",
        ),
        (
            "apiVersion: kpt.dev/v1alpha1\nkind: Other\n",
            "unknown resource type: kpt.dev/v1alpha1, Kind=Other",
        ),
        (
            "a: b\n c: d\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
    ] {
        let test_env = TestEnvironment::new();
        test_env.write("pkg/sub/Kptfile", kptfile);
        for verb in ["source", "sink"] {
            let ran = test_env.kiln(&["--compat=kpt-v0.39", "fn", verb, "pkg"], RESOURCE);
            assert_eq!(
                (ran.code, ran.stderr),
                (Some(1), format!("error: {reason}\n")),
                "{kptfile}"
            );
        }
    }
    let test_env = TestEnvironment::new();
    test_env.write("pkg/sub/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\n");
    let ran = test_env.kiln(&["--compat=kpt-v0.39", "fn", "source", "pkg"], "");
    let place = test_env.work().join("pkg/sub");
    let wanted = format!(
        "error: package at {place:?} is using a newer version (\"v1\") of the Kptfile schema. \
         Please try updating kpt.\n"
    );
    assert_eq!(ran.stderr, wanted);
    test_env.write(
        "pkg/sub/Kptfile",
        "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n",
    );
    assert_eq!(
        test_env
            .kiln(&["--compat=kpt-v0.39", "fn", "source", "pkg"], "")
            .code,
        Some(0)
    );
}

#[test]
fn links_that_lead_out_are_read_only_as_kpt() {
    let test_env = TestEnvironment::new();
    test_env.write("outside.yaml", RESOURCE);
    test_env.write("pkg/b.yaml", RESOURCE);
    symlink("../outside.yaml", test_env.work().join("pkg/a.yaml")).expect("a link");
    let ran = test_env.kiln(&["fn", "source", "pkg"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("pkg/a.yaml"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("leads out of the package"),
        "{}",
        ran.stderr
    );
    let ran = test_env.kiln(&["--compat=kpt", "fn", "source", "pkg"], "");
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout.contains("config.kubernetes.io/path: 'a.yaml'"),
        "{}",
        ran.stdout
    );
}

#[test]
fn help_version_and_completions_go_to_standard_output() {
    let test_env = TestEnvironment::new();
    for args in [
        &["--help"][..],
        &["--version"],
        &["fn", "--help"],
        &["fn", "source", "--help"],
        &["completion", "bash"],
        &["completion", "zsh"],
        &["completion", "fish"],
        &["completion", "powershell"],
        &["--compat=kpt-v0.39", "fn", "sink", "--help"],
    ] {
        let ran = test_env.kiln(args, "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(ran.stdout.contains("kiln"), "{args:?}: {}", ran.stdout);
    }
    // A verb that is not there is an error, never a silent success.
    for args in [
        &["fn", "render"][..],
        &["--compat=kpt", "fn", "render"],
        &["fn"],
        &[],
    ] {
        assert_ne!(test_env.kiln(args, "").code, Some(0), "{args:?}");
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let test_env = TestEnvironment::new();
    for number in 0..400 {
        test_env.write(&format!("pkg/{number}.yaml"), RESOURCE);
    }
    let script = "kiln fn source pkg | head -n 1; echo ${PIPESTATUS[0]}";
    let ran = test_env.shell(&test_env.work(), script, &[]);
    assert_eq!(ran.stdout, "apiVersion: config.kubernetes.io/v1\n0\n");
    assert_eq!(ran.stderr, "");
}
