//! Kept answers of functions, and renders that are skipped: never another result than a fresh run, and never a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::shared;
use crate::test_environment::{Outcome, TestEnvironment, copy, files};

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: pkg
pipeline:
  mutators:
  - image: set-labels:v0.2.0
    configPath: labels.yaml
  validators:
  - image: kubeconform:v0.1.1
";
const LABELS: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labels\ndata:\n  app: shop\n";
const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: password\nstringData:\n  password: hunter2-is-secret\n";

/// A package that is rendered.
fn rendered() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("pkg/Kptfile", KPTFILE);
    env.write("pkg/labels.yaml", LABELS);
    env.write("pkg/secret.yaml", SECRET);
    let outcome = render(&env, &[]);
    assert!(outcome.stderr.contains("[PASS]"), "{}", outcome.stderr);
    env
}

#[track_caller]
fn render(env: &TestEnvironment, flags: &[&str]) -> Outcome {
    let args = [&["fn", "render", "pkg", "--timings"], flags].concat();
    let outcome = env.kiln(&args, "");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome
}

/// Whether the render was skipped.
fn is_skipped(outcome: &Outcome) -> bool {
    outcome.stderr.contains(" (cached)")
}

/// A package whose next render is skipped.
fn settled() -> TestEnvironment {
    let env = rendered();
    assert!(!is_skipped(&render(&env, &[])), "it was never a fixpoint");
    assert!(is_skipped(&render(&env, &[])));
    env
}

/// The output without what differs between any two runs.
fn without_times(outcome: &Outcome) -> String {
    let lines = outcome.stderr.lines().filter(|line| !line.contains("ms "));
    let lines = lines.map(|line| match line.rsplit_once(" in ") {
        Some((start, _)) if line.contains("[PASS]") || line.contains("[FAIL]") => start,
        _ => line,
    });
    let lines: Vec<&str> = lines.collect();
    let text = format!(
        "{:?}\n{}\n{}",
        outcome.code,
        outcome.stdout,
        lines.join("\n")
    );
    // The directory of the test.
    let mut parts = text.split("kpt-pipeline-e2e-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
    })
}

#[test]
fn a_render_that_would_change_nothing_is_skipped() {
    let env = settled();
    for flags in [&[][..], &["--check"], &["--dry-run"], &["--quiet"]] {
        let before = files(&env.work());
        let skipped = render(&env, flags);
        assert!(is_skipped(&skipped), "{flags:?}: {}", skipped.stderr);
        let fresh = render(&env, &[flags, &["--cache=off"]].concat());
        assert!(!is_skipped(&fresh));
        assert_eq!(without_times(&skipped), without_times(&fresh), "{flags:?}");
        assert_eq!(files(&env.work()), before);
    }
    let skipped = env.kiln(&["fn", "render", "pkg", "--log-format=json"], "");
    assert!(
        skipped.stderr.contains("\"event\":\"passed\""),
        "{}",
        skipped.stderr
    );
}

/// The first render writes what the functions did. For them it is done already when they run again, which they report.
#[test]
fn a_check_that_accepts_other_results_is_skipped() {
    let env = TestEnvironment::new();
    env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - image: \
         set-namespace:v0.4.1\n    configMap: {namespace: prod}\n",
    );
    env.write("pkg/secret.yaml", SECRET);
    render(&env, &[]);
    let before = files(&env.work());
    let first = render(&env, &["--check"]);
    assert!(!is_skipped(&first), "{}", first.stderr);
    let second = render(&env, &["--check"]);
    assert!(is_skipped(&second), "{}", second.stderr);
    assert_eq!(without_times(&second), without_times(&first));
    let verified = render(&env, &["--check", "--cache=verify"]);
    assert!(!is_skipped(&verified) && !verified.stderr.contains("differs"));
    assert_eq!(files(&env.work()), before);
    // Other commands would change the status.
    for flags in [&["--dry-run"][..], &[]] {
        assert!(!is_skipped(&render(&env, flags)), "{flags:?}");
    }
    assert_ne!(files(&env.work()), before);
    env.write("pkg/secret.yaml", &SECRET.replace("hunter2", "hunter3"));
    let changed = env.kiln(&["fn", "render", "pkg", "--check", "--timings"], "");
    assert_eq!(changed.code, Some(3), "{}", changed.stderr);
    assert!(!is_skipped(&changed));
}

