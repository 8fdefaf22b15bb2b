//! `.expected/config.yaml`: what to run if a case has no command line, and the expected outcome.
//!
//! Unknown keys are ignored, as in the original runner: several cases rely on it.

use std::path::Path;

use anyhow::{Context, Result};
use kiln_yaml::{Document, NodeRef};

use super::case::read_yaml;

#[derive(Debug)]
pub(super) struct Config {
    /// `render`, `eval`, or for recorded cases their verb.
    pub(super) test_type: String,
    pub(super) exit_code: i32,
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
    pub(super) stderr_regex: Option<String>,
    pub(super) stderr_strip_lines: Vec<String>,
    pub(super) results_strip_lines: Vec<String>,
    pub(super) diff_strip_regex: Option<String>,
    pub(super) is_skipped: bool,
    pub(super) needs_wasm: bool,
    /// Flags between `kpt fn VERB DIR` and the arguments of the function.
    pub(super) flags: Vec<Flag>,
    /// `k=v` for the function, in the order of the file.
    pub(super) arguments: Vec<String>,
}

/// A flag of the command line under test.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Plain(String),
    /// A flag and a path relative to `.expected`.
    Path(&'static str, String),
}

impl Config {
    /// The content of a file, or the defaults if it does not exist.
    pub(super) fn read(path: &Path) -> Result<Config> {
        let document = match path.is_file() {
            true => read_yaml(path)?,
            false => None,
        };
        Config::of(&Keys(document.as_ref())).with_context(|| path.display().to_string())
    }

    /// The files that flags name, by their paths from `.expected`.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.flags.iter().filter_map(|flag| match flag {
            Flag::Plain(_) => None,
            Flag::Path(_, path) => Some(path.as_str()),
        })
    }

    fn of(keys: &Keys<'_>) -> Result<Config> {
        let test_type = keys.text("testType").unwrap_or_else(|| "render".to_owned());
        let exit_code = match keys.text("exitCode") {
            Some(code) => code.parse().context("exitCode")?,
            None => 0,
        };
        Ok(Config {
            exit_code,
            stdout: keys.text("stdOut"),
            stderr: keys.text("stdErr"),
            stderr_regex: keys.text("stdErrRegEx"),
            stderr_strip_lines: keys.list("stdErrStripLines"),
            results_strip_lines: keys.list("actualStripLines"),
            diff_strip_regex: keys.text("diffStripRegEx"),
            is_skipped: keys.flag("skip"),
            needs_wasm: keys.flag("allowWasm"),
            flags: flags(keys, &test_type),
            arguments: keys.pairs("args"),
            test_type,
        })
    }
}

/// The flags in the order of the original runner.
fn flags(keys: &Keys<'_>, test_type: &str) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut plain = |words: &[&str]| {
        flags.extend(words.iter().map(|word| Flag::Plain((*word).to_owned())));
    };
    if let Some(policy) = keys.text("imagePullPolicy") {
        plain(&["--image-pull-policy", &policy]);
    }
    if keys.flag("allowWasm") {
        plain(&["--allow-alpha-wasm"]);
    }
    if test_type == "render" {
        if keys.flag("allowExec") {
            plain(&["--allow-exec"]);
        }
        if keys.flag("disableOutputTruncate") {
            plain(&["--truncate-output=false"]);
        }
        return flags;
    }
    if keys.flag("network") {
        plain(&["--network"]);
    }
    if let Some(image) = keys.text("image") {
        plain(&["--image", &image]);
    } else if let Some(path) = keys.text("execPath") {
        flags.push(Flag::Path("--exec", path));
    }
    if let Some(tag) = keys.text("tag") {
        flags.extend(["--tag".to_owned(), tag].map(Flag::Plain));
    }
    if let Some(path) = keys.text("fnConfig") {
        flags.push(Flag::Path("--fn-config", path));
    }
    if keys.flag("includeMetaResources") {
        flags.push(Flag::Plain("--include-meta-resources".to_owned()));
    }
    flags
}

/// The keys of a document that may not be there.
struct Keys<'a>(Option<&'a Document>);

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<NodeRef<'_>> {
        self.0?.root().get(key)
    }

    fn text(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.value();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn flag(&self, key: &str) -> bool {
        self.text(key).is_some_and(|text| text == "true")
    }

    fn list(&self, key: &str) -> Vec<String> {
        let items = self.get(key).into_iter().flat_map(|list| list.items());
        items.map(|item| item.value().to_owned()).collect()
    }

    fn pairs(&self, key: &str) -> Vec<String> {
        let pairs = self.get(key).into_iter().flat_map(|map| map.entries());
        pairs
            .map(|(key, value)| format!("{}={}", key.value(), value.value()))
            .collect()
    }
}
