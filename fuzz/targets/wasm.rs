//! Host functions of WebAssembly, called with any arguments: no panic, both interfaces, within the limits of the call.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::wasm(input));
