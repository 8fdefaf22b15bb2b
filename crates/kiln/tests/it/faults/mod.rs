//! Whatever happens to a command, the package has the old or the new state afterwards, and the message is right.
//!
//! The same change of a package is made by every command that writes to one. It changes two files, makes one in new
//! directories and deletes one, so that every kind of step is there to be interrupted.

mod concurrent;
mod disk;
mod functions;
mod kill;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::test_environment::{TestEnvironment, files};

pub(crate) type Files = BTreeMap<String, String>;

/// A command that changes a package, and the package.
pub(crate) struct Job {
    pub(crate) test_env: TestEnvironment,
    args: Vec<&'static str>,
    /// The directory that is written to.
    target: &'static str,
}

/// All commands that write to a package, or make one.
pub(crate) const VERBS: [&str; 6] = [
    "render",
    "render --lock",
    "eval",
    "eval --save",
    "run",
    "sink",
];

const KPTFILE: &str = "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: pkg # ours
pipeline:
  mutators:
    - exec: ./function
      selectors:
        - kind: ConfigMap
";

fn config_map(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value} # kept\n"
    )
}

/// A list as the function gives it back: three resources by the paths of their files.
fn answer() -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for (name, path) in [("a", "a.yaml"), ("c", "b/c.yaml"), ("f", "d/e/f.yaml")] {
        list.push_str(&format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n    annotations:\n      \
             config.kubernetes.io/index: '0'\n      config.kubernetes.io/path: {path}\n      \
             internal.config.kubernetes.io/index: '0'\n      internal.config.kubernetes.io/path: {path}\n  \
             data:\n    value: new\n"
        ));
    }
    list
}

impl Job {
    pub(crate) fn new(verb: &str) -> Job {
        let test_env = TestEnvironment::new();
        test_env.write("answer.yaml", &answer());
        let mut job = Job {
            test_env,
            args: match verb {
                "render" => vec!["fn", "render", "pkg", "--allow-exec"],
                "render --lock" => vec!["fn", "render", "pkg", "--allow-exec", "--lock"],
                "eval" => "fn eval pkg --exec ./function --match-kind ConfigMap"
                    .split(' ')
                    .collect(),
                "eval --save" => {
                    "fn eval pkg --exec ./function --match-kind ConfigMap --save --type validator"
                        .split(' ')
                        .collect()
                }
                "run" => "fn run pkg --enable-exec --exec-path ./function"
                    .split(' ')
                    .collect(),
                "sink" => vec!["fn", "sink", "out"],
                verb => panic!("no such verb: {verb}"),
            },
            target: "pkg",
        };
        job.function("cat > /dev/null; cat answer.yaml");
        match verb {
            "sink" => job.target = "out",
            _ => {
                let test_env = &job.test_env;
                let locked = "    - image: set-labels:v0.2.0\n      configMap:\n        tier: db\n";
                let kptfile = match verb {
                    "render --lock" => format!("{KPTFILE}{locked}"),
                    _ => KPTFILE.to_owned(),
                };
                test_env.write("pkg/Kptfile", &kptfile);
                test_env.write("pkg/a.yaml", &config_map("a", "old"));
                test_env.write("pkg/b/c.yaml", &config_map("c", "old"));
                test_env.write("pkg/gone.yaml", &config_map("gone", "old"));
                test_env.write("pkg/README.md", "Not a resource.\n");
            }
        }
        job
    }

    /// Replaces the function by another shell script, which runs in the directory that the package is in.
    pub(crate) fn function(&self, script: &str) {
        let script = format!("#!/bin/sh\n{script}\n");
        self.test_env.write_program("function", &script);
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.test_env.work().join(self.target)
    }

    /// Every file of the target, temporary ones too; nothing if it does not exist.
    pub(crate) fn files(&self) -> Files {
        match self.target().exists() {
            true => files(&self.target()),
            false => Files::new(),
        }
    }

    /// The words after the program's name.
    pub(crate) fn args(&self) -> &[&'static str] {
        &self.args
    }

    /// What is read from standard input.
    pub(crate) fn input(&self) -> String {
        match self.target {
            "out" => answer(),
            _ => String::new(),
        }
    }

    /// The command, ready to be started behind the words of another program.
    pub(crate) fn command_behind(&self, words: &[&str]) -> Command {
        let mut words = words.iter().chain(&["kiln"]).chain(&self.args);
        let program = words.next().expect("a program");
        let mut command = self.test_env.command(program, &self.test_env.work());
        let input = self.test_env.work().join("input");
        fs::write(&input, self.input()).expect("a file");
        command
            .args(words)
            .stdin(fs::File::open(input).expect("a file"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The target before and after an undisturbed run.
    pub(crate) fn states(verb: &str) -> (Files, Files) {
        let job = Job::new(verb);
        let old = job.files();
        let ran = job.test_env.kiln(job.args(), &job.input());
        assert_eq!(ran.code, Some(0), "{verb}: {}", ran.stderr);
        let new = job.files();
        assert!(old != new && new.contains_key("d/e/f.yaml"), "{new:#?}");
        assert!(!new.contains_key("gone.yaml"), "{new:#?}");
        assert_eq!(new.contains_key("kiln.lock"), verb == "render --lock");
        (old, new)
    }

    /// Lets the next command recover, and returns whether the target is the new one.
    #[track_caller]
    pub(crate) fn settle(&self, (old, new): &(Files, Files), what: &str) -> bool {
        if self.target().exists() {
            let ran = self.test_env.kiln(&["fn", "source", self.target], "");
            assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
        }
        let now = self.files();
        assert!(now == *old || now == *new, "mixed {what}: {now:#?}");
        now == *new
    }
}

/// The files without the render status in the Kptfile.
pub(crate) fn without_status(mut files: Files) -> Files {
    if let Some(kptfile) = files.get_mut("Kptfile")
        && let Some(at) = kptfile.find("status:\n")
    {
        kptfile.truncate(at);
    }
    files
}

/// Prints that a test is skipped.
pub(crate) fn skip(test: &str, reason: &str) {
    // Not eprintln!, which is hidden when the test passes.
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {reason}");
}
