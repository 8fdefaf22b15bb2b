//! Modules that try to do harm: each ends with a clear error, within its limits.

use std::time::{Duration, Instant};

use kiln_runtime::{CancelToken, Limits};
use kiln_wasm::{ModuleError, WasmModule};

use crate::support::{Call, ModuleFile, describe, engines, evaluator};

fn parse(text: &str) -> Result<WasmModule, ModuleError> {
    WasmModule::parse(wat::parse_str(text).unwrap().into())
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = parse(text).map(drop).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_is_not_a_function_is_refused_by_name() {
    check_refused(
        r#"(module (memory (export "memory") 1) (func (export "main")))"#,
        "the module exports neither `_start` (a program of WASI preview 1) nor `run`, `resume` and `getsp` \
         (a Go program for js)",
    );
    check_refused(
        r#"(module (func (export "_start")))"#,
        r#"the module does not export its memory as "memory""#,
    );
    check_refused(
        r#"(module (import "env" "system" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
        r#"the module imports the function "env" "system", which functions cannot use"#,
    );
    check_refused(
        r#"(module (import "wasi_snapshot_preview1" "fd_write" (memory 1)) (memory (export "memory") 1) (func (export "_start")))"#,
        r#"the module imports the memory "wasi_snapshot_preview1" "fd_write", which functions cannot use"#,
    );
    check_refused(
        r#"(module (memory (export "memory") 1) (func $f) (start $f) (func (export "_start")))"#,
        "the module has a start section, which is not supported",
    );
    let component = b"\0asm\x0d\0\x01\0";
    let error = WasmModule::parse(component.to_vec().into()).unwrap_err();
    assert_eq!(error, ModuleError::Component);
    let error = WasmModule::parse(b"#!/bin/sh\n".to_vec().into()).unwrap_err();
    assert_eq!(error, ModuleError::NotWasm);
}

#[test]
fn an_import_with_another_type_is_an_error() {
    let module = ModuleFile::of_text(
        r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i64)))
             (memory (export "memory") 1) (func (export "_start")))"#,
    );
    for engine in engines() {
        let ran = describe(Call::new("").run(&evaluator(engine), &module.path));
        assert!(ran.contains("fd_write"), "{ran}");
    }
}

#[test]
fn invalid_code_is_an_error() {
    let mut bytes = wat::parse_str(
        r#"(module (memory (export "memory") 1) (func (export "_start") (drop (i32.const 1))))"#,
    )
    .unwrap();
    // The operand of `drop` is removed.
    let code = bytes
        .windows(3)
        .position(|bytes| bytes == [0x41, 1, 0x1a])
        .unwrap();
    bytes[code] = 0x01;
    bytes[code + 1] = 0x01;
    let module = ModuleFile::new(&bytes);
    for engine in engines() {
        let ran = describe(Call::new("").run(&evaluator(engine), &module.path));
        assert!(ran.starts_with("error: cannot run fn.wasm: "), "{ran}");
    }
}

#[test]
fn a_million_functions_are_refused() {
    // The section of functions: one byte for each, all of type 0.
    let count = 1_000_000;
    let mut bytes = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0".to_vec();
    let mut section = leb128(count);
    section.extend(vec![0; count as usize]);
    bytes.push(3);
    bytes.extend(leb128(section.len() as u32));
    bytes.extend(section);
    let error = WasmModule::parse(bytes.into()).unwrap_err();
    assert_eq!(error, ModuleError::TooManyFunctions(count));
}

fn leb128(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

#[test]
fn a_module_beyond_100_megabytes_is_refused() {
    let module = ModuleFile::new(b"\0asm\x01\0\0\0");
    let file = std::fs::OpenOptions::new().write(true).open(&module.path);
    file.unwrap().set_len(kiln_wasm::MAX_MODULE + 1).unwrap();
    let answer = Call::new("").on_all_engines(&module);
    assert!(
        answer.contains("the module is larger than 104857600 bytes"),
        "{answer}"
    );
}

/// Segments that are larger than the memory, or than its limit.
#[test]
fn huge_data_segments_are_failures() {
    let data = "x".repeat(1 << 20);
    let module = |pages: u32| {
        format!(
            r#"(module (memory (export "memory") {pages}) (data (i32.const 0) "{data}") (func (export "_start")))"#
        )
    };
    let small = ModuleFile::of_text(&module(1));
    let large = ModuleFile::of_text(&module(16));
    for engine in engines() {
        let evaluator = evaluator(engine);
        let answer = describe(Call::new("").run(&evaluator, &small.path));
        assert_eq!(answer, "-1||wasm trap: out of bounds memory access");
        let answer = describe(Call::new("").run(&evaluator, &large.path));
        assert_eq!(answer, "0||");
        let call = Call {
            limits: with_memory(512 << 10),
            ..Call::new("")
        };
        let answer = describe(call.run(&evaluator, &large.path));
        assert!(answer.starts_with("error: "), "{answer}");
    }
}

#[test]
fn truncated_modules_are_errors() {
    let whole = wat::parse_str(
        r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
             (memory (export "memory") 1) (table 3 funcref) (elem (i32.const 0) $f)
             (data (i32.const 0) "data") (func $f (export "_start") (call $exit (i32.const 4))))"#,
    )
    .unwrap();
    for length in 4..whole.len() {
        let module = ModuleFile::new(&whole[..length]);
        for engine in engines() {
            // Without its last sections, which hold data and names, a module may be whole.
            let ran = describe(Call::new("").run(&evaluator(engine), &module.path));
            let is_right = ran.starts_with("error: cannot run ") || ran == "4||";
            assert!(is_right, "{length} of {} bytes: {ran}", whole.len());
        }
    }
}

