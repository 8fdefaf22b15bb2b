//! Any bytes: no panic, no endless loop, and a tree that can be walked and written.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::parse(input));
