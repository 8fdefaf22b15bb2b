//! Functions in WebAssembly, from the command line.

use std::fs;

use crate::test_environment::TestEnvironment;

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    - exec: ./echo.wasm\n";
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

/// A program of WASI that copies its input to its output.
const ECHO: &str = r#"(module
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
    fs::write(env.work().join("echo.wasm"), wat::parse_str(ECHO).unwrap()).unwrap();
    env
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
    assert!(outcome.stderr.contains("wasm.load"), "{}", outcome.stderr);
    let outcome = env.kiln(&["fn", "render", "pkg", "--wasm-engine=other"], "");
    assert!(
        outcome
            .stderr
            .contains("must be one of: auto, interpreter, compiler"),
        "{}",
        outcome.stderr
    );
    let compiled = env.kiln(&["wasm", "compile", "echo.wasm"], "");
    match cfg!(feature = "wasm-jit") {
        true => assert_eq!(compiled.code, Some(0), "{}", compiled.stderr),
        false => assert!(
            compiled.stderr.contains("this kiln has no compiler"),
            "{}",
            compiled.stderr
        ),
    }
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