const ENDLESS: &str = r#"(module (memory (export "memory") 1)
    (func (export "_start") (loop $again (br $again))))"#;

#[test]
fn an_endless_loop_ends_at_the_deadline() {
    let call = Call {
        timeout: Duration::from_millis(50),
        ..Call::new("")
    };
    let answer = call.on_all_engines(&ModuleFile::of_text(ENDLESS));
    assert!(
        answer.starts_with("error: function did not finish within 50ms"),
        "{answer}"
    );
}

/// The time goes into calls of the host, not into instructions.
#[test]
fn calls_of_the_host_without_end_end_at_the_deadline() {
    let random = r#"(module
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (memory (export "memory") 16)
        (func (export "_start")
          (loop $again (drop (call $random (i32.const 0) (i32.const 1000000))) (br $again))))"#;
    let go_random = go_program(
        "runtime.getRandomData",
        "(i64.store (i32.const 1008) (i64.const 2048)) (i64.store (i32.const 1016) (i64.const 60000))
         (loop $again (call $import (i32.const 1000)) (br $again))",
    );
    for text in [random, &go_random] {
        let call = Call {
            timeout: Duration::from_millis(50),
            ..Call::new("")
        };
        let started = Instant::now();
        let answer = call.on_all_engines(&ModuleFile::of_text(text));
        assert!(
            answer.starts_with("error: function did not finish within 50ms"),
            "{answer}"
        );
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

/// The module that CI runs in the optimised program.
#[test]
fn a_long_loop_ends() {
    let bytes = include_bytes!("../long_loop.wasm");
    let text = include_str!("../long_loop.wat");
    assert_eq!(wat::parse_str(text).unwrap(), bytes);
    let answer = Call::new("input").on_all_engines(&ModuleFile::new(bytes));
    assert_eq!(answer, "0|input|");
}

#[test]
fn an_endless_loop_can_be_cancelled() {
    let module = ModuleFile::of_text(ENDLESS);
    for engine in engines() {
        let call = Call::new("");
        let cancel: CancelToken = call.cancel.clone();
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| call.run(&evaluator(engine), &module.path));
            cancel.cancel();
            running.join().unwrap()
        });
        assert_eq!(describe(ran), "error: function was interrupted");
    }
}

#[test]
fn recursion_without_end_is_a_trap() {
    let module = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1)
             (func $f (export "_start") (call $f) (call $f)))"#,
    );
    for engine in engines() {
        let ran = describe(Call::new("").run(&evaluator(engine), &module.path));
        assert!(ran.starts_with("-1||wasm trap: "), "{ran}");
        assert!(ran.contains("stack"), "{ran}");
    }
}

/// A recursive parser, for example. What fails on one engine and not on the other would fail at the first call only.
#[test]
fn deep_recursion_ends_on_every_engine() {
    for depth in [500, 1_000, 5_000, 10_000] {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                 (memory (export "memory") 1)
                 (func $depth (param $left i32) (result i32)
                   (if (result i32) (local.get $left)
                     (then (i32.add (i32.const 1) (call $depth (i32.sub (local.get $left) (i32.const 1)))))
                     (else (i32.const 0))))
                 (func (export "_start") (call $exit (call $depth (i32.const {depth})))))"#
        );
        let answer = Call::new("").on_all_engines(&ModuleFile::of_text(&text));
        assert_eq!(answer, format!("{depth}||"));
    }
}

fn with_memory(limit: u64) -> Limits {
    Limits {
        memory: Some(limit),
        ..Limits::default()
    }
}

