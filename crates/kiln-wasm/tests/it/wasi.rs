//! Programs of WASI preview 1.

use std::time::Duration;

use kiln_runtime::Limits;
use kiln_wasm::{WasmClock, WasmEngine, WasmEvaluator, WasmOptions};

use crate::support::{Call, ModuleFile, check, describe, engines, evaluator};

/// A program with a memory, the imports that it names and a body.
fn program(imports: &[&str], body: &str) -> String {
    let mut text = String::from("(module\n");
    for import in imports {
        let (name, parameters) = import.split_once(' ').unwrap_or((import, ""));
        let result = if name == "proc_exit" {
            ""
        } else {
            "(result i32)"
        };
        text.push_str(&format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} (param {parameters}) {result}))\n"
        ));
    }
    text.push_str("(memory (export \"memory\") 1)\n");
    text.push_str(body);
    text.push(')');
    text
}

const READ: &str = "fd_read i32 i32 i32 i32";
const WRITE: &str = "fd_write i32 i32 i32 i32";
const EXIT: &str = "proc_exit i32";

/// Copies its input to its output, 4,096 bytes at a time.
fn echo() -> String {
    program(
        &[READ, WRITE, EXIT],
        r#"(func (export "_start") (local $n i32)
             (i32.store (i32.const 0) (i32.const 64))
             (loop $again
               (i32.store (i32.const 4) (i32.const 4096))
               (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8))
                 (then (call $proc_exit (i32.const 100))))
               (local.set $n (i32.load (i32.const 8)))
               (if (local.get $n) (then
                 (i32.store (i32.const 4) (local.get $n))
                 (if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12))
                   (then (call $proc_exit (i32.const 101))))
                 (br $again)))))"#,
    )
}

#[test]
fn input_goes_to_output() {
    check(&echo(), "", "0||");
    check(&echo(), "a: 1\n", "0|a: 1\n|");
}

#[test]
fn ten_megabytes_go_in_and_out() {
    let input = "0123456789abcde\n".repeat(10 << 16);
    let module = ModuleFile::of_text(&echo());
    let answer = Call::new(&input).on_all_engines(&module);
    assert_eq!(answer.len(), input.len() + "0||".len());
    assert!(answer.contains(&input));
}

#[test]
fn every_exit_code_is_reported() {
    for code in [0, 1, 2, 7, 127, 128, 254, 255] {
        let body = format!(
            r#"(func $inner (call $proc_exit (i32.const {code})))
               (func (export "_start") (call $inner) unreachable)"#
        );
        check(&program(&[EXIT], &body), "", &format!("{code}||"));
    }
}

