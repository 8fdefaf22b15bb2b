//! A case: a directory, what it runs, and the expected outcome.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kiln_yaml::{Document, NodeRef, parse};

use super::config::{Config, Flag};

/// The sub-directory that marks a case.
pub(super) const EXPECTED: &str = ".expected";
/// An expected file that only our own recorded cases have.
const ABOUT: &str = "about.txt";
/// The file at the top of a tree of cases with their command lines.
const COMMANDS: &str = "commands.yaml";

/// Files that cases need and that were not recorded.
const MISSING_INPUTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../conformance/missing-inputs.yaml"
);

#[derive(Debug)]
pub(super) struct Case {
    /// The directory of the tree that the case belongs to, and the case's path in it.
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) commands: Commands,
    pub(super) config: Config,
    pub(super) release: KptRelease,
    /// Files outside the copy that the case needs and that were not recorded, by name; written to match the expected outcome.
    pub(super) completions: Vec<(String, String)>,
}

/// The version of kpt that a case was recorded from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KptRelease {
    /// Today's kpt: compared byte by byte.
    Current,
    /// kpt v0.39: compared by value, because kiln does not imitate its encoder.
    Legacy,
}

/// Shell lines of a case.
#[derive(Default, Debug)]
pub(super) struct Commands {
    /// What to run in the copy instead of the configured command.
    pub(super) run: Option<String>,
    pub(super) setup: Option<String>,
    pub(super) teardown: Option<String>,
    /// Paths and contents of scripts.
    pub(super) executables: Vec<(String, String)>,
}

impl Case {
    /// The last component of the case's directory, which is the name of its copy.
    pub(super) fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Whether the complete output was recorded, and not just a part of it.
    pub(super) fn is_recorded_whole(&self) -> bool {
        self.commands.run.is_some() && self.expected(ABOUT).is_some()
    }

    /// Whether the case tests the engine: it pulls or tags images, or inspects a container.
    pub(super) fn is_about_engine(&self) -> bool {
        let passes_env = |run: &String| run.contains(" -e ");
        let sets_policy = |flag: &Flag| *flag == Flag::Plain("--image-pull-policy".to_owned());
        self.commands.setup.is_some()
            || self.commands.run.as_ref().is_some_and(passes_env)
            || self.config.flags.iter().any(sets_policy)
    }

    /// Whether the case runs an image without kpt.
    pub(super) fn calls_engine(&self) -> bool {
        let run = self.commands.run.as_deref().unwrap_or_default();
        run.starts_with("docker run ")
    }

    /// Number of runs, each on a fresh copy: kpt's own cases run as often as in kpt's runner, unless they end
    /// with a failure.
    pub(super) fn run_count(&self) -> usize {
        match self.expected(ABOUT).is_none() && self.config.exit_code == 0 {
            true => 2,
            false => 1,
        }
    }

    /// Whether the case is about a verb that has another meaning today.
    pub(super) fn is_of_older_verb(&self) -> bool {
        self.release == KptRelease::Legacy && self.config.test_type != "run"
    }

    /// Inputs of the case that were not recorded with it.
    pub(super) fn missing_input(&self) -> Option<String> {
        let entries = fs::read_dir(&self.dir).ok()?.flatten();
        let mut visible =
            entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        // A function can run without resources, but a package cannot be rendered without files.
        let needs_files = self.commands.run.is_none() && self.config.test_type == "render";
        if needs_files && visible.next().is_none() {
            return Some("the package".to_owned());
        }
        let outside = self
            .config
            .paths()
            .filter(|path| path.starts_with("../../"));
        let is_completed = |path: &str| {
            let mut completions = self.completions.iter();
            completions.any(|(name, _)| path.strip_prefix("../../") == Some(name))
        };
        let mut missing = outside
            .filter(|path| !is_completed(path) && !self.dir.join(EXPECTED).join(path).exists());
        missing.next().map(str::to_owned)
    }

    /// An expected file, trimmed; `None` if it does not exist.
    pub(super) fn expected(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.dir.join(EXPECTED).join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}

/// All cases at or below a directory, in the order of their names.
pub(super) fn find(dir: &Path) -> Result<Vec<Case>> {
    let dir = dir.canonicalize()?;
    let mut cases = Vec::new();
    let mut pending = vec![dir];
    while let Some(dir) = pending.pop() {
        if dir.join(EXPECTED).is_dir() {
            cases.push(load(dir)?);
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn load(dir: PathBuf) -> Result<Case> {
    let tree = dir
        .ancestors()
        .skip(1)
        .find(|above| above.join(COMMANDS).is_file());
    let top = tree.or(dir.parent()).unwrap_or(&dir);
    let key = slashed(dir.strip_prefix(top)?);
    let commands = match tree {
        Some(tree) => read_commands(&tree.join(COMMANDS), &key)?,
        None => Commands::default(),
    };
    let config = Config::read(&dir.join(EXPECTED).join("config.yaml"))?;
    let is_legacy = dir
        .components()
        .any(|part| part.as_os_str() == "legacy-run")
        || config.test_type == "run";
    let top = top.file_name().unwrap_or_default().to_string_lossy();
    Ok(Case {
        completions: completions(&dir)?,
        name: format!("{top}/{key}"),
        commands,
        config,
        release: match is_legacy {
            true => KptRelease::Legacy,
            false => KptRelease::Current,
        },
        dir,
    })
}

fn slashed(path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// The document of a YAML file; `None` if it has only comments.
pub(super) fn read_yaml(path: &Path) -> Result<Option<Document>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

/// The entry of `conformance/missing-inputs.yaml` for a case.
fn completions(dir: &Path) -> Result<Vec<(String, String)>> {
    let document = read_yaml(Path::new(MISSING_INPUTS))?;
    let root = document.as_ref().map(Document::root);
    let mut cases = root.into_iter().flat_map(|root| root.entries());
    let case = cases.find(|(case, _)| dir.ends_with(case.value()));
    let files = case.into_iter().flat_map(|(_, files)| files.entries());
    let text = |node: NodeRef<'_>| node.value().to_owned();
    Ok(files
        .map(|(name, content)| (text(name), text(content)))
        .collect())
}

fn read_commands(path: &Path, key: &str) -> Result<Commands> {
    let document = read_yaml(path)?;
    let mut commands = Commands::default();
    let root = document.as_ref().map(Document::root);
    let Some(case) = root.and_then(|root| root.get(key)) else {
        return Ok(commands);
    };
    for (key, value) in case.entries() {
        let lines: Vec<&str> = value.items().map(NodeRef::value).collect();
        let script = lines.join("\n");
        match (key.value(), key.value().strip_prefix("executable ")) {
            ("run", _) => commands.run = Some(script),
            ("setup", _) => commands.setup = Some(script),
            ("teardown", _) => commands.teardown = Some(script),
            (_, Some(name)) => commands
                .executables
                .push((name.to_owned(), format!("#!/bin/bash\n{script}\n"))),
            (other, None) => bail!("{}: unknown key {other:?}", path.display()),
        }
    }
    Ok(commands)
}
