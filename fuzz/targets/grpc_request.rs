//! Any client of the service: every connection ends, memory is bounded, and other clients are served.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::grpc_request(input));