#[test]
fn memory_is_limited() {
    // Grows until it cannot, then fails.
    let growing = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1)
             (func (export "_start")
               (loop $again
                 (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
               unreachable))"#,
    );
    let call = Call {
        limits: with_memory(10 << 20),
        ..Call::new("")
    };
    let expected = "error: function used more than 10485760 bytes of memory and was killed";
    assert_eq!(call.on_all_engines(&growing), expected);
    // Wants too much from the beginning.
    let large =
        ModuleFile::of_text(r#"(module (memory (export "memory") 1000) (func (export "_start")))"#);
    assert_eq!(call.on_all_engines(&large), expected);
    // Is refused more memory, and goes on without it.
    let modest = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1)
             (func (export "_start") (drop (memory.grow (i32.const 60000)))))"#,
    );
    assert_eq!(call.on_all_engines(&modest), "0||");
}

#[test]
fn tables_are_limited() {
    let module = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1) (table 1000000 funcref) (func (export "_start")))"#,
    );
    for engine in engines() {
        let ran = Call::new("").run(&evaluator(engine), &module.path);
        assert!(!ran.is_ok_and(|outcome| outcome.is_success()));
    }
}

#[test]
fn data_outside_of_the_memory_is_a_failure() {
    let module = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1) (data (i32.const 65530) "too long") (func (export "_start")))"#,
    );
    for engine in engines() {
        let ran = Call::new("").run(&evaluator(engine), &module.path);
        assert!(!ran.is_ok_and(|outcome| outcome.is_success()));
    }
}

/// A module with the interface of a Go program that calls one import in `run`.
fn go_program(import: &str, body: &str) -> String {
    format!(
        r#"(module (import "gojs" "{import}" (func $import (param i32)))
             (memory (export "mem") 1)
             (func (export "run") (param i32 i32) {body})
             (func (export "resume"))
             (func (export "getsp") (result i32) (i32.const 1000)))"#
    )
}

#[test]
fn go_programs_with_bad_pointers_are_failures() {
    for import in [
        "runtime.wasmExit",
        "runtime.wasmWrite",
        "runtime.getRandomData",
        "syscall/js.stringVal",
        "syscall/js.valueGet",
        "syscall/js.valueSet",
        "syscall/js.valueCall",
        "syscall/js.valueInvoke",
        "syscall/js.valueNew",
        "syscall/js.valueLoadString",
        "syscall/js.copyBytesToGo",
        "syscall/js.copyBytesToJS",
    ] {
        for pointer in ["65530", "-8", "65472"] {
            let text = go_program(import, &format!("(call $import (i32.const {pointer}))"));
            let answer = Call::new("").on_all_engines(&ModuleFile::of_text(&text));
            assert!(answer.starts_with("-1||wasm trap: "), "{import}: {answer}");
        }
    }
}

/// The host asks for the stack pointer after each call of a constructor.
#[test]
fn a_stack_pointer_that_needs_the_host_without_end_is_a_failure() {
    let text = r#"(module (import "gojs" "syscall/js.valueNew" (func $import (param i32)))
        (memory (export "mem") 1)
        (func (export "run") (param i32 i32) (call $import (i32.const 1000)))
        (func (export "resume"))
        (func (export "getsp") (result i32) (call $import (i32.const 1000)) (i32.const 1000)))"#;
    let answer = Call::new("").on_all_engines(&ModuleFile::of_text(text));
    assert_eq!(
        answer,
        "-1||wasm trap: calls between the module and the host are nested more than 48 deep"
    );
}

#[test]
fn a_go_program_that_registers_nothing_is_a_failure() {
    let text = go_program("debug", "");
    let answer = Call::new("").on_all_engines(&ModuleFile::of_text(&text));
    let expected = "-1||wasm trap: the module did not register the function processResourceList";
    assert_eq!(answer, expected);
    let text = go_program("runtime.wasmExit", "(call $import (i32.const 0))");
    let answer = Call::new("").on_all_engines(&ModuleFile::of_text(&text));
    assert_eq!(answer, "-1||wasm trap: the module ended without an answer");
}

#[test]
fn a_go_program_that_waits_for_timers_without_end_ends_at_the_deadline() {
    let text = r#"(module (import "gojs" "runtime.scheduleTimeoutEvent" (func $import (param i32)))
        (memory (export "mem") 1)
        (func (export "run") (param i32 i32) (call $import (i32.const 1000)))
        (func (export "resume") (call $import (i32.const 1000)))
        (func (export "getsp") (result i32) (i32.const 1000)))"#;
    let call = Call {
        timeout: Duration::from_millis(50),
        ..Call::new("")
    };
    let answer = call.on_all_engines(&ModuleFile::of_text(text));
    assert!(
        answer.starts_with("error: function did not finish within 50ms"),
        "{answer}"
    );
}
