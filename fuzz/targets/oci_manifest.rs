//! Any bytes as a manifest, an index or a config of an image: no panic, little memory, and what was read can be written.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::oci_manifest(input));
