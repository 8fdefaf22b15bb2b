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
}

#[test]
fn what_is_not_a_module_is_refused_by_its_first_bytes() {
    for (bytes, expected) in [
        (&b"#!/bin/sh\n"[..], "it is not a WebAssembly module"),
        (
            b"\0asm\x0d\0\x01\0",
            "it is a WebAssembly component, which is not supported; build the function as a module of WASI preview 1 (wasip1)",
        ),
        (
            b"\0asm\x01",
            "the module is incomplete: it ends in its first 8 bytes",
        ),
        (
            b"\0asm\x02\0\0\0",
            "it has version 2 of the WebAssembly format; only version 1 is supported",
        ),
        (
            b"\0asm\x01\0\x02\0",
            "it is WebAssembly of an unknown kind (2), neither a module nor a component",
        ),
    ] {
        let error = WasmModule::parse(bytes.to_vec().into()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn functions_with_another_type_are_refused() {
    check_refused(
        r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i64)))
             (memory (export "memory") 1) (func (export "_start")))"#,
        r#"the module imports the function "wasi_snapshot_preview1" "fd_write" with another type than (func (param i32 i32 i32 i32) (result i32))"#,
    );
    check_refused(
        r#"(module (memory (export "memory") 1) (func (export "_start") (param i32)))"#,
        r#"the module exports the function "_start" with another type than (func)"#,
    );
    check_refused(
        r#"(module (memory (export "mem") 1) (func (export "run") (param i32 i32)) (func (export "resume"))
             (func (export "getsp") (result i64) (i64.const 0)))"#,
        r#"the module exports the function "getsp" with another type than (func (result i32))"#,
    );
}

#[test]
fn a_call_of_nothing_is_a_trap() {
    let text = r#"(module (memory (export "memory") 1) (table 2 funcref)
        (func (export "_start") (call_indirect (i32.const 0))))"#;
    let answer = Call::new("").on_all_engines(&ModuleFile::of_text(text));
    assert_eq!(answer, "-1||wasm trap: uninitialized element");
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

/// A module with a section that consists of as many equal parts as it says.
fn many(section: u8, part: &[u8], count: u32) -> bytes::Bytes {
    // One type: a function without parameters and results.
    let mut bytes = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0".to_vec();
    let mut content = leb128(count);
    content.extend(part.repeat(count as usize));
    bytes.push(section);
    bytes.extend(leb128(content.len() as u32));
    bytes.extend(content);
    bytes.into()
}

#[test]
fn too_many_parts_are_refused_before_they_are_read() {
    for (what, section, part, limit) in [
        // All of type 0.
        ("functions", 3, &b"\0"[..], 200_000),
        // Functions of type 0 without a name.
        ("imports", 2, b"\0\0\0\0", 10_000),
        ("exports", 7, b"\0\0\0", 1_000_000),
        // Functions without parameters and results.
        ("types", 1, b"\x60\0\0", 200_000),
    ] {
        let count = limit + 1;
        let error = WasmModule::parse(many(section, part, count)).unwrap_err();
        let expected = match what {
            // With the first one.
            "types" => format!(
                "the module has {} types; at most {limit} are supported",
                count + 1
            ),
            _ => format!("the module has {count} {what}; at most {limit} are supported"),
        };
        assert_eq!(error.to_string(), expected);
        let error = WasmModule::parse(many(section, part, limit - 1)).unwrap_err();
        assert_eq!(error, ModuleError::NoInterface);
    }
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

/// The time goes into variables, which every call sets to zero.
#[test]
fn calls_of_functions_with_many_variables_end_at_the_deadline() {
    let text = format!(
        r#"(module (memory (export "memory") 1) (func $wide (local {}))
             (func (export "_start") (loop $again (call $wide) (br $again))))"#,
        "i64 ".repeat(30_000)
    );
    let call = Call {
        timeout: Duration::from_millis(50),
        ..Call::new("")
    };
    let answer = call.on_all_engines(&ModuleFile::of_text(&text));
    assert!(
        answer.starts_with("error: function did not finish within 50ms"),
        "{answer}"
    );
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
fn values_of_the_host_count_with_the_memory_of_the_module() {
    // 8 MB of memory, and a text of 4 MB.
    let text = go_program(
        "syscall/js.stringVal",
        "(drop (memory.grow (i32.const 120)))
         (i64.store (i32.const 1008) (i64.const 65536)) (i64.store (i32.const 1016) (i64.const 4000000))
         (call $import (i32.const 1000))",
    );
    let module = ModuleFile::of_text(&text);
    let with_limit = |limit| Call {
        limits: with_memory(limit),
        ..Call::new("")
    };
    assert_eq!(
        with_limit(10 << 20).on_all_engines(&module),
        "error: function used more than 10485760 bytes of memory and was killed"
    );
    assert_eq!(
        with_limit(20 << 20).on_all_engines(&module),
        "-1||wasm trap: the module did not register the function processResourceList"
    );
}

#[test]
fn tables_are_limited() {
    let module = |tables: &str| {
        format!(r#"(module (memory (export "memory") 1) {tables} (func (export "_start")))"#)
    };
    check_refused(
        &module("(table 200001 funcref)"),
        "the module has a table of 200001 elements; at most 200000 are supported",
    );
    check_refused(
        &module("(table 1 funcref) (table 1 funcref)"),
        "the module has 2 tables; at most 1 are supported",
    );
    let largest = ModuleFile::of_text(&module("(table 200000 funcref)"));
    assert_eq!(Call::new("").on_all_engines(&largest), "0||");
    let growing = ModuleFile::of_text(
        r#"(module (memory (export "memory") 1) (table $table 1 funcref)
             (func (export "_start")
               (br_if 0 (i32.eq (table.grow $table (ref.null func) (i32.const 200000)) (i32.const -1)))
               unreachable))"#,
    );
    assert_eq!(Call::new("").on_all_engines(&growing), "0||");
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
