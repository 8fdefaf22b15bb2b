//! Parse, emit, parse: the same values and the same bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::roundtrip(input));
