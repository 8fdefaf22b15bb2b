//! Any bytes as a layer or an archive of an image: no panic, little memory, however little unpacks to how much.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kiln_fuzz::oci_layer(input));
