//! Rules for manifests and the lock file.

use super::Violation;
use super::tree::{Crate, Tree};

/// The one crate with unsafe code. It cannot inherit lints that forbid it.
const UNSAFE: &str = "kiln-sandbox";

/// Checks one member's manifest.
pub(super) fn check(crate_: &Crate, tree: &Tree, violations: &mut Vec<Violation>) {
    let path = crate_.manifest_path();
    let manifest = &crate_.manifest;
    let mut wrong = |message: String| violations.push(Violation::file(&path, message));

    if crate_.name == UNSAFE {
        if lint(manifest, "rust", "unsafe_code") != Some("deny") {
            wrong("[lints.rust] unsafe_code = \"deny\" is missing".to_owned());
        }
    } else if !inherits_lints(manifest) {
        wrong("[lints] workspace = true is missing".to_owned());
    }
    if crate_.directory.rsplit('/').next() != Some(crate_.name.as_str()) {
        let message = format!("crate {} lives in a directory of another name", crate_.name);
        wrong(message);
    }
    let tests = format!("{}/tests", crate_.directory);
    let main = format!("{tests}/it/main.rs");
    let stray = tree
        .sources(&tests)
        .find(|(path, _)| !path.starts_with(&format!("{tests}/it/")));
    if let Some((stray, _)) = stray {
        wrong(format!(
            "{stray} is an integration binary of its own; tests go to tests/it"
        ));
    }
    if tree.sources(&tests).next().is_none() {
        return;
    }
    if package_bool(manifest, "autotests") != Some(false) {
        wrong("with tests/it, autotests = false is missing".to_owned());
    }
    if !tree.files.contains_key(&main) || !declares_test(manifest) {
        wrong("tests/it is never run: no [[test]] with path tests/it/main.rs".to_owned());
    }
}

fn inherits_lints(manifest: &toml::Table) -> bool {
    let workspace = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    workspace.and_then(toml::Value::as_bool) == Some(true)
}

fn lint<'a>(manifest: &'a toml::Table, tool: &str, name: &str) -> Option<&'a str> {
    manifest.get("lints")?.get(tool)?.get(name)?.as_str()
}

fn package_bool(manifest: &toml::Table, key: &str) -> Option<bool> {
    manifest.get("package")?.get(key)?.as_bool()
}

fn declares_test(manifest: &toml::Table) -> bool {
    let tests = manifest.get("test").and_then(toml::Value::as_array);
    let mut paths = tests
        .into_iter()
        .flatten()
        .filter_map(|test| test.get("path"));
    paths.any(|path| path.as_str() == Some("tests/it/main.rs"))
}

/// The lock file makes builds reproducible.
pub(super) fn check_lock(tree: &Tree, violations: &mut Vec<Violation>) {
    let tracked = tree
        .tracked
        .as_ref()
        .is_none_or(|tracked| tracked.contains("Cargo.lock"));
    if !tracked || !tree.files.contains_key("Cargo.lock") {
        violations.push(Violation::file("Cargo.lock", "must be in git"));
    }
}
