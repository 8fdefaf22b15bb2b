//! Any text as the rules of a policy: it is refused or evaluated within bounds of time, memory and stack.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::rego(input));
