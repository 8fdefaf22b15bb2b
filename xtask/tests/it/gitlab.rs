//! The CI/CD component of GitLab: its scripts, run by a shell as runners do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::clean_root::{find, skipped};
use crate::release::{Release, SMALL_KILN, built_kiln, own_triple, version};

/// The lines of a script of the component: those of its block, or the command of its only line.
fn script(component: &str, name: &str) -> String {
    let heading = format!("  {name}:");
    let lines = component
        .lines()
        .skip_while(|line| *line != heading)
        .skip(1);
    let lines = lines.take_while(|line| line.starts_with("    "));
    let lines = lines.map(|line| line.get(6..).unwrap_or_default());
    lines
        .filter(|line| *line != "|")
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The component, as a job of a project.
struct Job {
    work: TempDir,
    script: String,
    after_script: String,
}

impl Job {
    fn new() -> Job {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/kiln-render.yml");
        let component = fs::read_to_string(path).expect("a file");
        let [before, main, after_script] =
            ["before_script", "script", "after_script"].map(|name| script(&component, name));
        for script in [&before, &main, &after_script] {
            assert!(!script.is_empty(), "{component}");
        }
        let work = tempfile::tempdir().expect("a directory");
        fs::create_dir(work.path().join("project")).expect("a directory");
        Job {
            work,
            script: before + &main,
            after_script,
        }
    }

    fn project(&self) -> PathBuf {
        self.work.path().join("project")
    }

    /// Runs the job. Its last script has a shell of its own, and also runs after a failure.
    fn run(&self, arguments: &str, variables: &[(&str, &str)]) -> Output {
        let script = self.script.replace("$[[ inputs.args ]]", arguments);
        let output = self.shell(&script, variables);
        let after = self.shell(&self.after_script, variables);
        assert!(after.status.success(), "{after:?}");
        output
    }

    fn shell(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let job = self.work.path().join("job");
        Command::new("sh")
            .args(["-euc", script])
            .current_dir(self.project())
            .env("KILN_BIN", job.join("bin"))
            .env("KILN_REPORTS", job.join("reports"))
            .env("KILN_STORE", job.join("store"))
            .envs(variables.iter().copied())
            .output()
            .expect("sh")
    }
}

#[test]
fn the_component_installs_a_release_and_checks_a_package() {
    if find("curl").is_none() {
        return skipped("the component of GitLab", "curl is not installed");
    }
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    let job = Job::new();
    fs::create_dir_all(job.project().join(".kiln-store/blobs")).expect("a directory");
    let releases = format!("file://{}", release.releases().display());
    let run = |locked: &str| {
        let variables = [
            ("KILN_PACKAGE", "my app"),
            ("KILN_LOCKED", locked),
            ("KILN_VERSION", version()),
            ("KILN_RELEASES", &releases),
        ];
        let output = job.run("--quiet", &variables);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let directory = job.work.path().join("job/reports").display().to_string();
    let reports = ["junit.xml", "codequality.json", "html"]
        .map(|ending| format!("--report {directory}/kiln.{ending}"))
        .join(" ");
    let expected = format!("kiln fn render my app --check {reports} --quiet\n");
    assert_eq!(run("false"), expected);
    let expected = format!("kiln fn render my app --check --locked {reports} --quiet\n");
    assert_eq!(run("true"), expected);
    // The cache of the next job.
    assert!(job.project().join(".kiln-store/blobs").is_dir());
}

#[test]
fn the_component_checks_a_package_that_is_the_whole_project() {
    let kiln = match built_kiln() {
        Ok(kiln) => kiln,
        Err(reason) => return skipped("the component of GitLab with kiln", &reason),
    };
    let job = Job::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/catalog");
    let copied = Command::new("cp")
        .arg("-rT")
        .arg(example)
        .arg(job.project())
        .status();
    assert!(copied.expect("cp").success());
    let directory = kiln.parent().expect("a directory");
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{path}", directory.display());
    let variables = [
        ("PATH", path.as_str()),
        ("KILN_PACKAGE", "."),
        ("KILN_LOCKED", "false"),
        ("KILN_VERSION", ""),
    ];
    let output = job.run("", &variables);
    let message = String::from_utf8_lossy(&output.stderr);
    // The package is not rendered yet.
    assert_eq!(output.status.code(), Some(3), "{message}");
    for name in ["kiln.html", "kiln.junit.xml", "kiln.codequality.json"] {
        assert!(job.project().join(name).is_file(), "{name}: {message}");
    }
}