#[test]
fn stderr_is_separate_and_comes_with_a_failure() {
    let body = r#"(data (i32.const 100) "broken\n")
        (func (export "_start")
          (i32.store (i32.const 0) (i32.const 100))
          (i32.store (i32.const 4) (i32.const 7))
          (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
          (call $proc_exit (i32.const 3)))"#;
    check(&program(&[WRITE, EXIT], body), "", "3||broken\n");
}

#[test]
fn a_trap_is_a_failure_with_its_reason() {
    let text = program(&[], r#"(func (export "_start") unreachable)"#);
    for engine in engines() {
        let module = ModuleFile::of_text(&text);
        let ran = describe(Call::new("").run(&evaluator(engine), &module.path));
        assert!(ran.starts_with("-1||wasm trap: "), "{ran}");
        assert!(ran.contains("unreachable"), "{ran}");
    }
}

#[test]
fn bad_pointers_are_errors_of_the_call() {
    // Each call exits with its error number: 21 is EFAULT.
    let calls = [
        (
            "fd_write i32 i32 i32 i32",
            "i32.const 1|i32.const -8|i32.const 1|i32.const 0",
        ),
        (
            "fd_write i32 i32 i32 i32",
            "i32.const 1|i32.const 65532|i32.const 1|i32.const 0",
        ),
        (
            "fd_write i32 i32 i32 i32",
            "i32.const 1|i32.const 0|i32.const 1|i32.const 65533",
        ),
        (
            "fd_read i32 i32 i32 i32",
            "i32.const 0|i32.const 16|i32.const 1|i32.const 0",
        ),
        ("random_get i32 i32", "i32.const 65530|i32.const 7"),
        ("random_get i32 i32", "i32.const 1|i32.const -1"),
        (
            "clock_time_get i32 i64 i32",
            "i32.const 0|i64.const 0|i32.const 65529",
        ),
        ("clock_res_get i32 i32", "i32.const 0|i32.const -1"),
        ("args_get i32 i32", "i32.const 65535|i32.const 0"),
        ("args_get i32 i32", "i32.const 0|i32.const 65535"),
        ("args_sizes_get i32 i32", "i32.const 0|i32.const 65535"),
        ("environ_sizes_get i32 i32", "i32.const 65533|i32.const 0"),
        ("fd_fdstat_get i32 i32", "i32.const 0|i32.const 65520"),
        ("fd_filestat_get i32 i32", "i32.const 1|i32.const 65500"),
        (
            "poll_oneoff i32 i32 i32 i32",
            "i32.const 65530|i32.const 0|i32.const 1|i32.const 0",
        ),
        (
            "poll_oneoff i32 i32 i32 i32",
            "i32.const 0|i32.const 65530|i32.const 1|i32.const 0",
        ),
    ];
    for (import, arguments) in calls {
        let name = import.split(' ').next().unwrap();
        let arguments = arguments.replace('|', ") (");
        let body = format!(
            r#"(data (i32.const 16) "\ff\ff\ff\ff\ff\ff\ff\ff")
               (func (export "_start") (call $proc_exit (call ${name} ({arguments}))))"#
        );
        check(&program(&[import, EXIT], &body), "x", "21||");
    }
}

#[test]
fn there_are_no_files_and_no_sockets() {
    // EBADF, ENOENT, ENOSYS, ESPIPE, EINVAL.
    let calls = [
        ("fd_prestat_get i32 i32", "i32.const 3|i32.const 0", 8),
        ("fd_close i32", "i32.const 9", 8),
        (
            "fd_write i32 i32 i32 i32",
            "i32.const 0|i32.const 0|i32.const 0|i32.const 0",
            8,
        ),
        (
            "fd_read i32 i32 i32 i32",
            "i32.const 1|i32.const 0|i32.const 0|i32.const 0",
            8,
        ),
        (
            "path_open i32 i32 i32 i32 i32 i64 i64 i32 i32",
            "i32.const 3|i32.const 0|i32.const 0|i32.const 0|i32.const 0|i64.const 0|i64.const 0|i32.const 0|i32.const 0",
            44,
        ),
        (
            "path_unlink_file i32 i32 i32",
            "i32.const 3|i32.const 0|i32.const 0",
            52,
        ),
        ("sock_shutdown i32 i32", "i32.const 3|i32.const 0", 52),
        (
            "fd_seek i32 i64 i32 i32",
            "i32.const 0|i64.const 0|i32.const 0|i32.const 0",
            70,
        ),
        (
            "fd_write i32 i32 i32 i32",
            "i32.const 1|i32.const 0|i32.const 1025|i32.const 0",
            28,
        ),
        (
            "poll_oneoff i32 i32 i32 i32",
            "i32.const 0|i32.const 0|i32.const 0|i32.const 0",
            28,
        ),
    ];
    for (import, arguments, errno) in calls {
        let name = import.split(' ').next().unwrap();
        let arguments = arguments.replace('|', ") (");
        let body =
            format!(r#"(func (export "_start") (call $proc_exit (call ${name} ({arguments}))))"#);
        check(&program(&[import, EXIT], &body), "", &format!("{errno}||"));
    }
}

/// Writes 8 bytes from the address 200.
const WRITE_NUMBER: &str = r#"(i32.store (i32.const 0) (i32.const 200))
    (i32.store (i32.const 4) (i32.const 8))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))"#;

#[test]
fn clock_and_random_bytes_are_the_same_in_every_call() {
    let clock = format!(
        r#"(func (export "_start")
             (drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 200)))
             (drop (call $clock_time_get (i32.const 1) (i64.const 0) (i32.const 200)))
             {WRITE_NUMBER})"#
    );
    let clock = program(&["clock_time_get i32 i64 i32", WRITE], &clock);
    check(&clock, "", "0|\u{fffd}\u{7}\0\0\0\0\0\0|");
    let random = format!(
        r#"(func (export "_start")
             (drop (call $random_get (i32.const 200) (i32.const 8))) {WRITE_NUMBER})"#
    );
    let random = ModuleFile::of_text(&program(&["random_get i32 i32", WRITE], &random));
    let first = Call::new("").on_all_engines(&random);
    assert_eq!(Call::new("").on_all_engines(&random), first);
    let real = WasmEvaluator::new(WasmOptions {
        random: kiln_wasm::WasmRandom::Real,
        ..WasmOptions::default()
    });
    let one = describe(Call::new("").run(&real, &random.path));
    let other = describe(Call::new("").run(&real, &random.path));
    assert!(one != first && one != other, "random bytes repeat: {one}");
}

