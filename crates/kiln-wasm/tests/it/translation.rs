//! Modules that are small and would take an engine very long, or very much memory, to translate.

use kiln_wasm::{StepListener, WasmEvaluator, WasmOptions, WasmStep};

use crate::support::{Call, ModuleFile, describe, engines};

/// A module whose `_start` has the instructions. It has the types `$results` and `$parameters` of blocks with as many values, and a
/// function `$wide` that has as many parameters and results.
fn module_text(values: usize, instructions: &str) -> String {
    let numbers = "i32 ".repeat(values);
    format!(
        r#"(module
             (type $results (func (result {numbers})))
             (type $parameters (func (param {numbers})))
             (type $both (func (param {numbers}) (result {numbers})))
             (memory (export "memory") 1) (table 1 funcref)
             (func $wide (type $both) unreachable)
             (func $return (type $results) unreachable {})
             (func (export "_start") {instructions}))"#,
        match instructions {
            "" => "return ".repeat(2_000),
            _ => String::new(),
        }
    )
}

#[track_caller]
fn check_refused(module: &ModuleFile, what: &str) {
    let answer = Call::new("").on_all_engines(module);
    assert!(
        answer.starts_with("error: cannot run fn.wasm: "),
        "{answer}"
    );
    assert!(answer.contains(what), "{answer}");
}

/// Each instruction has two or three bytes.
#[test]
fn instructions_that_pass_many_values_are_refused() {
    let many = |instruction: &str| format!("{instruction} ").repeat(2_000);
    let bodies = [
        format!(
            "(block (type $results) unreachable {}) unreachable",
            many("br_if 0")
        ),
        format!(
            "(block (type $results) unreachable {}) unreachable",
            many("br 0")
        ),
        format!(
            "(block (type $results) unreachable br_table {} 0) unreachable",
            many("0")
        ),
        format!(
            "unreachable (loop (type $parameters) unreachable {})",
            many("br_if 0")
        ),
        format!(
            "unreachable {}",
            many("block (type $parameters) unreachable end")
        ),
        format!(
            "unreachable {}",
            many("block (type $results) unreachable end")
        ),
        format!(
            "unreachable {}",
            many("if (type $results) unreachable else unreachable end")
        ),
        format!("unreachable {} unreachable", many("call $wide")),
        format!(
            "unreachable {} unreachable",
            many("call_indirect (type $both)")
        ),
        // In a function with results.
        String::new(),
    ];
    for body in bodies {
        let module = ModuleFile::of_text(&module_text(1_000, &body));
        check_refused(&module, "values of branches, blocks and calls");
    }
}

/// They are rare, not wrong.
#[test]
fn some_instructions_that_pass_many_values_run() {
    for (values, count) in [(1_000, 20), (16, 1_000), (2, 10_000)] {
        let push = "i32.const 7 ".repeat(values);
        let branch = "(br_if 0 (i32.const 0)) ".repeat(count);
        let drop = "drop ".repeat(values);
        let body = format!("(block (type $results) {push} {branch}) {drop}");
        let module = ModuleFile::of_text(&module_text(values, &body));
        assert_eq!(Call::new("").on_all_engines(&module), "0||");
    }
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn section(id: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = [&leb128(parts.len()), &parts.concat()[..]].concat();
    [&[id][..], &leb128(content.len()), &content].concat()
}

/// A module of functions with these bodies, the first of which is `_start`.
fn module_of(bodies: &[Vec<u8>]) -> ModuleFile {
    let sized: Vec<Vec<u8>> = bodies
        .iter()
        .map(|body| [leb128(body.len()), body.clone()].concat())
        .collect();
    let sized: Vec<&[u8]> = sized.iter().map(Vec::as_slice).collect();
    ModuleFile::new(
        &[
            b"\0asm\x01\0\0\0".to_vec(),
            // The type of all functions, which have no parameters and results.
            section(1, &[b"\x60\0\0"]),
            section(3, &vec![&b"\0"[..]; bodies.len()]),
            section(5, &[b"\0\x01"]),
            section(7, &[b"\x06memory\x02\0", b"\x06_start\0\0"]),
            section(10, &sized),
        ]
        .concat(),
    )
}

#[test]
fn huge_functions_are_refused() {
    let body = |instructions: usize| {
        let mut body = vec![0];
        body.resize(instructions + 1, 0x01);
        body.push(0x0b);
        body
    };
    let module = module_of(&[body(1), body(7_654_320)]);
    check_refused(
        &module,
        "function 1 of the module has 7654322 bytes; at most 7654321 are supported",
    );
}

/// Three bytes make 50,000 variables.
#[test]
fn many_variables_are_refused() {
    let empty = vec![0, 0x0b];
    let variables = [&[1][..], &leb128(50_000), &[0x7f, 0x0b]].concat();
    let module = |count: usize| {
        let mut bodies = vec![variables.clone(); count];
        bodies.insert(0, empty.clone());
        module_of(&bodies)
    };
    check_refused(&module(300), "local variables");
    assert_eq!(Call::new("").on_all_engines(&module(3)), "0||");
}

/// The interpreter would recurse over the expression until its stack is full, which ends the whole program.
#[test]
fn long_constant_expressions_are_refused() {
    let sum = |terms: usize| format!("i32.const 0 {}", "i32.const 1 i32.add ".repeat(terms));
    let module = |part: &str| {
        let text = format!(
            r#"(module (memory (export "memory") 1) (table 1 funcref) {part} (func $start (export "_start")))"#
        );
        ModuleFile::of_text(&text)
    };
    let long = sum(100_000);
    for part in [
        format!("(global i32 {long})"),
        format!(r#"(data (offset {long}) "")"#),
        format!("(elem (offset {long}) func)"),
    ] {
        check_refused(
            &module(&part),
            "a constant expression of the module has 300003 bytes",
        );
    }
    let short = module(&format!("(global i32 {})", sum(100)));
    assert_eq!(Call::new("").on_all_engines(&short), "0||");
}

#[test]
fn elements_that_no_table_can_hold_are_refused() {
    let functions = "$start ".repeat(1_000_001);
    let text = format!(
        r#"(module (memory (export "memory") 1) (elem func {functions}) (func $start (export "_start")))"#
    );
    check_refused(&ModuleFile::of_text(&text), "elements for tables");
}

/// An engine does not look at the clock while it translates; the call is late all the same.
#[test]
fn a_call_that_has_to_end_while_it_runs_has_no_answer() {
    let module =
        ModuleFile::of_text(r#"(module (memory (export "memory") 1) (func (export "_start")))"#);
    for engine in engines() {
        let call = Call::new("");
        let cancel = call.cancel.clone();
        let evaluator = WasmEvaluator::new(WasmOptions {
            engine,
            on_step: Some(StepListener::new(move |step, _| {
                if step == WasmStep::Instantiate {
                    cancel.cancel();
                }
            })),
            ..WasmOptions::default()
        });
        let ran = describe(call.run(&evaluator, &module.path));
        assert_eq!(ran, "error: function was interrupted");
    }
}
