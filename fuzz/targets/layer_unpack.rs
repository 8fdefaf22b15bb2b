//! Any layers of an image: nothing outside of the root changes, no panic, and the limits hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::layer_unpack(input));
