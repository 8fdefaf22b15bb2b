//! What the program prints about itself.

use std::process::Command;

use crate::wrapper_process::WRAPPER;

#[test]
fn the_version_is_printed() {
    let print = |arguments: &[&str]| {
        let output = Command::new(WRAPPER).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let version = env!("CARGO_PKG_VERSION");
    let text = print(&["version"]);
    let first = format!("wrapper-server {version}\ncommit: ");
    assert!(text.starts_with(&first), "{text}");
    assert!(text.contains("\ntarget: "), "{text}");
    assert_eq!(print(&["--version"]), text);
    let json = print(&["version", "-o", "json"]);
    let first = format!("{{\"program\":\"wrapper-server\",\"version\":\"{version}\",\"commit\":\"");
    assert!(json.starts_with(&first), "{json}");
}