/// Renders after a change: fully, with the result of a render without kept answers.
#[track_caller]
fn check_renders(change: impl Fn(&TestEnvironment)) {
    let env = settled();
    change(&env);
    let copied = TestEnvironment::new();
    copy(&env.work().join("pkg"), &copied.work());
    let with = env.kiln(&["fn", "render", "pkg", "--timings"], "");
    assert!(!is_skipped(&with), "{}", with.stderr);
    let without = copied.kiln(&["fn", "render", "pkg", "--timings", "--cache=off"], "");
    assert_eq!(without_times(&with), without_times(&without));
    assert_eq!(files(&env.work()), files(&copied.work()));
}

#[test]
fn every_change_of_the_package_is_noticed() {
    check_renders(|env| env.write("pkg/new.yaml", SECRET));
    check_renders(|env| env.write("pkg/deep/new.yaml", SECRET));
    check_renders(|env| env.write("pkg/secret.yaml", &SECRET.replace("hunter2", "hunter3")));
    check_renders(|env| env.write("pkg/labels.yaml", &LABELS.replace("shop", "store")));
    check_renders(|env| env.write("pkg/.krmignore", "secret.yaml\n"));
    check_renders(|env| env.write("pkg/kiln.lock", "version: 1\n"));
    check_renders(|env| fs::remove_file(env.work().join("pkg/secret.yaml")).unwrap());
    check_renders(|env| {
        let text = fs::read_to_string(env.work().join("pkg/Kptfile")).unwrap();
        env.write("pkg/Kptfile", &text.replace("v0.2.0", "v0.1.5"));
    });
    check_renders(|env| {
        let pkg = env.work().join("pkg");
        fs::rename(pkg.join("secret.yaml"), pkg.join("other.yaml")).unwrap();
    });
    check_renders(|env| {
        let pkg = env.work().join("pkg");
        fs::rename(pkg.join("secret.yaml"), pkg.join("text")).unwrap();
        std::os::unix::fs::symlink("text", pkg.join("secret.yaml")).unwrap();
    });
    // Only the status: what a render writes is compared, too.
    check_renders(|env| env.write("pkg/Kptfile", KPTFILE));
    // A change and its reversal are not a change.
    let env = settled();
    env.write("pkg/new.yaml", SECRET);
    fs::remove_file(env.work().join("pkg/new.yaml")).unwrap();
    assert!(is_skipped(&render(&env, &[])));
}

#[test]
fn flags_and_variables_that_matter_are_noticed() {
    let env = settled();
    for flags in [
        &["--no-status"][..],
        &["--image-prefix=example.org"],
        &["--timeout=7m"],
        &["--results-dir=results"],
        &["--report=report.html"],
        &["--output=stdout"],
        &["--allow-network"],
        &["--cache=off"],
        &["--cache=verify"],
    ] {
        let args = [&["fn", "render", "pkg", "--timings"], flags].concat();
        let outcome = env.kiln(&args, "");
        assert!(!is_skipped(&outcome), "{flags:?}: {}", outcome.stderr);
    }
    let variables = [("KRM_DISABLE_ATTRIBUTION", "1"), ("KILN_CACHE", "off")];
    for variable in variables {
        let outcome = env.shell(&env.work(), "kiln fn render pkg --timings", &[variable]);
        assert!(!is_skipped(&outcome), "{variable:?}");
    }
    let wrong = env.shell(&env.work(), "kiln fn render pkg", &[("KILN_CACHE", "x")]);
    assert!(
        wrong
            .stderr
            .contains("must be one of: off, on, images, verify"),
        "{}",
        wrong.stderr
    );
    // The same package elsewhere: functions can see its path.
    copy(&env.work().join("pkg"), &env.work().join("pkg2"));
    let outcome = env.kiln(&["fn", "render", "pkg2", "--timings"], "");
    assert!(!is_skipped(&outcome));
    assert!(is_skipped(&render(&env, &[])));
}

