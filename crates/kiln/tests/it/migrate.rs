//! `kiln migrate check`, with programs in the place of kpt.

use crate::test_environment::{Outcome, TestEnvironment, files, run};

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: NAME
pipeline:
  mutators:
    - image: gcr.io/kpt-fn/set-labels:v0.2.0
      configMap:
        env: prod
";

/// In kpt's mode a list in brackets over several lines is written again.
const RESOURCE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  list: \"x\"   # kept\n";

fn packages() -> TestEnvironment {
    let test_env = TestEnvironment::new();
    for name in ["app", "app/inner", "team/db"] {
        let kptfile = KPTFILE.replace("NAME", name.rsplit('/').next().expect("a name"));
        test_env.write(&format!("all/{name}/Kptfile"), &kptfile);
        test_env.write(&format!("all/{name}/a.yaml"), RESOURCE);
    }
    test_env
}

/// Runs the check with a shell script as kpt; `None` means that there is no kpt.
fn check(test_env: &TestEnvironment, kpt: Option<&str>, more: &[&str]) -> Outcome {
    let kiln = test_env.bin().join("kiln").display().to_string();
    let mut command = test_env.command(&kiln, &test_env.work());
    command.args(["migrate", "check", "all"]).args(more);
    match kpt {
        Some(script) => {
            test_env.write_program("bin/real-kpt", &format!("#!/bin/sh\n{script}\n"));
            command.env("KILN_KPT", test_env.work().join("bin/real-kpt"));
        }
        None => {
            command.env("PATH", test_env.bin());
        }
    }
    let mut ran = run(&mut command, "");
    // Times are never the same.
    let lines = ran.stdout.lines().map(|line| {
        let words = line.split(' ').map(|word| {
            let number = word.trim_end_matches([',', ')']).strip_suffix('s');
            match number.is_some_and(|number| number.parse::<f64>().is_ok()) {
                true => "TIME",
                false => word,
            }
        });
        words.collect::<Vec<_>>().join(" ")
    });
    ran.stdout = lines.map(|line| line + "\n").collect();
    ran
}

