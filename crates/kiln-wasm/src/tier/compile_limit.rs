//! Which modules are compiled. The compiler takes more time and memory than a function is large: 470 kB with 2,000 variables that
//! live across 30,000 branches take half a minute and 2 GB. Nothing stops it, so such functions are only interpreted, and so are
//! modules with many functions that almost are.
//!
//! The largest functions of Go programs have 50 kB and 20 variables, those of interpreters in C some 100 kB and 500 variables.

use wasmparser::{FunctionBody, Parser, Payload};

use crate::engine::EngineError;
use crate::engine::translation_cost::{TranslationCost, local_variables};

/// The largest function, in bytes.
const MAX_BYTES: u64 = 512 << 10;

/// The largest product of a function's bytes and its variables. At the limits one function takes two seconds and 300 MB.
const MAX_BYTES_BY_VARIABLES: u64 = 100_000_000;

/// The largest sum of these products in a module, besides as many variables as these for each of its bytes. Programs of Go have
/// some 15 for each byte, so that the sum grows with the module.
const MAX_SUM: u64 = 200_000_000;
const VARIABLES_PER_BYTE: u64 = 64;

/// The most values of branches, blocks and calls. Each is one more variable for the compiler.
const MAX_VALUES: u64 = 100_000;

/// Refuses modules that would take the compiler too long.
pub(super) fn check(module: &[u8], cost: TranslationCost) -> Result<(), EngineError> {
    if cost.values > MAX_VALUES {
        return Err(too_much(format!(
            "the module has {} values of branches, blocks and calls",
            cost.values
        )));
    }
    let limit = MAX_SUM + VARIABLES_PER_BYTE * module.len() as u64;
    let mut sum = 0_u64;
    for (index, body) in bodies(module).enumerate() {
        let bytes = body.range().len() as u64;
        let variables = local_variables(&body);
        let product = bytes.saturating_mul(variables);
        if bytes > MAX_BYTES || product > MAX_BYTES_BY_VARIABLES {
            return Err(too_much(format!(
                "function {index} of the module has {bytes} bytes and {variables} variables"
            )));
        }
        sum = sum.saturating_add(product);
        if sum > limit {
            return Err(too_much(
                "the module has many functions with many variables".to_owned(),
            ));
        }
    }
    Ok(())
}

fn too_much(what: String) -> EngineError {
    EngineError(format!(
        "{what}, which takes the compiler too much time and memory; use the interpreter"
    ))
}

/// The functions of a module. What is invalid ends them; the compiler reports it.
fn bodies(module: &[u8]) -> impl Iterator<Item = FunctionBody<'_>> {
    let payloads = Parser::new(0).parse_all(module).map_while(Result::ok);
    payloads.filter_map(|payload| match payload {
        Payload::CodeSectionEntry(body) => Some(body),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(functions: &str) -> Result<(), EngineError> {
        let text = format!("(module (func) {functions})");
        check(
            &wat::parse_str(text).expect("a module"),
            TranslationCost::default(),
        )
    }

    fn function(variables: u32, instructions: usize) -> String {
        format!(
            "(func {} {})",
            "(local i32)".repeat(variables as usize),
            "nop ".repeat(instructions)
        )
    }

    fn checked(variables: u32, instructions: usize) -> Result<(), EngineError> {
        module(&function(variables, instructions))
    }

    #[test]
    fn large_functions_are_not_compiled() {
        assert_eq!(checked(0, 500_000), Ok(()));
        assert_eq!(checked(1_000, 90_000), Ok(()));
        for (variables, instructions) in [(0, 600_000), (1_000, 110_000)] {
            let error = checked(variables, instructions).expect_err("too large");
            assert!(error.to_string().starts_with("function 1 of"), "{error}");
        }
    }

    #[test]
    fn many_functions_that_are_almost_too_large_are_not_compiled() {
        let large = function(40_000, 2_000);
        assert_eq!(module(&large.repeat(2)), Ok(()));
        let error = module(&large.repeat(4)).expect_err("too large");
        assert!(
            error.to_string().starts_with("the module has many"),
            "{error}"
        );
        // A larger module may have a larger sum.
        assert_eq!(module(&function(500, 10_000).repeat(45)), Ok(()));
    }

    #[test]
    fn blocks_with_many_values_are_not_compiled() {
        let error = check(b"", TranslationCost { values: 100_001 }).expect_err("too many");
        assert!(error.to_string().contains("100001 values"), "{error}");
    }
}
