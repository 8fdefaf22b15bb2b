//! The version of the workspace: files that cannot read the manifest repeat it.

use super::Violation;
use super::tree::{HELM_PLUGIN, Tree};

/// The files, and what precedes the version in a line of each.
const COPIES: [(&str, &str); 2] = [(HELM_PLUGIN, "version: "), ("README.md", "The version is ")];

/// Pages whose examples name the release.
const PAGES: [&str; 3] = ["docs/ci.md", "docs/gitops.md", "docs/install.md"];

pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    let Some(version) = workspace_version(tree) else {
        return;
    };
    for (path, before) in COPIES {
        let Some(text) = tree.files.get(path) else {
            continue;
        };
        let copy = text
            .lines()
            .enumerate()
            .find_map(|(index, line)| Some((index + 1, line.strip_prefix(before)?)));
        let Some((line, copy)) = copy else {
            let message = format!("no line begins with {before:?} and the version, {version}");
            violations.push(Violation::file(path, message));
            continue;
        };
        let copy = copy.split([',', ';', ' ']).next().unwrap_or_default();
        if copy != version {
            let message = format!("the version is {copy}, and {version} in Cargo.toml");
            violations.push(Violation::line(path, line, message));
        }
    }
    for path in PAGES {
        let lines = tree.files.get(path).map_or("", String::as_str).lines();
        for (index, line) in lines.enumerate() {
            for other in versions(line).filter(|found| *found != version) {
                let message = format!("the version is {other}, and {version} in Cargo.toml");
                violations.push(Violation::line(path, index + 1, message));
            }
        }
    }
}

/// The versions in a line, without those of functions. An address has four numbers.
fn versions(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(' ').filter(|word| !word.contains("kpt-fn/"));
    let numbers = words.flat_map(|word| word.split(|c: char| !c.is_ascii_digit() && c != '.'));
    let numbers = numbers.map(|number| number.trim_matches('.'));
    numbers.filter(|number| number.split('.').filter(|part| !part.is_empty()).count() == 3)
}

fn workspace_version(tree: &Tree) -> Option<String> {
    let manifest: toml::Table = tree.files.get("Cargo.toml")?.parse().ok()?;
    let package = manifest.get("workspace")?.get("package")?;
    package.get("version")?.as_str().map(str::to_owned)
}
