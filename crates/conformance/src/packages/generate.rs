//! Random packages: generated ones, and mutated real ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::functions::{Function, Step};
use super::package::Package;
use crate::differential::Random;

/// Longer files make rendering slow and differences hard to read.
const MAX_FILE: u64 = 16 << 10;

pub(super) struct Generator {
    real: Vec<String>,
    functions: Vec<Function>,
}

impl Generator {
    /// `packages` are directories with real YAML files.
    pub(super) fn new(packages: &[PathBuf], functions: &[Function]) -> Result<Generator> {
        let mut real = Vec::new();
        for package in packages {
            collect(package, &mut real)
                .with_context(|| format!("cannot read {}", package.display()))?;
        }
        Ok(Generator {
            real,
            functions: functions.to_vec(),
        })
    }

    pub(super) fn package(&self, random: &mut Random) -> Package {
        let mut package = Package {
            files: Default::default(),
            pipeline: Vec::new(),
        };
        for number in 0..1 + random.below(3) {
            let function = &self.functions[random.below(self.functions.len())];
            let step = Step::random(function, number, random);
            package.files.extend(step.file.clone());
            package.pipeline.push(step);
        }
        for number in 0..1 + random.below(4) {
            let directory = match random.below(4) {
                0 => "sub/",
                1 => "sub/deep/",
                _ => "",
            };
            let (name, text) = match random.below(8) {
                0 => (format!("file-{number}.json"), json(random)),
                1 | 2 if !self.real.is_empty() => {
                    let real = &self.real[random.below(self.real.len())];
                    (format!("real-{number}.yaml"), mutated(real, random))
                }
                _ => (format!("file-{number}.yaml"), file(random)),
            };
            package.files.insert(format!("{directory}{name}"), text);
        }
        if package.files.keys().any(|path| path.starts_with("sub/")) && random.one_in(2) {
            let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";
            package
                .files
                .insert("sub/Kptfile".to_owned(), kptfile.to_owned());
        }
        package
    }
}

fn collect(path: &Path, real: &mut Vec<String>) -> Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, real)?;
        } else if name.ends_with(".yaml") && fs::metadata(&path)?.len() < MAX_FILE {
            real.extend(String::from_utf8(fs::read(&path)?).ok());
        }
    }
    Ok(())
}

/// Some resources in one file.
fn file(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push_str("# Copyright 2026 The Authors\n#\n# Licensed under a licence.\n\n");
    }
    for number in 0..1 + random.below(3) {
        if number > 0 {
            text.push_str(random.pick(&["---\n", "--- # next\n", "\n---\n", "---\n# before\n"]));
        }
        let template = RESOURCES[random.below(RESOURCES.len())];
        let name = random.pick(&["my-web", "web", "settings", "other"]);
        text.push_str(&template.replace("NAME", name));
        if random.one_in(5) {
            text.push_str("# at the end\n");
        }
    }
    let text = with_comments(&text, random);
    match random.below(8) {
        0 => text.replace('\n', "\r\n"),
        1 => text.trim_end().to_owned(),
        _ => text,
    }
}

/// A file with comments above and after lines, and blank lines.
fn with_comments(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut text_indent = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        // Inside a multi-line text, `#` does not begin a comment.
        if text_indent.is_some_and(|outer| indent > outer || line.trim().is_empty()) {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        text_indent = None;
        if random.one_in(12) {
            out.push_str(&format!("{}# above {number}\n", " ".repeat(indent)));
        }
        if random.one_in(25) && number > 0 {
            out.push('\n');
        }
        out.push_str(line);
        let is_text = line.ends_with(['|', '>', '-']) && line.contains(": ");
        if is_text {
            text_indent = Some(indent);
        } else if random.one_in(12)
            && !line.contains('#')
            && !line.starts_with("---")
            && !line.is_empty()
        {
            out.push_str(&format!("{}# behind {number}", random.pick(&[" ", "  "])));
        }
        out.push('\n');
    }
    out
}

/// A real file with a few lines changed.
fn mutated(real: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = real.lines().map(str::to_owned).collect();
    for _ in 0..random.below(4) {
        if lines.is_empty() {
            break;
        }
        let place = random.below(lines.len());
        let indent: String = lines[place].chars().take_while(|c| *c == ' ').collect();
        match random.below(5) {
            0 => lines.insert(place, format!("{indent}# new")),
            1 => lines.insert(place, String::new()),
            2 => drop(lines.remove(place)),
            3 => lines.extend(["---".to_owned(), "# another".to_owned()]),
            _ => lines[place].push_str("  # behind"),
        }
    }
    lines.join("\n") + "\n"
}

fn json(random: &mut Random) -> String {
    let name = random.pick(&["my-web", "settings"]);
    random
        .pick(&[
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"NAME\"}, \"data\": {\"mode\": \"on\"}}\n",
            "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\n    \"name\": \"NAME\",\n    \"annotations\": {\"owner\": \"x\"}\n  }\n}\n",
        ])
        .replace("NAME", name)
}

const RESOURCES: [&str; 7] = [
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: NAME\n  labels:\n    app: web\nspec:\n  replicas: 3 # kpt-set: ${replicas}\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: nginx # kpt-set: ${image}\n        args: [\"--a\", b]\n",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: NAME\n  namespace: old\n  annotations: {owner: someone}\nspec:\n  ports:\n    - port: 80\n      targetPort: http\n    - {port: 443, name: https}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n  annotations:\n    example.com/note: one\ndata:\n  mode: \"on\"\n  text: |\n    first\n      indented\n    # not a comment\n  folded: >-\n    some words\n    and more\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {app: web}}\ndata: {a: \"1\", b: 'two'}\n",
    "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: NAME\nspec:\n  common: &common\n    size: 1\n  copy: *common\n  envs: # kpt-set: ${env}\n  - dev\n  - test\n  empty: {}\n  nothing: null\n  number: 010\n",
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: old\n",
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: NAME\n  namespace: old\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: reader\nsubjects:\n- kind: ServiceAccount\n  name: default\n  namespace: old\n",
];