#[test]
fn packages_whose_functions_are_not_built_in_are_never_skipped() {
    let env = TestEnvironment::new();
    env.write("pkg/secret.yaml", SECRET);
    env.write(
        "pkg/Kptfile",
        &KPTFILE.replace("  - image: kubeconform:v0.1.1\n", "  - exec: cat\n"),
    );
    env.write("pkg/labels.yaml", LABELS);
    for _ in 0..4 {
        let outcome = render(&env, &["--allow-exec"]);
        assert!(!is_skipped(&outcome), "{}", outcome.stderr);
    }
    let breadth_first = KPTFILE.replace(
        "  name: pkg\n",
        "  name: pkg\n  annotations:\n    kpt.dev/bfs-rendering: \"true\"\n",
    );
    env.write("pkg/Kptfile", &breadth_first);
    for _ in 0..4 {
        assert!(!is_skipped(&render(&env, &[])));
    }
    // Under a policy each function is decided about each time.
    let env = settled();
    env.write("policy.yaml", "version: 1\ndefault: allow\n");
    for _ in 0..3 {
        assert!(!is_skipped(&render(&env, &["--policy=policy.yaml"])));
    }
    assert!(is_skipped(&render(&env, &[])));
}

fn results_of(env: &TestEnvironment) -> PathBuf {
    env.work()
        .parent()
        .unwrap()
        .join("home/.cache/kiln/store/results")
}

/// All files of kept answers.
fn kept_files(env: &TestEnvironment) -> Vec<PathBuf> {
    let results = results_of(env);
    let names = files(&results).into_keys();
    names.map(|name| results.join(name)).collect()
}

#[test]
fn damaged_notes_are_not_used() {
    let env = settled();
    let note = |path: &PathBuf| path.parent().unwrap().ends_with("render");
    let note = kept_files(&env).into_iter().find(note).unwrap();
    let bytes = fs::read(&note).unwrap();
    for at in [0, 20, bytes.len() / 2, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&note, changed).unwrap();
        assert!(!is_skipped(&render(&env, &[])), "byte {at}");
        // It was written again.
        assert!(is_skipped(&render(&env, &[])));
    }
    fs::set_permissions(&note, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!is_skipped(&render(&env, &[])));
}

#[test]
fn a_directory_that_cannot_be_used_is_a_warning() {
    let env = settled();
    let results = results_of(&env);
    fs::set_permissions(&results, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = render(&env, &[]);
    assert!(!is_skipped(&outcome));
    assert!(
        outcome.stderr.contains("answers of functions are not kept"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("other users have access to it"));
    assert!(outcome.stderr.contains("[PASS]"));
    let outcome = render(&env, &["--cache=off"]);
    assert!(!outcome.stderr.contains("not kept"), "{}", outcome.stderr);
}

#[test]
fn kpt_mode_keeps_nothing() {
    let env = TestEnvironment::new();
    env.write("pkg/Kptfile", KPTFILE);
    env.write("pkg/labels.yaml", LABELS);
    for _ in 0..2 {
        let outcome = env.kiln(&["fn", "render", "pkg", "--compat=kpt"], "");
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    assert!(!results_of(&env).exists());
}

/// A module of WASI that copies its input to its output and greets on standard error.
const MODULE: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 32) "hello")
    (func (export "_start")
      (i32.store (i32.const 0) (i32.const 32))
      (i32.store (i32.const 4) (i32.const 5))
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 12)))
      (i32.store (i32.const 0) (i32.const 64))
      (loop $again
        (i32.store (i32.const 4) (i32.const 4096))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (if (i32.load (i32.const 8)) (then
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
          (br $again))))))"#;

fn write_module(env: &TestEnvironment, text: &str) {
    let bytes = wat::parse_str(text).unwrap();
    fs::write(env.work().join("function.wasm"), bytes).unwrap();
}

/// A pipeline with only the module.
const MODULE_KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: pkg
pipeline:
  mutators:
  - exec: ./function.wasm
";

/// Runs the module and prints the resources.
#[track_caller]
fn run_module(env: &TestEnvironment, flags: &[&str]) -> Outcome {
    render(env, &[&["-o=unwrap"], flags].concat())
}

