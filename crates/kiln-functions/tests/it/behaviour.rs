//! A changed output needs a new behaviour number: identities, lock files and caches rely on it.
//!
//! `behaviour.txt` has a line for each version of each function: its identity and a hash of its outputs for all recorded
//! inputs of the function, whichever version they were recorded with, and for a plain input that every function gets. Functions
//! whose originals were not recorded have inputs of their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use kiln_functions::registry::{FunctionInfo, Registry};
use kiln_functions::wire::ProgramOutput;
use sha2::{Digest as _, Sha256};

use crate::behaviour_inputs::INPUTS;
use crate::recorded::{read, run};

const CORPORA: [&str; 9] = [
    include_str!("../recorded.jsonl"),
    include_str!("../recorded_annotate.jsonl"),
    include_str!("../recorded_cloud.jsonl"),
    include_str!("../recorded_fix.jsonl"),
    include_str!("../recorded_format.jsonl"),
    include_str!("../recorded_gcp.jsonl"),
    include_str!("../recorded_kustomize.jsonl"),
    include_str!("../recorded_kyaml.jsonl"),
    include_str!("../recorded_versions.jsonl"),
];

const PLAIN: &str = "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web # keep
    namespace: example
    annotations: {config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/path: web.yaml}
  spec:
    replicas: 3
    template:
      spec:
        containers:
        - name: web
          image: nginx:1.25
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
  data: {a: \"1\"}
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    namespace: other
    name: web
    newTag: 1.26
    a: b
";

#[test]
fn a_changed_output_has_a_new_behaviour_number() {
    let inputs = inputs();
    let mut lines = String::new();
    for info in Registry::builtin().all_functions() {
        let own: Vec<&str> = names(info)
            .filter_map(|name| inputs.get(name))
            .flatten()
            .map(String::as_str)
            .collect();
        for version in info.versions {
            let tag = version.tags.first().copied().unwrap_or_default();
            let mut hash = Sha256::new();
            for input in own.iter().copied().chain([PLAIN]) {
                let ProgramOutput {
                    stdout,
                    stderr,
                    exit_code,
                    // Part of the identity.
                    is_random: _,
                } = run(&format!("{}:{tag}", info.name), input);
                let output = format_args!(
                    "ProgramOutput {{ stdout: {stdout:?}, stderr: {stderr:?}, exit_code: {exit_code} }}"
                );
                hash.update(output.to_string());
            }
            let hex: String = hash
                .finalize()
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let identity = info.identity(tag).unwrap();
            writeln!(lines, "{identity} {hex}").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour.txt");
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("KILN_UPDATE").is_some() {
        refuse_same_number(&recorded, &lines);
        std::fs::write(&path, &lines).unwrap();
        return;
    }
    let changed: Vec<&str> = differing(&recorded, &lines);
    assert!(
        changed.is_empty(),
        "these outputs are not as in behaviour.txt: raise their behaviour numbers (FunctionVersion::with_behaviour), and set \
         KILN_UPDATE=1 to write the file:\n{}",
        changed.join("\n")
    );
}

/// The inputs by the name of their function.
fn inputs() -> BTreeMap<String, Vec<String>> {
    let mut inputs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for recorded in CORPORA.into_iter().flat_map(read) {
        let name = recorded.function.split(':').next().unwrap_or_default();
        inputs
            .entry(name.to_owned())
            .or_default()
            .push(recorded.input);
    }
    for (name, input) in INPUTS {
        let own = inputs.entry((*name).to_owned()).or_default();
        own.push((*input).to_owned());
    }
    inputs
}

/// A function that only gets the plain input may change unnoticed.
#[test]
fn every_listed_function_has_inputs_of_its_own() {
    let inputs = inputs();
    let without: Vec<&str> = Registry::builtin()
        .functions()
        .filter(|info| !names(info).any(|name| inputs.contains_key(name)))
        .map(|info| info.name)
        .collect();
    assert_eq!(without, [] as [&str; 0]);
}

fn names(info: &FunctionInfo) -> impl Iterator<Item = &str> {
    std::iter::once(info.name).chain(info.former_names.iter().copied())
}

/// The lines of either text that the other does not have.
fn differing<'a>(recorded: &'a str, now: &'a str) -> Vec<&'a str> {
    let missing = |from: &'a str, other: &'a str| {
        from.lines()
            .filter(move |line| !other.lines().any(|one| one == *line))
    };
    missing(recorded, now)
        .chain(missing(now, recorded))
        .collect()
}

/// The file is not updated to another output with the same identity.
fn refuse_same_number(recorded: &str, now: &str) {
    let identity = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let before: Vec<String> = recorded.lines().map(identity).collect();
    let changed = differing(recorded, now);
    let new = changed.iter().filter(|line| now.contains(**line));
    for line in new {
        let is_known = before.contains(&identity(line));
        assert!(!is_known, "{line}: raise the behaviour number first");
    }
}
