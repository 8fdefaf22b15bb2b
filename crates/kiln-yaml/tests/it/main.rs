//! Tests of kiln-yaml through its public face, against answers recorded from kyaml.

mod edits;
mod equality;
mod fixtures;
mod input;
mod linear;
mod order;
mod pairs;
mod random_edits;
mod scalars;
mod visit;

/// A file without its `mod` line would never be run.
#[test]
fn no_file_is_forgotten() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(dir).expect("the tests are here") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".rs"));
        let name = name.expect("only Rust files");
        let line = format!("mod {name};\n");
        assert!(
            name == "main" || include_str!("main.rs").contains(&line),
            "{line}"
        );
    }
}