#[test]
fn a_module_with_the_same_input_runs_once() {
    let env = TestEnvironment::new();
    env.write("pkg/Kptfile", MODULE_KPTFILE);
    env.write("pkg/secret.yaml", SECRET);
    write_module(&env, MODULE);
    let fresh = run_module(&env, &[]);
    assert!(!is_skipped(&fresh), "{}", fresh.stderr);
    let kept = run_module(&env, &[]);
    assert!(is_skipped(&kept), "{}", kept.stderr);
    assert_eq!(without_times(&fresh), without_times(&kept));
    assert!(kept.stderr.contains("hello"), "{}", kept.stderr);
    // Another module under the same name, other resources, a real clock.
    write_module(&env, &MODULE.replace("hello", "HELLO"));
    let other = run_module(&env, &[]);
    assert!(!is_skipped(&other));
    assert!(other.stderr.contains("HELLO"));
    assert!(is_skipped(&run_module(&env, &[])));
    for flag in ["--wasm-clock=real", "--wasm-random=real", "--cache=off"] {
        assert!(!is_skipped(&run_module(&env, &[flag])), "{flag}");
    }
    env.write("pkg/other.yaml", LABELS);
    assert!(!is_skipped(&run_module(&env, &[])));
    // In a pipeline.
    env.write(
        "pkg/Kptfile",
        &KPTFILE.replace("image: kubeconform:v0.1.1", "exec: ./function.wasm"),
    );
    env.write("pkg/labels.yaml", LABELS);
    render(&env, &[]);
    render(&env, &[]);
    let kept = render(&env, &[]);
    let cached = kept
        .stderr
        .lines()
        .filter(|line| line.ends_with("(cached)"));
    assert_eq!(cached.count(), 1, "{}", kept.stderr);
}

#[test]
fn a_module_that_fails_runs_again() {
    let env = TestEnvironment::new();
    env.write("pkg/Kptfile", MODULE_KPTFILE);
    env.write("pkg/secret.yaml", SECRET);
    write_module(
        &env,
        &MODULE.replace("(loop $again", "(unreachable) (loop $again"),
    );
    for _ in 0..2 {
        let outcome = env.kiln(&["fn", "render", "pkg", "--timings"], "");
        assert_ne!(outcome.code, Some(0));
        assert!(!is_skipped(&outcome));
    }
    assert_eq!(answers(&env), 0);
}

/// The number of kept answers of functions.
fn answers(env: &TestEnvironment) -> usize {
    let is_answer = |path: &&PathBuf| {
        let shard = path.parent().and_then(Path::file_name);
        shard.is_some_and(|shard| shard.len() == 2)
    };
    kept_files(env).iter().filter(is_answer).count()
}

#[test]
fn cleaning_the_cache_removes_answers() {
    let env = settled();
    let outcome = env.kiln(&["cache", "clean"], "");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(!results_of(&env).exists());
    assert!(!is_skipped(&render(&env, &[])));
}

/// A value of a Secret, or of a function's configuration, is not in the names of files, in logs or in timings. Answers have what
/// functions return, and only this user can read them.
#[test]
fn secrets_stay_where_they_are() {
    let env = TestEnvironment::new();
    env.write("pkg/secret.yaml", SECRET);
    env.write(
        "pkg/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  token: hunter2-is-secret\n",
    );
    write_module(&env, MODULE);
    env.write(
        "pkg/Kptfile",
        &format!("{MODULE_KPTFILE}    configPath: config.yaml\n"),
    );
    let mut printed = String::new();
    for flags in [&[][..], &[], &["--log-format=json"], &["--cache=verify"]] {
        let outcome = run_module(&env, flags);
        printed.push_str(&outcome.stderr);
    }
    fs::remove_file(env.work().join("pkg/config.yaml")).unwrap();
    env.write("pkg/Kptfile", KPTFILE);
    env.write("pkg/labels.yaml", LABELS);
    for _ in 0..3 {
        printed.push_str(&render(&env, &[]).stderr);
    }
    // A cache that cannot be used, and damaged entries.
    for file in kept_files(&env) {
        fs::write(&file, "damaged").unwrap();
    }
    printed.push_str(&render(&env, &[]).stderr);
    let results = results_of(&env);
    fs::set_permissions(&results, fs::Permissions::from_mode(0o777)).unwrap();
    printed.push_str(&render(&env, &[]).stderr);
    fs::set_permissions(&results, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!printed.contains("hunter2"), "{printed}");
    let kept = kept_files(&env);
    assert!(kept.len() >= 2, "{kept:?}");
    for file in kept {
        assert!(!file.display().to_string().contains("hunter2"));
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.display());
    }
}

