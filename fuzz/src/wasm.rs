//! Modules that call host functions with arguments from the input.

use std::fmt::Write as _;
use std::time::Duration;

use kiln_krm::Dialect;
use kiln_runtime::{Deadline, Input, Limits, RunContext};
use kiln_wasm::{WasmEngine, WasmEvaluator, WasmInterface, WasmModule, WasmOptions};

use crate::bounded;

/// What a call may allocate: its memory, what the host holds for it, and the engine.
const MAX_BYTES: usize = 256 << 20;

/// How much of the input is the memory of the module.
const MEMORY: usize = 512;

/// Builds a module from the input and runs it.
pub fn wasm(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else {
        return;
    };
    let interface = match choice & 1 {
        0 => WasmInterface::Wasi1,
        _ => WasmInterface::GoJs,
    };
    let (memory, calls) = rest.split_at(rest.len().min(MEMORY));
    let text = module(interface, memory, calls);
    let bytes = wat::parse_str(&text).expect("the text is a module");
    let module = WasmModule::parse(bytes.into()).expect("the module has an interface");
    let evaluator = WasmEvaluator::new(WasmOptions {
        engine: WasmEngine::Interpreter,
        ..WasmOptions::default()
    });
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_secs(5)),
        limits: Limits {
            max_output: 1 << 20,
            memory: Some(16 << 20),
        },
        ..RunContext::default()
    };
    bounded::run(MAX_BYTES, || {
        let runner = evaluator.module("fuzz", module).into_runner();
        let input = Input::from_wire(Dialect::Current, "kind: ResourceList\n");
        // A failure is fine; a panic is reported as one of the host.
        if let Ok(outcome) = runner.run(&input, &ctx) {
            let stderr = outcome.stderr_text();
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    });
}

/// A module that makes the calls of the input in its first function, and again in each that the host calls.
fn module(interface: WasmInterface, memory: &[u8], calls: &[u8]) -> String {
    let mut text = String::from("(module\n");
    let imports: Vec<_> = interface.imports().collect();
    for (index, import) in imports.iter().enumerate() {
        let parameters: String = import.is_long.iter().map(|long| kind(*long)).collect();
        let result = if import.has_result {
            "(result i32)"
        } else {
            ""
        };
        let (module, name) = (import.module, import.name);
        let _ = writeln!(
            text,
            "(import {module:?} {name:?} (func $f{index} (param {parameters}) {result}))"
        );
    }
    let name = match interface {
        WasmInterface::Wasi1 => "memory",
        WasmInterface::GoJs => "mem",
    };
    let data: String = memory.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let _ = writeln!(
        text,
        "(memory (export {name:?}) 1) (data (i32.const 4096) \"{data}\")"
    );
    let _ = writeln!(text, "(func $calls");
    let mut calls = calls.iter().copied();
    while let Some(index) = calls.next() {
        let index = usize::from(index) % imports.len();
        let Some(import) = imports.get(index) else {
            continue;
        };
        let mut arguments = String::new();
        for long in &import.is_long {
            let mut bytes = [0; 2];
            bytes.fill_with(|| calls.next().unwrap_or(0));
            // Mostly addresses of the data, some far away.
            let argument = match u16::from_le_bytes(bytes) {
                small @ 0..0xf000 => i64::from(small % 4864),
                large => i64::from(large) - 0x1_0000,
            };
            let kind = kind(*long);
            let _ = write!(arguments, "({}.const {argument})", kind.trim());
        }
        let (open, close) = if import.has_result {
            ("(drop ", ")")
        } else {
            ("", "")
        };
        let _ = writeln!(text, "{open}(call $f{index} {arguments}){close}");
    }
    text.push_str(")\n");
    text.push_str(match interface {
        WasmInterface::Wasi1 => "(func (export \"_start\") (call $calls))",
        WasmInterface::GoJs => {
            "(func (export \"run\") (param i32 i32) (call $calls))
             (func (export \"resume\") (call $calls))
             (func (export \"getsp\") (result i32) (call $calls) (i32.const 4096))"
        }
    });
    text.push(')');
    text
}

fn kind(long: bool) -> &'static str {
    if long { "i64 " } else { "i32 " }
}
