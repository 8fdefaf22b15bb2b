//! The example function in Rust, built for `wasm32-wasip1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Call, ModuleFile, skip};

const ITEM: &str =
    "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: more\n  data:\n    a: b\n";

/// The module; `None` if this machine has no standard library for the target.
fn module() -> Option<PathBuf> {
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let sysroot = String::from_utf8(sysroot.stdout).ok()?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/wasm32-wasip1/lib");
    if !library.exists() {
        skip("the target wasm32-wasip1 is not installed: rustup target add wasm32-wasip1");
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-module");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--release",
            "--target",
            "wasm32-wasip1",
            "-p",
            "wasm-function",
        ])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let message = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "cargo build: {message}");
    Some(target.join("wasm32-wasip1/release/wasm-function.wasm"))
}

#[test]
fn the_example_answers_the_same_on_all_engines() {
    let Some(path) = module() else {
        return;
    };
    let module = ModuleFile::new(&std::fs::read(path).unwrap());
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a # kept\n\
                functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data:\n    owner: shop\n";
    let answer = Call::new(list).on_all_engines(&module);
    assert!(answer.contains("name: a # kept\n"), "{answer}");
    assert!(
        answer.contains("annotations:\n      example.com/owner: 'shop'\n"),
        "{answer}"
    );
    // So long that the interpreter needs more fuel in many functions.
    let many = list.replace(
        "functionConfig",
        &format!("{}functionConfig", ITEM.repeat(500)),
    );
    let answer = Call::new(&many).on_all_engines(&module);
    assert!(answer.starts_with("0|"), "{answer}");
    assert_eq!(answer.matches("example.com/owner: 'shop'").count(), 501);
    let answer = Call::new("no: list\n").on_all_engines(&module);
    assert!(answer.starts_with("1||"), "{answer}");
}
