//! The list of all parts of the programs, in CycloneDX's format, from cargo's own resolution.
//!
//! It has what the programs of the workspace link for a platform; crates that only tests and build scripts use are left out.
//! There is no time and no random number in it, so that equal sources give equal files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::target::{PROGRAMS, ReleaseTarget};

/// The parts of the programs for a platform.
pub(super) fn sbom(root: &Path, target: &ReleaseTarget, version: &str) -> Result<String> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--locked",
            "--format-version=1",
            "--filter-platform",
        ])
        .arg(target.triple())
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("cargo metadata failed: {}", message.trim());
    }
    let metadata = serde_json::from_slice(&output.stdout)?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let bom = cyclonedx(&metadata, &checksums(&lock)?, version)?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&bom)?))
}

/// The checksums of the lock file, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock).context("cannot read Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| {
        let value = package.get(key).and_then(toml::Value::as_str);
        value.map(str::to_owned)
    };
    let entry = |package| {
        let key = (text(package, "name")?, text(package, "version")?);
        Some((key, text(package, "checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(entry).collect())
}

pub(super) fn cyclonedx(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    version: &str,
) -> Result<Value> {
    let packages = by_id(&metadata["packages"])?;
    let edges = edges(&metadata["resolve"]["nodes"])?;
    let is_program = |package: &Value| {
        let is_own = package["source"].is_null();
        is_own && PROGRAMS.iter().any(|(name, _)| package["name"] == **name)
    };
    let programs = packages.iter().filter(|(_, package)| is_program(package));
    let programs: Vec<&str> = programs.map(|(id, _)| *id).collect();
    let mut seen: BTreeSet<&str> = programs.iter().copied().collect();
    let mut pending = programs.clone();
    while let Some(id) = pending.pop() {
        let below = edges.get(id).into_iter().flatten();
        pending.extend(below.filter(|below| seen.insert(below)));
    }
    let reference = |id: &str| packages.get(id).map(|package| purl(package));
    let mut components = Vec::new();
    let mut dependencies = BTreeMap::new();
    for id in &seen {
        let package = packages.get(id).context("a dependency is not a package")?;
        components.push(component(package, checksums, is_program(package)));
        let below = edges.get(id).into_iter().flatten();
        let below: BTreeSet<String> = below.filter_map(|id| reference(id)).collect();
        dependencies.insert(purl(package), below);
    }
    components.sort_by_key(|component| component["purl"].to_string());
    let own = format!("kiln-release@{version}");
    let programs: BTreeSet<String> = programs.iter().filter_map(|id| reference(id)).collect();
    dependencies.insert(own.clone(), programs);
    let dependencies: Vec<Value> = dependencies
        .into_iter()
        .map(|(reference, below)| json!({"ref": reference, "dependsOn": below}))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": own, "name": "kiln", "version": version},
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn by_id(packages: &Value) -> Result<BTreeMap<&str, &Value>> {
    let packages = packages
        .as_array()
        .context("the metadata has no packages")?;
    Ok(packages
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect())
}

/// What each package links.
fn edges(nodes: &Value) -> Result<BTreeMap<&str, Vec<&str>>> {
    let nodes = nodes.as_array().context("the metadata has no resolution")?;
    let linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let mut edges = BTreeMap::new();
    for node in nodes {
        let dependencies = node["deps"].as_array().into_iter().flatten();
        let below = dependencies
            .filter(linked)
            .filter_map(|dependency| dependency["pkg"].as_str());
        if let Some(id) = node["id"].as_str() {
            edges.insert(id, below.collect());
        }
    }
    Ok(edges)
}

fn component(
    package: &Value,
    checksums: &BTreeMap<(String, String), String>,
    is_program: bool,
) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let purl = purl(package);
    let kind = if is_program { "application" } else { "library" };
    let mut component = json!({
        "type": kind,
        "bom-ref": purl,
        "name": text("name"),
        "version": text("version"),
        "purl": purl,
    });
    if let Some(licence) = package["license"].as_str() {
        // An old spelling of OR.
        let expression = licence.replace('/', " OR ");
        component["licenses"] = json!([{"expression": expression}]);
    }
    if let Some(checksum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}
