//! Recorded cases of `kpt pkg`: scripts with repositories of fixed commits, command lines, and the files after them.
//!
//! A file of such cases begins with a line of scripts that make repositories. Every other line is a case with its steps: a script, or a
//! command line with its recorded exit code and streams. A case runs in an environment of its own; `$CASE` stands for its directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::{Deserialize, Serialize};
use similar::TextDiff;
use tempfile::TempDir;

use super::CaseTally;
use super::process::{self, Outcome};

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Repositories {
    repositories: BTreeMap<String, String>,
}

/// A case and its recording.
#[derive(Clone, Serialize, Deserialize)]
struct PkgCase {
    name: String,
    about: String,
    /// The name of the script that makes its repository; may be empty.
    repository: String,
    /// Why kiln differs from the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<String>,
    steps: Vec<PkgStep>,
    /// The files after the last step.
    tree: BTreeMap<String, TreeEntry>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum PkgStep {
    Script {
        sh: String,
    },
    Command {
        run: String,
        exit: i32,
        stdout: String,
        stderr: String,
    },
}

/// A file, a link, or an empty directory.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct TreeEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// All cases of a file; `None` if it has cases of another kind.
pub(super) struct PkgCases {
    repositories: Repositories,
    cases: Vec<PkgCase>,
}

impl PkgCases {
    pub(super) fn read(path: &Path) -> Result<Option<PkgCases>> {
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let Ok(repositories) = serde_json::from_str(first) else {
            return Ok(None);
        };
        let cases = lines.map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(Some(PkgCases {
            repositories,
            cases: cases.with_context(|| path.display().to_string())?,
        }))
    }

    /// Runs the cases and writes the differences to their recordings.
    pub(super) fn run(
        &self,
        bin: &Path,
        only: Option<&Regex>,
        out: &mut dyn Write,
    ) -> Result<CaseTally> {
        let mut tally = CaseTally::default();
        let is_kiln = bin.file_name().is_some_and(|name| name == "kiln");
        for case in &self.cases {
            if only.is_some_and(|only| !only.is_match(&case.name)) {
                continue;
            }
            let again = self.perform(case, bin)?;
            let problems = differences(case, &again);
            match (problems.is_empty(), case.gap.as_ref().filter(|_| is_kiln)) {
                (true, None) => tally.passed += 1,
                (false, Some(_)) => tally.skipped += 1,
                (true, Some(_)) => {
                    tally.failed += 1;
                    writeln!(out, "FAIL  {}\n  has a gap listed and passes\n", case.name)?;
                }
                (false, None) => {
                    tally.failed += 1;
                    writeln!(out, "FAIL  {}\n{}\n", case.name, problems.join("\n"))?;
                }
            }
        }
        Ok(tally)
    }

    /// Records all cases again, and writes the file.
    pub(super) fn record(&self, bin: &Path, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string(&self.repositories)? + "\n";
        for case in &self.cases {
            text += &serde_json::to_string(&self.perform(case, bin)?)?;
            text.push('\n');
        }
        Ok(fs::write(path, text)?)
    }

    /// The case with what happens now.
    fn perform(&self, case: &PkgCase, bin: &Path) -> Result<PkgCase> {
        let environment = PkgEnvironment::new(bin)?;
        if !case.repository.is_empty() {
            let script = self.repositories.repositories.get(&case.repository);
            let script = script.with_context(|| format!("no repository {:?}", case.repository))?;
            environment
                .script(script, "r")
                .with_context(|| case.name.clone())?;
        }
        let mut again = case.clone();
        for step in &mut again.steps {
            match step {
                PkgStep::Script { sh } => environment
                    .script(sh, "w")
                    .with_context(|| case.name.clone())?,
                PkgStep::Command {
                    run,
                    exit,
                    stdout,
                    stderr,
                } => {
                    let outcome = environment.run(run, "w")?;
                    *exit = outcome.code.unwrap_or(-1);
                    *stdout = environment.cleaned(&outcome.stdout)?;
                    *stderr = environment.cleaned(&outcome.stderr)?;
                }
            }
        }
        again.tree = environment.tree()?;
        Ok(again)
    }
}

fn differences(recorded: &PkgCase, again: &PkgCase) -> Vec<String> {
    let mut problems = Vec::new();
    for (wanted, got) in recorded.steps.iter().zip(&again.steps) {
        let (
            PkgStep::Command {
                run,
                exit,
                stdout,
                stderr,
            },
            PkgStep::Command {
                exit: now,
                stdout: out_now,
                stderr: err_now,
                ..
            },
        ) = (wanted, got)
        else {
            continue;
        };
        if exit != now {
            problems.push(format!("  $ {run}: exit code {now}, wanted {exit}"));
        }
        for (name, wanted, got) in [("stdout", stdout, out_now), ("stderr", stderr, err_now)] {
            if wanted != got {
                problems.push(format!("  $ {run}: {name}\n{}", diff(wanted, got)));
            }
        }
    }
    let paths = recorded.tree.keys().chain(again.tree.keys());
    let paths: std::collections::BTreeSet<&String> = paths.collect();
    for path in paths {
        let (wanted, got) = (recorded.tree.get(path), again.tree.get(path));
        if wanted == got {
            continue;
        }
        let text = |entry: Option<&TreeEntry>| match entry {
            Some(entry) => format!(
                "mode {:?} link {:?}\n{}",
                entry.mode,
                entry.link,
                entry.text.clone().unwrap_or_default()
            ),
            None => String::new(),
        };
        problems.push(format!("  {path}:\n{}", diff(&text(wanted), &text(got))));
    }
    problems
}

fn diff(wanted: &str, got: &str) -> String {
    TextDiff::from_lines(wanted, got)
        .unified_diff()
        .header("wanted", "got")
        .to_string()
}

/// The directories and the environment of one run.
struct PkgEnvironment {
    base: TempDir,
}

impl PkgEnvironment {
    fn new(bin: &Path) -> Result<PkgEnvironment> {
        let base = tempfile::Builder::new().prefix("kiln-pkg-").tempdir()?;
        for name in ["home", "tmp", "w", "r", "bin", "scratch"] {
            fs::create_dir(base.path().join(name))?;
        }
        symlink(bin.canonicalize()?, base.path().join("bin/kpt"))?;
        Ok(PkgEnvironment { base })
    }

