//! docs/catalog.md, generated from the table of functions.

use std::fmt::Write;

use kiln_functions::registry::Registry;

fn catalog() -> String {
    let mut out = String::from(
        "# Functions and versions that are built in\n\n\
         Generated from kiln's own table; a test fails when this file is stale\n\
         (`KILN_UPDATE=1 cargo test -p kiln catalog` updates it). Versions on one line behave alike.\n",
    );
    for info in Registry::builtin().functions() {
        let _ = write!(out, "\n## {}\n\n{}.", info.name, info.summary);
        if !info.former_names.is_empty() {
            let _ = write!(out, " Formerly {}.", info.former_names.join(", "));
        }
        out.push_str("\n\n");
        for version in info.versions {
            let tags: Vec<String> = version.tags.iter().map(|tag| format!("`{tag}`")).collect();
            let _ = writeln!(out, "- {}", tags.join(" "));
        }
        let _ = write!(out, "\n{}", info.doc);
    }
    out
}

#[test]
fn the_catalog_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/catalog.md");
    let made = catalog();
    if std::env::var_os("KILN_UPDATE").is_some() {
        std::fs::write(path, &made).expect("writes");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        made, kept,
        "docs/catalog.md is stale; set KILN_UPDATE=1 to write it"
    );
}
