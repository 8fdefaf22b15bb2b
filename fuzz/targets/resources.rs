//! Any bytes as a file of a package and as the list between functions.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::resources(input));
