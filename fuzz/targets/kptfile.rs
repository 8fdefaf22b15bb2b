//! Any bytes as a Kptfile: no panic, and what was read can be written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::kptfile(input));
