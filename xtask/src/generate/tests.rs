//! The checked-in code is the generated code.

use super::{DIRECTORY, protocol};
use crate::workspace_root;

#[test]
fn checked_in_code_is_what_the_definitions_give() {
    let root = workspace_root();
    let wanted = protocol(&root).expect("definitions that compile");
    assert!(wanted.contains_key("evaluator.rs"), "{:?}", wanted.keys());
    for (name, bytes) in wanted {
        let path = root.join(DIRECTORY).join(&name);
        let got = std::fs::read(&path).unwrap_or_default();
        assert!(
            got == bytes,
            "{name} is not what proto/ gives: cargo run -p xtask -- generate"
        );
    }
}
