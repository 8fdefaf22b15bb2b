//! Packages made up from a seed: from nothing, and from real ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::functions::{OriginalFunction, RandomStep};
use super::layout::{reformatted, with_comments};
use super::package::{Package, kptfile};
use super::resources::{ENTRIES, JSON, RESOURCES};
use crate::differential::Random;

/// Longer files make rendering slow and differences hard to read.
const MAX_FILE: u64 = 16 << 10;

/// What begins a Kptfile, up to its pipeline. `NAME` stands for the package's name.
const HEADS: &[&str] = &[
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: NAME\n",
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: NAME\n",
    "# Copyright 2026 The Authors\n\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: NAME # the name\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ninfo:\n  # what it is\n  description: >-\n    a package\n    of things\n  keywords: [a, \"b\"]\n",
];

pub(super) struct Generator {
    real: Vec<String>,
    functions: Vec<OriginalFunction>,
}

impl Generator {
    /// `packages` are directories whose YAML files are the real ones.
    pub(super) fn new(packages: &[PathBuf], functions: &[OriginalFunction]) -> Result<Generator> {
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
            head: random.pick(HEADS).replace("NAME", "pkg"),
            files: Default::default(),
            pipeline: Vec::new(),
        };
        for number in 0..1 + random.below(3) {
            let step = self.step(number, random);
            package.files.extend(step.file.clone());
            package.pipeline.push(step);
        }
        for number in 0..1 + random.below(4) {
            let directory = random.pick(&["sub/", "sub/deep/", "", "", "", ""]);
            let (name, text) = self.file(number, random);
            package.files.insert(format!("{directory}{name}"), text);
        }
        for directory in ["sub/", "sub/deep/"] {
            let is_used = package.files.keys().any(|path| path.starts_with(directory));
            if is_used && random.one_in(2) {
                self.add_sub_package(&mut package, directory, random);
            }
        }
        if random.one_in(40) {
            let ignored = random.pick(&["sub\n", "*.json\n", "# none\n/real-*.yaml\n"]);
            package
                .files
                .insert(".krmignore".to_owned(), ignored.to_owned());
        }
        package
    }

    fn step(&self, number: usize, random: &mut Random) -> RandomStep {
        let function = &self.functions[random.below(self.functions.len())];
        RandomStep::random(function, number, random)
    }

    fn file(&self, number: usize, random: &mut Random) -> (String, String) {
        match random.below(8) {
            0 => {
                let json = random.pick(JSON).replace("NAME", name(random));
                (format!("file-{number}.json"), json)
            }
            1 | 2 if !self.real.is_empty() => {
                let real = &self.real[random.below(self.real.len())];
                (format!("real-{number}.yaml"), mutated(real, random))
            }
            _ => {
                let end = random.pick(&["yaml", "yaml", "yaml", "yml"]);
                (format!("file-{number}.{end}"), resources(random))
            }
        }
    }

    /// A Kptfile below the root, with a pipeline of its own or without.
    fn add_sub_package(&self, package: &mut Package, directory: &str, random: &mut Random) {
        let mut steps = String::new();
        for number in 0..random.below(3) {
            let step = self.step(number, random);
            steps.push_str(&step.yaml());
            if let Some((path, text)) = step.file {
                package.files.insert(format!("{directory}{path}"), text);
            }
        }
        let head = random.pick(HEADS).replace("NAME", "sub");
        let path = format!("{directory}Kptfile");
        package.files.insert(path, kptfile(&head, &steps));
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

fn name(random: &mut Random) -> &'static str {
    random.pick(&["my-web", "web", "settings", "other", "db", "cache", "x1"])
}

/// Some resources in one file.
fn resources(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push_str(random.pick(&[
            "# Copyright 2026 The Authors\n#\n# Licensed under a licence.\n\n",
            "# Copyright 2026 The Authors\n# SPDX-License-Identifier: Apache-2.0\n",
            "# Copyright 2026 The Authors\n\n---\n",
            "\n\n# late\n\n",
        ]));
    }
    for number in 0..1 + random.below(3) {
        if number > 0 {
            text.push_str(random.pick(&[
                "---\n",
                "---\n",
                "--- # next\n",
                "\n---\n",
                "---\n# before\n",
                "---\n\n# apart\n\n",
                "---\n# nothing here\n---\n",
                "---\n---\n",
                "# last\n---\n",
                "...\n---\n",
                "---   \n",
            ]));
        }
        text.push_str(&resource(random));
        if random.one_in(5) {
            text.push_str(random.pick(&["# at the end\n", "\n# at the end\n", "\n\n"]));
        }
    }
    let text = with_comments(&text, random);
    reformatted(&text, random)
}

fn resource(random: &mut Random) -> String {
    let template = random.pick(RESOURCES);
    let mut text = template.replace("NAME", name(random));
    let maps = ["\ndata:\n", "\nspec:\n", "  annotations:\n", "  labels:\n"];
    for map in maps {
        // Only maps that stand at two columns take the entries; annotations stand deeper.
        let Some(place) = text.find(map).filter(|_| random.one_in(3)) else {
            continue;
        };
        let place = place + map.len();
        for _ in 0..1 + random.below(2) {
            let entry = random.pick(ENTRIES);
            let deeper = map.starts_with(' ');
            let entry = if deeper {
                entry.replace("\n  ", "\n    ")
            } else {
                (*entry).to_owned()
            };
            let entry = if deeper { format!("  {entry}") } else { entry };
            text.insert_str(place, &entry);
        }
    }
    text
}

/// A real file with a few lines changed.
fn mutated(real: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = real.lines().map(str::to_owned).collect();
    for _ in 0..random.below(5) {
        if lines.is_empty() {
            break;
        }
        let place = random.below(lines.len());
        let indent: String = lines[place].chars().take_while(|c| *c == ' ').collect();
        match random.below(8) {
            0 => lines.insert(place, format!("{indent}# new")),
            1 => lines.insert(place, String::new()),
            2 => drop(lines.remove(place)),
            3 => lines.extend(["---".to_owned(), "# another".to_owned()]),
            4 => lines.insert(place, format!("{indent}  # deeper")),
            5 => lines.insert(place, lines[place].clone()),
            6 => lines[place].push(' '),
            _ => lines[place].push_str("  # behind"),
        }
    }
    reformatted(&(lines.join("\n") + "\n"), random)
}
