//! Passes the target, and if the sources are in git the commit and its date, to the compiler.
//!
//! `KILN_COMMIT` and `KILN_BUILD_DATE` in the environment take precedence. Sources outside of a repository, such as those of an
//! archive, have neither. Nor have builds without optimisation, which would be compiled again after every commit.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=KILN_TARGET={target}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_repository = is_release && is_repository(&root);
    if is_repository {
        watch(&root);
    }
    let values: [(&str, &[&str]); 2] = [
        ("KILN_COMMIT", &["rev-parse", "HEAD"]),
        ("KILN_BUILD_DATE", &["log", "-1", "--format=%cs"]),
    ];
    for (name, arguments) in values {
        println!("cargo::rerun-if-env-changed={name}");
        let given = env::var(name).ok().filter(|value| !value.is_empty());
        let found = given.or_else(|| git(&root, arguments).filter(|_| is_repository));
        if let Some(value) = found {
            println!("cargo::rustc-env={name}={value}");
        }
    }
}

/// Whether the sources are a repository themselves, and not files in one of another project.
fn is_repository(root: &Path) -> bool {
    let top = git(root, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    match (top.map(|top| top.canonicalize()), root.canonicalize()) {
        (Some(Ok(top)), Ok(root)) => top == root,
        _ => false,
    }
}

/// Runs the script again when another commit is checked out. Missing files would make it run every time.
fn watch(root: &Path) {
    let branch = git(root, &["symbolic-ref", "-q", "HEAD"]);
    let names = ["HEAD", "logs/HEAD", "packed-refs"];
    for name in names.into_iter().chain(branch.as_deref()) {
        let path = git(root, &["rev-parse", "--git-path", name]);
        let path = path.map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// What git prints; `None` if it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