/// A package whose policy reports something about a kind of resource, as a warning.
fn with_policy(kind: &str, conditions: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write(
        "pkg/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  validators:\n  - image: gatekeeper:v0.2.1\n",
    );
    env.write(
        "pkg/policy.yaml",
        &format!(
            "\
apiVersion: templates.gatekeeper.sh/v1beta1
kind: ConstraintTemplate
metadata:
  name: show
spec:
  crd:
    spec:
      names:
        kind: Show
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package show
      violation[{{\"msg\": msg}}] {{
        {conditions}
      }}
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Show
metadata:
  name: show
spec:
  enforcementAction: warn
  match:
    kinds:
    - apiGroups: [\"\"]
      kinds: [{kind}]
"
        ),
    );
    env.write("pkg/secret.yaml", SECRET);
    env
}

/// JSON in a Secret, which a policy prints with escapes.
#[test]
fn no_note_has_a_part_of_a_secret() {
    let env = with_policy(
        "Secret",
        "msg := sprintf(\"not allowed: %v\", [input.review.object.stringData])",
    );
    env.write(
        "pkg/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: registry\nstringData:\n  .dockerconfigjson: \
         '{\"auths\":{\"ghcr.io\":{\"username\":\"bot\",\"password\":\"hunter2-is-secret\"}}}'\n",
    );
    let mut printed = String::new();
    for flags in [&[][..], &["--log-format=json"], &[], &[]] {
        printed.push_str(&render(&env, flags).stderr);
    }
    assert!(printed.contains("not allowed: "), "{printed}");
    assert!(printed.contains("(cached)"), "{printed}");
    assert!(!printed.contains("hunter2"), "{printed}");
    let mut written = kept_files(&env);
    assert!(!written.is_empty());
    written.push(env.work().join("pkg/Kptfile"));
    for file in written {
        let content = fs::read(&file).unwrap();
        let content = String::from_utf8_lossy(&content);
        assert!(
            !content.contains("hunter2"),
            "{}: {content}",
            file.display()
        );
    }
}

/// Another run of the same policy may have another result.
#[test]
fn a_policy_that_may_be_random_runs_each_time() {
    let random = with_policy(
        "Secret",
        "rand.intn(\"x\", 1) == 0\n        msg := \"drawn\"",
    );
    for _ in 0..4 {
        let outcome = render(&random, &[]);
        assert!(outcome.stderr.contains("drawn"), "{}", outcome.stderr);
        assert!(!is_skipped(&outcome), "{}", outcome.stderr);
    }
    let plain = with_policy("Secret", "msg := \"always\"");
    for _ in 0..2 {
        assert!(!is_skipped(&render(&plain, &[])));
    }
    assert!(is_skipped(&render(&plain, &[])));
}

/// For every package of the catalog's corpus: with kept answers, without them, and again, the files, the output and the exit
/// code are the same.
#[test]
fn kept_is_fresh_for_the_catalog() {
    let Some(corpus) = shared::directory("kept_is_fresh_for_the_catalog") else {
        return;
    };
    let mut packages = Vec::new();
    let mut pending = vec![corpus.join("catalog")];
    while let Some(directory) = pending.pop() {
        if directory.join("Kptfile").is_file() {
            packages.push(directory);
            continue;
        }
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
        }
    }
    packages.sort();
    let mut skipped = 0;
    for package in &packages {
        let [with, without] = ["on", "off"].map(|mode| {
            let env = TestEnvironment::new();
            copy(package, &env.work().join("pkg"));
            let flag = format!("--cache={mode}");
            let rounds: Vec<_> = (0..4)
                .map(|_| {
                    let args = ["fn", "render", "pkg", "--timings", &flag];
                    let outcome = env.kiln(&args, "");
                    let is_skipped = is_skipped(&outcome);
                    (is_skipped, without_times(&outcome), files(&env.work()))
                })
                .collect();
            rounds
        });
        for (round, (with, without)) in with.iter().zip(&without).enumerate() {
            let name = package.display();
            assert_eq!(with.1, without.1, "{name}, round {round}");
            assert_eq!(with.2, without.2, "{name}, round {round}");
            skipped += usize::from(with.0);
        }
    }
    assert!(skipped > packages.len() / 2, "only {skipped} were skipped");
}
