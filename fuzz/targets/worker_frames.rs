//! Anything that a worker process sends: no panic, and memory for what has arrived only.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::worker_frames(input));