/// Sleeps for a number of seconds, then exits with the error number of its event.
fn sleeper(seconds: u64) -> String {
    let body = format!(
        r#"(func (export "_start")
             (i64.store (i32.const 24) (i64.const {nanoseconds}))
             (if (call $poll_oneoff (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 96))
               (then (call $proc_exit (i32.const 99))))
             (call $proc_exit (i32.load16_u (i32.const 108))))"#,
        nanoseconds = seconds * 1_000_000_000
    );
    program(&["poll_oneoff i32 i32 i32 i32", EXIT], &body)
}

#[test]
fn a_sleeping_function_does_not_wait() {
    // An hour.
    check(&sleeper(3600), "", "0||");
}

#[test]
fn with_the_real_clock_a_sleeping_function_ends_at_its_deadline() {
    for engine in engines() {
        let real = WasmEvaluator::new(WasmOptions {
            engine,
            clock: WasmClock::Real,
            ..WasmOptions::default()
        });
        let call = Call {
            timeout: Duration::from_millis(30),
            ..Call::new("")
        };
        let ran = describe(call.run(&real, &ModuleFile::of_text(&sleeper(3600)).path));
        assert!(
            ran.starts_with("error: function did not finish within 30ms"),
            "{ran}"
        );
    }
}

#[test]
fn memory_may_grow_while_the_function_runs() {
    let body = r#"(func (export "_start")
        (drop (memory.grow (i32.const 100)))
        (i32.store (i32.const 0) (i32.const 6000000))
        (i32.store (i32.const 4) (i32.const 3))
        (i32.store (i32.const 6000000) (i32.const 0x636261))
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"#;
    check(&program(&[WRITE], body), "", "0|abc|");
}

#[test]
fn output_is_limited() {
    let module = ModuleFile::of_text(&program(
        &[WRITE],
        r#"(func (export "_start")
             (i32.store (i32.const 4) (i32.const 65536))
             (loop $again
               (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
               (br $again)))"#,
    ));
    let call = Call {
        limits: Limits {
            max_output: 1_000_000,
            memory: None,
        },
        ..Call::new("")
    };
    let answer = call.on_all_engines(&module);
    assert!(
        answer.starts_with("error: function wrote more than 1000000 bytes"),
        "{answer}"
    );
}

#[test]
fn the_interpreter_runs_without_a_compiler() {
    let module = ModuleFile::of_text(&echo());
    let ran = Call::new("x").run(&evaluator(WasmEngine::Auto), &module.path);
    assert_eq!(describe(ran), "0|x|");
}
