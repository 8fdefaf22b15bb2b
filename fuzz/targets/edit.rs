//! Edits of any tree: no panic, and what was set is there.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::edit(input));
