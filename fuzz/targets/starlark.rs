//! Any bytes as a Starlark program: no panic, and time and memory within the limits of the run.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::starlark(input));
