//! A directory with an engine in it.

use std::fs;
use std::process::Command;
use std::time::Duration;

use kiln_container::{CommandStyle, ContainerEvaluator, ContainerOptions};
use kiln_krm::Dialect;
use kiln_runtime::{Deadline, Evaluator, FunctionSpec, Input, Outcome, RunContext, RunError};
use tempfile::TempDir;

/// A fake engine and the record of its calls.
pub(crate) struct FakeEngine {
    name: &'static str,
    directory: TempDir,
}

/// The beginning of every script: one line per call, words separated by `|`.
const RECORD: &str = r#"#!/bin/sh
here=${0%/*}
line=
for word; do line="$line|$word"; done
echo "${line#|}" >>"$here/calls"
"#;

/// The answer of an engine that is new enough.
pub(crate) const VERSION: &str = "if [ \"$1\" = version ]; then echo 28.1.0; exit 0; fi\n";

impl FakeEngine {
    /// An engine that runs `script`.
    pub(crate) fn new(name: &'static str, script: &str) -> FakeEngine {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let text = directory.path().join("text");
        fs::write(&text, format!("{RECORD}{script}")).unwrap();
        // Another process writes the executable: if we did, a child that another test starts at that moment could still
        // have it open when it is executed, which the system refuses.
        let mut install = Command::new("install");
        let installed = install.arg("-m755").arg(&text).arg(&path).status();
        assert!(installed.unwrap().success());
        FakeEngine { name, directory }
    }

    /// An evaluator that finds this engine only.
    pub(crate) fn evaluator(&self, style: CommandStyle) -> ContainerEvaluator {
        let here = self.directory.path().display();
        ContainerEvaluator::new(ContainerOptions {
            engine: self.name.to_owned(),
            search_path: format!("{here}:/usr/bin:/bin").into(),
            style,
            ..ContainerOptions::default()
        })
    }

    /// An evaluator of kiln's own that may use any engine, and finds no other.
    pub(crate) fn any_evaluator(&self) -> ContainerEvaluator {
        ContainerEvaluator::new(ContainerOptions {
            search_path: self.directory.path().into(),
            style: CommandStyle::Kiln,
            ..ContainerOptions::default()
        })
    }

    /// The recorded calls, each with its words separated by `|`.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory.path().join("calls"));
        calls
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// Runs an image on an empty list.
pub(crate) fn run(evaluator: &ContainerEvaluator, ctx: &RunContext) -> Result<Outcome, RunError> {
    let function = FunctionSpec::image("example.com/set-x:v1");
    let input = Input::new(Dialect::Current, &[], None);
    let found = evaluator.find(&function).ok().unwrap();
    found.into_runner().run(&input, ctx)
}

/// A deadline that tests which pass do not reach.
pub(crate) fn patient() -> RunContext {
    within(Duration::from_secs(60))
}

pub(crate) fn within(timeout: Duration) -> RunContext {
    RunContext {
        deadline: Deadline::after(timeout),
        ..RunContext::default()
    }
}
