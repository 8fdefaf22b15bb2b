//! Which modules are compiled. The compiler takes more time and memory than a function is large: 470 kB with 2,000 variables that
//! live across 30,000 branches take half a minute and 2 GB. Nothing stops it, so such functions are only interpreted.
//!
//! The largest functions of Go programs have 50 kB and 20 variables, those of interpreters in C some 100 kB and 500 variables.

use wasmparser::{FunctionBody, Parser, Payload};

use crate::engine::EngineError;

/// The largest function, in bytes.
const MAX_BYTES: u64 = 512 << 10;

/// The largest product of a function's bytes and its variables. At the limits one function takes two seconds and 300 MB.
const MAX_BYTES_BY_VARIABLES: u64 = 100_000_000;

/// Refuses modules that would take the compiler too long.
pub(super) fn check(module: &[u8]) -> Result<(), EngineError> {
    for (index, body) in bodies(module).enumerate() {
        let bytes = body.range().len() as u64;
        let variables = variables(&body);
        if bytes > MAX_BYTES || bytes.saturating_mul(variables) > MAX_BYTES_BY_VARIABLES {
            return Err(EngineError(format!(
                "function {index} of the module has {bytes} bytes and {variables} variables, which takes the compiler too much \
                 time and memory; use the interpreter"
            )));
        }
    }
    Ok(())
}

/// The functions of a module. What is invalid ends them; the compiler reports it.
fn bodies(module: &[u8]) -> impl Iterator<Item = FunctionBody<'_>> {
    let payloads = Parser::new(0).parse_all(module).map_while(Result::ok);
    payloads.filter_map(|payload| match payload {
        Payload::CodeSectionEntry(body) => Some(body),
        _ => None,
    })
}

fn variables(body: &FunctionBody<'_>) -> u64 {
    let Ok(locals) = body.get_locals_reader() else {
        return 0;
    };
    let counts = locals.into_iter().map_while(Result::ok);
    counts.map(|(count, _)| u64::from(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(variables: u32, instructions: usize) -> Result<(), EngineError> {
        let text = format!(
            "(module (func) (func {} {}))",
            "(local i32)".repeat(variables as usize),
            "nop ".repeat(instructions)
        );
        check(&wat::parse_str(text).expect("a module"))
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
}