    fn path(&self) -> &Path {
        self.base.path()
    }

    /// Runs a script that must succeed.
    fn script(&self, script: &str, directory: &str) -> Result<()> {
        let outcome = self.run(&format!("set -e\n{script}"), directory)?;
        match outcome.code {
            Some(0) => Ok(()),
            code => bail!("a script ended with {code:?}: {}", outcome.stderr),
        }
    }

    fn run(&self, line: &str, directory: &str) -> Result<Outcome> {
        let path = std::env::var("PATH").unwrap_or_default();
        let here = self.path().display();
        let date = "2026-01-02T03:04:05Z";
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("umask 022\n{line}")])
            .current_dir(self.path().join(directory))
            .env_clear()
            .env("PATH", format!("{here}/bin:{path}"))
            .env("CASE", self.path())
            .env("HOME", self.path().join("home"))
            .env("TMPDIR", self.path().join("tmp"))
            .env("KPT_CACHE_DIR", self.path().join("cache"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "a")
                .env(format!("GIT_{role}_EMAIL"), "a@example.com")
                .env(format!("GIT_{role}_DATE"), date);
        }
        Ok(process::run(&mut command, &self.path().join("scratch"))?)
    }

    /// A text without what differs from run to run.
    fn cleaned(&self, text: &str) -> Result<String> {
        let text = text.replace(&self.path().display().to_string(), "$CASE");
        let text = Regex::new(r" in [0-9.]+(m|µ)?s\b")?.replace_all(&text, " in TIME");
        let text = Regex::new("(kpt-|tmp/)[0-9]+")?.replace_all(&text, "${1}N");
        Ok(text.into_owned())
    }

    /// The files that the steps have left.
    fn tree(&self) -> Result<BTreeMap<String, TreeEntry>> {
        let top = self.path().join("w");
        let here = self.path().display().to_string();
        let mut tree = BTreeMap::new();
        let mut pending = vec![top.clone()];
        while let Some(directory) = pending.pop() {
            let mut is_empty = true;
            for entry in fs::read_dir(&directory)? {
                let path = entry?.path();
                is_empty = false;
                if path.file_name().is_some_and(|name| name == ".git") {
                    continue;
                }
                let metadata = path.symlink_metadata()?;
                let name = path.strip_prefix(&top)?.display().to_string();
                if metadata.is_dir() {
                    pending.push(path);
                } else if metadata.is_symlink() {
                    let target = fs::read_link(&path)?.display().to_string();
                    let link = Some(target.replace(&here, "$CASE"));
                    tree.insert(
                        name,
                        TreeEntry {
                            link,
                            ..TreeEntry::default()
                        },
                    );
                } else {
                    let text = String::from_utf8_lossy(&fs::read(&path)?).replace(&here, "$CASE");
                    let entry = TreeEntry {
                        link: None,
                        mode: Some(format!("{:04o}", metadata.permissions().mode() & 0o7777)),
                        text: Some(text),
                    };
                    tree.insert(name, entry);
                }
            }
            if is_empty && directory != top {
                let name = directory.strip_prefix(&top)?.display();
                tree.insert(format!("{name}/"), TreeEntry::default());
            }
        }
        Ok(tree)
    }
}
