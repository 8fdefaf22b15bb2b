//! Native functions on any configuration and any items: no panic, and memory within the limits of the call.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::native(input));