#[test]
fn packages_that_both_render_alike_are_the_same() {
    let test_env = packages();
    let before = files(&test_env.work().join("all"));
    let ran = check(&test_env, Some("exec kiln \"$@\""), &[]);
    assert_eq!(
        ran.stdout,
        "all/app: same files as kpt (kiln TIME kpt TIME\n\
         all/team/db: same files as kpt (kiln TIME kpt TIME\n\
         2 package(s): 2 without differences, 0 that differ only in layout, 0 that differ, 0 that kiln cannot render\n"
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(files(&test_env.work().join("all")), before);
}

#[test]
fn differences_are_listed_and_shown_on_request() {
    let test_env = packages();
    let layout = "kiln \"$@\" && sed -i 's/   # kept/ # kept/' \"$3\"/a.yaml";
    let ran = check(&test_env, Some(layout), &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout
            .starts_with("all/app: differs from kpt in a.yaml (layout only)\n"),
        "{}",
        ran.stdout
    );
    let content = "kiln \"$@\" && sed -i 's/\"x\"/\"y\"/' \"$3\"/a.yaml && echo >\"$3\"/more.txt";
    let ran = check(&test_env, Some(content), &["--diff"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout
            .starts_with("all/app: differs from kpt in a.yaml, more.txt\ndiff --git "),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("-  list: \"y\""), "{}", ran.stdout);
}

/// A kpt that writes no status, and fails for one of newer tools, as released versions do.
const RELEASED_KPT: &str = "if grep -rq renderStatus \"$3\"; then echo 'Error: field renderStatus not found' >&2; exit 1; fi
exec kiln \"$@\" --no-status";

#[test]
fn the_status_of_kptfiles_does_not_count() {
    let test_env = TestEnvironment::new();
    let plain = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";
    let info = "info:\n  description: an app\n";
    for (number, rest) in ["", info, "pipeline:\n  mutators: []\n"].iter().enumerate() {
        test_env.write(&format!("all/p{number}/Kptfile"), &format!("{plain}{rest}"));
        test_env.write(&format!("all/p{number}/a.yaml"), RESOURCE);
    }
    let kptfile = KPTFILE.replace("NAME", "rendered");
    for name in ["rendered", "rendered/inner"] {
        test_env.write(&format!("all/{name}/Kptfile"), &kptfile);
        test_env.write(&format!("all/{name}/a.yaml"), RESOURCE);
    }
    let rendered = test_env.kiln(&["fn", "render", "all/rendered"], "");
    assert_eq!(rendered.code, Some(0), "{}", rendered.stderr);
    let before = files(&test_env.work().join("all"));
    assert!(before["rendered/Kptfile"].contains("renderStatus"));

    let ran = check(&test_env, Some(RELEASED_KPT), &["--diff"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.ends_with("4 package(s): 4 without differences, 0 that differ only in layout, 0 that differ, 0 that kiln cannot render\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(files(&test_env.work().join("all")), before);

    // A kpt that writes a status of its own, with another layout.
    let newer = "kiln \"$@\" && sed -i 's/^kind: Kptfile/kind: \"Kptfile\"/' \"$3\"/Kptfile && sed -i s/x/y/ \"$3\"/a.yaml";
    let ran = check(&test_env, Some(newer), &["--diff"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("all/p0: differs from kpt in a.yaml\n"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("Kptfile"), "{}", ran.stdout);
}

#[test]
fn a_kpt_that_cannot_run_is_one_error() {
    let test_env = packages();
    test_env.write("bin/no-program", "");
    test_env.write_program("bin/no-interpreter", "#!/missing/interpreter\n");
    let kiln = test_env.bin().join("kiln").display().to_string();
    for kpt in [
        "/missing/kpt",
        "missing-kpt",
        "bin",
        "bin/no-program",
        "bin/no-interpreter",
    ] {
        let mut command = test_env.command(&kiln, &test_env.work());
        command
            .args(["migrate", "check", "all"])
            .env("KILN_KPT", kpt);
        let ran = run(&mut command, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{kpt}");
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("KILN_KPT"), "{}", ran.stderr);
    }
}

/// A kpt that runs all images by docker.
const KPT_WITH_DOCKER: &str =
    "exec kiln \"$@\" --no-status --no-native --image-runtime=\"$KRM_FN_RUNTIME\"";

#[test]
fn programs_take_the_place_of_images() {
    let test_env = packages();
    // The engine of this machine is neither needed nor used.
    write_engine(&test_env, "exit 1");
    let original = "#!/bin/sh\nexec kiln function run set-labels:v0.2.0\n";
    test_env.write_program("it's originals/set-labels@v0.2.0", original);
    let functions = ["--functions", "it's originals"];
    let ran = check(&test_env, Some(KPT_WITH_DOCKER), &functions);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("2 package(s): 2 without differences"),
        "{}",
        ran.stdout
    );

    let other = KPTFILE.replace("v0.2.0", "v0.1.5").replace("NAME", "db");
    test_env.write("all/team/db/Kptfile", &other);
    let ran = check(&test_env, Some(KPT_WITH_DOCKER), &functions);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout
            .contains("all/team/db: not compared: there is no program set-labels@v0.1.5\n"),
        "{}",
        ran.stdout
    );

    let wrong = "#!/bin/sh\nexec sed s/prod/test/\n";
    test_env.write_program("it's originals/set-labels", wrong);
    let ran = check(&test_env, Some(KPT_WITH_DOCKER), &functions);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("all/team/db: differs from kpt in "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("all/app: same files as kpt"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_directory_without_programs_is_an_error() {
    let test_env = packages();
    test_env.write("notes/set-labels@v0.2.0", "not a program");
    for directory in ["missing", "notes", "notes/set-labels@v0.2.0"] {
        let ran = check(&test_env, Some("exit 1"), &["--functions", directory]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{directory}"
        );
        assert!(ran.stderr.contains(directory), "{}", ran.stderr);
    }
}

#[test]
fn programs_that_are_kiln_are_reported() {
    let test_env = packages();
    let installed = test_env.kiln(&["function", "install", "links", "set-labels"], "");
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let ran = check(&test_env, Some(KPT_WITH_DOCKER), &["--functions", "links"]);
    assert!(ran.stderr.contains("links to kiln"), "{}", ran.stderr);
}

/// Gives kpt a container engine with a version command that does this.
fn write_engine(test_env: &TestEnvironment, script: &str) {
    test_env.write_program("../bin/docker", &format!("#!/bin/sh\n{script}\n"));
}

#[test]
fn failures_are_distinguished() {
    let test_env = packages();
    write_engine(&test_env, "echo 27.0.0");
    let kpt = "printf 'Error: invalid\\n\\nDetails:\\n  line 1\\n' >&2; exit 1";
    let ran = check(&test_env, Some(kpt), &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("all/app: kiln renders it, kpt fails: Error: invalid | line 1\n"),
        "{}",
        ran.stdout
    );

    let exec = KPTFILE.replace("image: gcr.io/kpt-fn/set-labels:v0.2.0", "exec: ./function");
    test_env.write("all/team/db/Kptfile", &exec);
    let ran = check(&test_env, Some("exit 0"), &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("all/team/db: kiln fails: "),
        "{}",
        ran.stdout
    );
    let ran = check(&test_env, Some("exit 1"), &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("all/team/db: kiln and kpt both fail: "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains(": 0 without differences, 0 that differ only in layout, 0 that differ, 0 that kiln cannot render, 1 that kpt cannot render, 1 that neither can render\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn without_an_engine_packages_with_images_are_not_compared() {
    let test_env = packages();
    write_engine(&test_env, "echo no daemon >&2; exit 1");
    test_env.write(
        "all/team/db/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n",
    );
    let kpt = "case \"$3\" in */app) echo 'Error: no docker' >&2; exit 1;; esac; exec kiln \"$@\"";
    let ran = check(&test_env, Some(kpt), &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.starts_with(
            "all/app: not compared: kpt has no container engine\nall/team/db: same files as kpt"
        ),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr.matches("kpt has no container engine").count(), 1);
    assert!(ran.stderr.contains("KRM_FN_RUNTIME"), "{}", ran.stderr);
}

#[test]
fn a_kpt_that_hangs_is_stopped() {
    let test_env = packages();
    let kpt = "case \"$3\" in */app) exec sleep 1000;; esac; exec kiln \"$@\"";
    let ran = check(&test_env, Some(kpt), &["--timeout=3s"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout
            .starts_with("all/app: not compared: kpt did not end within "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("all/team/db: same files as kpt"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_package_that_neither_renders_is_not_without_differences() {
    let test_env = packages();
    let exec = KPTFILE.replace("image: gcr.io/kpt-fn/set-labels:v0.2.0", "exec: ./function");
    test_env.write("all/team/db/Kptfile", &exec);
    let ran = check(
        &test_env,
        Some("case \"$3\" in */db) exit 1;; esac; exec kiln \"$@\""),
        &[],
    );
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(
            ": 1 without differences, 0 that differ only in layout, 0 that differ, 0 that kiln cannot render, 1 that neither can render\n"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn without_kpt_kiln_renders_alone() {
    let test_env = packages();
    let ran = check(&test_env, None, &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("2 package(s): 0 without differences, ")
            && ran.stdout.ends_with(", 2 not compared with kpt\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .starts_with("all/app: kiln renders it in TIME 4 file(s) change\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("KILN_KPT"), "{}", ran.stderr);
    let none = test_env.kiln(&["migrate", "check", "bin"], "");
    assert_eq!(none.code, Some(1));
}

#[test]
fn a_package_that_cannot_be_copied_does_not_end_the_check() {
    use std::os::unix::ffi::OsStrExt;
    let test_env = packages();
    let name = std::ffi::OsStr::from_bytes(b"\xff.yaml");
    std::fs::write(test_env.work().join("all/app").join(name), "").expect("a file");
    let ran = check(&test_env, Some("exec kiln \"$@\""), &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("all/app: not compared: "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("all/team/db: same files as kpt"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.ends_with(", 1 not compared with kpt\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn functions_that_kpt_gets_from_kiln_are_reported() {
    let test_env = packages();
    let installed = test_env.kiln(&["function", "install", "--docker", "bin"], "");
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    test_env.write_program("bin/real-kpt", "#!/bin/sh\nexec kiln \"$@\"\n");
    let kiln = test_env.bin().join("kiln").display().to_string();
    let mut command = test_env.command(&kiln, &test_env.work());
    let bin = test_env.work().join("bin");
    let search = std::env::join_paths([bin.clone(), test_env.bin()]).expect("a path");
    command
        .args(["migrate", "check", "all"])
        .env("KILN_KPT", bin.join("real-kpt"))
        .env("PATH", search);
    let ran = run(&mut command, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("docker on the PATH is a link to kiln"),
        "{}",
        ran.stderr
    );
}
