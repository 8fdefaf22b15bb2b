//! Functions in WebAssembly, from the command line.

use std::fs;

use crate::faults::skip;
use crate::packages::GitEnvironment;
use crate::test_environment::TestEnvironment;
use crate::wasm_registry::TestRegistry;

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./echo.wasm\n";
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

const CONFIG_MAP_SHELL: &str = "apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: a\\n";

/// A program of WASI that copies its input to its output.
pub(crate) const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start")
      (i32.store (i32.const 0) (i32.const 64))
      (loop $again
        (i32.store (i32.const 4) (i32.const 4096))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (if (i32.load (i32.const 8)) (then
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
          (br $again))))))"#;

fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("pkg/Kptfile", KPTFILE);
    env.write("pkg/a.yaml", CONFIG_MAP);
    write_module(&env);
    env
}

fn write_module(env: &TestEnvironment) {
    fs::write(env.work().join("echo.wasm"), wat::parse_str(ECHO).unwrap()).unwrap();
}

/// Pushes the module with a command, and checks the text.
#[track_caller]
fn push(env: &TestEnvironment, registry: &TestRegistry, command: &[&str], index: usize) -> String {
    let image = format!(
        "{}/team/{}:v1",
        registry.host,
        command.join("-").replace('=', "-")
    );
    let pushed = env.kiln(&[command, &["echo.wasm", &image]].concat(), "");
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let lines: Vec<&str> = pushed.stdout.lines().collect();
    assert_eq!(lines.len(), 2 + index, "{pushed:?}");
    assert!(
        lines[0].starts_with("digest of the image: sha256:"),
        "{pushed:?}"
    );
    if index == 1 {
        let line = lines[1].starts_with("digest of the image index: sha256:");
        assert!(line, "{pushed:?}");
    }
    assert_eq!(
        lines[1 + index],
        format!("image has been pushed to {image}")
    );
    image
}

#[test]
fn a_module_needs_no_permission() {
    let env = environment();
    let outcome = env.kiln(&["fn", "render", "pkg"], "");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("[PASS] \"./echo.wasm\""),
        "{}",
        outcome.stderr
    );
    let outcome = env.kiln(
        &["fn", "eval", "pkg", "--exec", "./echo.wasm", "-o", "unwrap"],
        "",
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains(CONFIG_MAP), "{}", outcome.stdout);
    // A program still does.
    env.write("pkg/Kptfile", &KPTFILE.replace("./echo.wasm", "cat"));
    let outcome = env.kiln(&["fn", "render", "pkg"], "");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("--allow-exec"),
        "{}",
        outcome.stderr
    );
}

/// Permission to run programs would not help.
#[test]
fn a_missing_module_is_reported_as_missing() {
    let env = environment();
    let kptfile = KPTFILE.replace("./echo.wasm", "./fns/echo.wasm");
    env.write("pkg/Kptfile", &kptfile);
    let expected = "cannot open module ./fns/echo.wasm: no such file or directory; the path is relative to the current \
                    directory, not to the package";
    let eval = ["fn", "eval", "pkg", "--exec", "./fns/echo.wasm"];
    for command in [&["fn", "render", "pkg"][..], &eval] {
        let outcome = env.kiln(command, "");
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
        assert!(
            !outcome.stderr.contains("--allow-exec"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn both_engines_are_flags() {
    let env = environment();
    let outcome = env.kiln(
        &[
            "fn",
            "render",
            "pkg",
            "--wasm-engine=interpreter",
            "--timings",
        ],
        "",
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for step in ["wasm.load", "wasm.instantiate", "wasm.run"] {
        let line = format!("  {step}, in a function above");
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    }
    let outcome = env.kiln(&["fn", "render", "pkg", "--wasm-engine=other"], "");
    assert!(
        outcome
            .stderr
            .contains("must be one of: auto, interpreter, compiler"),
        "{}",
        outcome.stderr
    );
}

/// Regression: kiln looked at a feature of its own, and in a build of the whole workspace it said that it has no compiler.
#[test]
fn a_module_is_compiled_ahead_of_its_first_call() {
    let env = environment();
    let compiled = env.kiln(&["wasm", "compile", "echo.wasm"], "");
    if !kiln_wasm::HAS_COMPILER {
        assert_eq!(compiled.code, Some(1));
        assert!(
            compiled.stderr.contains("this kiln has no compiler"),
            "{}",
            compiled.stderr
        );
        return skip(
            "a_module_is_compiled_ahead_of_its_first_call",
            "this build has no compiler",
        );
    }
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);
    let render = ["fn", "render", "pkg", "--wasm-engine=compiler", "--timings"];
    let outcome = env.kiln(&render, "");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    // The stored code is loaded.
    assert!(outcome.stderr.contains("wasm.load"), "{}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("wasm.compile"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn kpt_runs_modules_only_with_its_flag() {
    let env = environment();
    let compat = ["fn", "render", "pkg", "--compat=kpt"];
    let outcome = env.kiln(&compat, "");
    assert!(
        outcome.stderr.contains("--allow-exec"),
        "{}",
        outcome.stderr
    );
    let with = |flags: &[&str]| env.kiln(&[&compat, flags].concat(), "");
    let outcome = with(&["--allow-alpha-wasm"]);
    assert!(
        outcome.stderr.contains("--allow-exec"),
        "{}",
        outcome.stderr
    );
    let outcome = with(&["--allow-alpha-wasm", "--allow-exec"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("[RUNNING] WASM \"./echo.wasm\""),
        "{}",
        outcome.stderr
    );
    env.write(
        "pkg/Kptfile",
        &KPTFILE.replace("./echo.wasm", "./missing.wasm"),
    );
    let outcome = with(&["--allow-alpha-wasm", "--allow-exec"]);
    let expected =
        "failed to open file ./missing.wasm: open ./missing.wasm: no such file or directory";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn commands_of_kpt_check_their_arguments() {
    let env = environment();
    let outcome = env.kiln(&["alpha", "wasm", "push", "echo.wasm"], "");
    let expected = "2 positional arguments (local wasm file and OCI image) are required";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let outcome = env.kiln(&["alpha", "wasm", "pull"], "");
    let expected = "2 positional arguments (a OCI image and a local path) required";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn modules_are_pushed_pulled_and_run_as_images() {
    let env = environment();
    let registry = TestRegistry::start();
    for (command, index) in [
        (&["wasm", "push", "--format=oci"][..], 0),
        (&["wasm", "push", "--format=kpt"][..], 1),
        (&["alpha", "wasm", "push"][..], 1),
    ] {
        let image = push(&env, &registry, command, index);
        for pull in [&["wasm", "pull"][..], &["alpha", "wasm", "pull"][..]] {
            let pulled = env.kiln(&[pull, &[&image, "out/pulled.wasm"]].concat(), "");
            assert_eq!(
                (pulled.code, pulled.stdout.as_str()),
                (Some(0), ""),
                "{pulled:?}"
            );
            let read = |path: &str| fs::read(env.work().join(path)).unwrap();
            assert_eq!(read("out/pulled.wasm"), read("echo.wasm"));
            fs::remove_file(env.work().join("out/pulled.wasm")).unwrap();
        }
        let eval = |flags: &[&str]| {
            let arguments = [&["fn", "eval", "pkg", "-i", &image, "-o", "unwrap"], flags].concat();
            env.kiln(&arguments, "")
        };
        let outcome = eval(&[]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stdout.contains(CONFIG_MAP), "{}", outcome.stdout);
        assert!(
            outcome.stderr.contains(&format!("[PASS] \"{image}\"")),
            "{}",
            outcome.stderr
        );
        let outcome = eval(&["--compat=kpt", "--allow-alpha-wasm"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            outcome
                .stderr
                .contains(&format!("[RUNNING] WASM \"{image}\"")),
            "{}",
            outcome.stderr
        );
        env.write(
            "pkg/Kptfile",
            &KPTFILE.replace("exec: ./echo.wasm", &format!("image: {image}")),
        );
        let outcome = env.kiln(
            &["fn", "render", "pkg", "--compat=kpt", "--allow-alpha-wasm"],
            "",
        );
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    let missing = format!("{}/team/none:v1", registry.host);
    let pulled = env.kiln(&["wasm", "pull", &missing, "none.wasm"], "");
    assert_eq!(pulled.code, Some(1));
    assert!(pulled.stderr.contains(&missing), "{}", pulled.stderr);
    assert!(!env.work().join("none.wasm").exists());
}

/// kpt takes any file; kiln any WebAssembly.
#[test]
fn modules_for_other_runtimes_are_pushed_and_pulled() {
    let env = environment();
    let registry = TestRegistry::start();
    let files = [
        ("module.wasm", &b"\0asm\x01\0\0\0"[..], 0),
        ("component.wasm", b"\0asm\x0d\0\x01\0", 0),
        ("text.wasm", b"text", 1),
    ];
    for (name, bytes, code_of_kiln) in files {
        fs::write(env.work().join(name), bytes).unwrap();
        for (command, code) in [
            (&["wasm", "push"][..], code_of_kiln),
            (&["alpha", "wasm", "push"][..], 0),
        ] {
            let image = format!("{}/team/{name}-{}:v1", registry.host, command.len());
            let pushed = env.kiln(&[command, &[name, &image]].concat(), "");
            assert_eq!(pushed.code, Some(code), "{pushed:?}");
            if code != 0 {
                let expected = "cannot push text.wasm: it is not a WebAssembly module";
                assert!(pushed.stderr.contains(expected), "{pushed:?}");
                continue;
            }
            for pull in [&["wasm", "pull"][..], &["alpha", "wasm", "pull"][..]] {
                let pulled = env.kiln(&[pull, &[&image, "pulled"]].concat(), "");
                assert_eq!(pulled.code, Some(0), "{pulled:?}");
                assert_eq!(fs::read(env.work().join("pulled")).unwrap(), bytes);
            }
        }
    }
    let missing = format!("{}/team/none:v1", registry.host);
    let pulled = env.kiln(&["alpha", "wasm", "pull", &missing, "pulled"], "");
    let expected = "unable to get remote image: ";
    assert!(pulled.stderr.contains(expected), "{pulled:?}");
    let pushed = env.kiln(&["alpha", "wasm", "push", "none.wasm", &missing], "");
    let expected = "unable to compress none.wasm: failed to read from file none.wasm: \
                    open none.wasm: no such file or directory";
    assert!(pushed.stderr.contains(expected), "{pushed:?}");
}

/// As with kpt, which loads all modules of a pipeline before it runs the first.
#[test]
fn for_kpt_a_module_that_cannot_be_loaded_does_not_begin_to_run() {
    let env = environment();
    let registry = TestRegistry::start();
    let image = push(&env, &registry, &["alpha", "wasm", "push"], 1);
    let missing = format!("{}/team/none:v1", registry.host);
    let pipeline = format!("image: {image}\n    - image: {missing}");
    let kptfile = KPTFILE.replace("exec: ./echo.wasm", &pipeline);
    env.write("pkg/Kptfile", &kptfile);
    let for_kpt = ["--compat=kpt", "--allow-alpha-wasm"];
    for command in [
        &["fn", "render", "pkg"][..],
        &["fn", "eval", "pkg", "-i", &missing][..],
    ] {
        let outcome = env.kiln(&[command, &for_kpt].concat(), "");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(!outcome.stderr.contains("[RUNNING]"), "{outcome:?}");
        assert!(outcome.stderr.contains(&missing), "{outcome:?}");
    }
}

#[test]
fn mounts_for_a_module_are_named_as_useless() {
    let env = environment();
    let registry = TestRegistry::start();
    let image = push(&env, &registry, &["wasm", "push"], 0);
    let eval = |flags: &[&str]| {
        let arguments = [&["fn", "eval", "pkg", "-i", &image, "-o", "unwrap"], flags].concat();
        env.kiln(&arguments, "").stderr
    };
    let warning = format!(
        "[WARN] --mount has no effect: image {image} is a WebAssembly module, which has no files"
    );
    let mounted = eval(&["--mount", "type=bind,src=/tmp,dst=/tmp"]);
    assert!(mounted.contains(&warning), "{mounted}");
    let other = eval(&[]);
    assert!(!other.contains("--mount"), "{other}");
}

/// In `version` and `doctor`, and where the compiler is asked for.
#[test]
fn a_build_says_whether_it_has_the_compiler() {
    let env = environment();
    let version = env.kiln(&["version"], "").stdout;
    let json = env.kiln(&["version", "-o", "json"], "").stdout;
    let doctor = env.kiln(&["doctor"], "").stdout;
    let render = env.kiln(&["fn", "render", "pkg", "--wasm-engine=compiler"], "");
    match kiln_wasm::HAS_COMPILER {
        true => {
            assert!(
                version.contains("\nwasm engines: interpreter, compiler\n"),
                "{version}"
            );
            let expected = r#""wasmEngines":["interpreter","compiler"]"#;
            assert!(json.contains(expected), "{json}");
            assert!(doctor.contains("ok       compiler: "), "{doctor}");
            assert_eq!(render.code, Some(0), "{render:?}");
        }
        false => {
            assert!(
                version.contains("\nwasm engines: interpreter\n"),
                "{version}"
            );
            assert!(json.contains(r#""wasmEngines":["interpreter"]"#), "{json}");
            assert!(doctor.contains("missing  compiler: "), "{doctor}");
            assert_eq!(render.code, Some(1), "{render:?}");
            let expected = "this kiln has no compiler for functions in WebAssembly";
            assert!(render.stderr.contains(expected), "{render:?}");
        }
    }
}

#[test]
fn modules_reach_machines_without_a_registry_as_archives() {
    let env = environment();
    let registry = TestRegistry::start();
    for (command, index) in [
        (&["wasm", "push", "--format=oci"][..], 0),
        (&["alpha", "wasm", "push"][..], 1),
    ] {
        let image = push(&env, &registry, command, index);
        for arguments in [
            &["image", "pull", &image][..],
            &["image", "export", &image, "module.tar"],
            &["image", "import", "module.tar", "--store", "other"],
        ] {
            let outcome = env.kiln(arguments, "");
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        }
        let eval = format!("kiln fn eval pkg -i {image} -o unwrap --image-pull-policy=Never");
        let other_machine = [("KILN_STORE", "other"), ("XDG_CACHE_HOME", "empty")];
        let outcome = env.shell(&env.work(), &eval, &other_machine);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains(CONFIG_MAP), "{outcome:?}");
        fs::remove_file(env.work().join("module.tar")).unwrap();
    }
}

/// The digest of the image is that of the module too, but a file that says something else is wrong.
#[test]
fn a_lock_file_with_another_module_does_not_fit() {
    let env = environment();
    let registry = TestRegistry::start();
    let image = push(&env, &registry, &["wasm", "push", "--format=oci"], 0);
    env.write(
        "pkg/Kptfile",
        &KPTFILE.replace("exec: ./echo.wasm", &format!("image: {image}")),
    );
    let kiln = |words: &str, code: i32| {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = env.kiln(&words, "");
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        ran
    };
    kiln("lock pkg", 0);
    let lock = env.work().join("pkg/kiln.lock");
    let right = fs::read_to_string(&lock).unwrap();
    let (before, module) = right.split_once("  wasm: sha256:").expect("a module");
    let rest = &module[64..];
    kiln("fn render pkg --locked", 0);
    kiln("lock pkg --check", 0);
    let wrong = format!("{before}  wasm: sha256:{}{rest}", "0".repeat(64));
    fs::write(&lock, wrong).unwrap();
    let checked = kiln("lock pkg --check", 3);
    assert!(
        checked.stdout.contains("the entry does not fit"),
        "{checked:?}"
    );
    let refused = kiln("fn render pkg --locked", 1);
    assert!(
        refused.stderr.contains("no matching entries"),
        "{refused:?}"
    );
    kiln("lock pkg", 0);
    assert_eq!(fs::read_to_string(&lock).unwrap(), right);
}

#[test]
fn a_file_that_should_be_a_module_is_named() {
    let env = environment();
    env.write("text.wasm", "hello");
    for (file, reason) in [
        ("./missing.wasm", "no such file or directory"),
        ("./text.wasm", "it is not a WebAssembly module"),
        ("./pkg/../pkg.wasm", "no such file or directory"),
    ] {
        let outcome = env.kiln(&["fn", "eval", "pkg", "--exec", file], "");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(file), "{outcome:?}");
        assert!(outcome.stderr.contains(reason), "{outcome:?}");
    }
}

/// Packages in repositories are not trusted, but a module can do no harm.
#[test]
fn a_package_in_a_repository_runs_modules() {
    let Some(git_env) = GitEnvironment::new("a_package_in_a_repository_runs_modules") else {
        return;
    };
    let registry = TestRegistry::start();
    write_module(&git_env.test_env);
    let image = push(&git_env.test_env, &registry, &["wasm", "push"], 0);
    let log = git_env.run(&format!(
        "kiln rpkg init p --repository up --workspace v1 2>/dev/null; kiln rpkg pull up.p.v1 p
        printf 'pipeline:\\n  mutators:\\n  - image: {image}\\n  - image: set-labels:v0.2.0\\n    configMap: {{a: b}}\\n' >> p/Kptfile
        printf '{CONFIG_MAP_SHELL}' > p/c.yaml
        kiln rpkg push up.p.v1 p 2>&1
        kiln rpkg propose up.p.v1 2>&1; kiln rpkg approve up.p.v1
        git --git-dir up.git show main:p/c.yaml"
    ));
    assert!(log.contains(&format!("[PASS] \"{image}\"")), "{log}");
    assert!(log.contains("    a: b\n"), "{log}");
}
