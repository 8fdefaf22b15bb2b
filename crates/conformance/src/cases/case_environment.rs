//! A separate environment for each run: an empty home, a cleared environment, the program under test on the path as `kpt`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::case::{Case, EXPECTED, KptRelease};
use super::config::Flag;
use super::container_calls::{Call, noted};
use super::engine::FAKES;
use super::process::{self, Outcome};
use super::{Catalog, Mode, Suite};

/// The program under test, and its container engine.
pub(super) struct Subject {
    bin: PathBuf,
    fake_docker: Option<PathBuf>,
    catalog: Catalog,
    pub(super) mode: Mode,
}

impl Subject {
    pub(super) fn new(suite: &Suite<'_>) -> Result<Subject> {
        let absolute = |path: &Path| {
            path.canonicalize()
                .with_context(|| path.display().to_string())
        };
        Ok(Subject {
            bin: absolute(suite.bin)?,
            fake_docker: suite.fake_docker.map(absolute).transpose()?,
            catalog: suite.catalog,
            mode: suite.mode,
        })
    }

    /// Whether the program is kiln, by its name.
    pub(super) fn is_kiln(&self) -> bool {
        self.bin.file_name().is_some_and(|name| name == "kiln")
    }

    /// Whether the engine runs the images of a case that kiln could run itself.
    fn leaves_images_to_engine(&self, case: &Case) -> bool {
        self.is_kiln() && (self.catalog == Catalog::Engine || case.is_about_engine())
    }

    /// Whether a real engine was given.
    pub(super) fn has_engine(&self) -> bool {
        self.fake_docker.is_some()
    }
}

/// The environment of one case.
pub(super) struct CaseEnvironment {
    base: TempDir,
    /// The directory of copies and results; it is removed from messages.
    top: PathBuf,
    copy: PathBuf,
    compat: &'static str,
}

const GIT: [&str; 10] = [
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@example.com",
    "-c",
    "core.abbrev=7",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "init.defaultBranch=main",
];

impl CaseEnvironment {
    /// A fresh copy of a case, committed.
    pub(super) fn new(case: &Case, subject: &Subject) -> Result<CaseEnvironment> {
        let base = TempDir::new().context("cannot create a temporary directory")?;
        // The name in the original runner; output must not depend on it.
        let top = base.path().canonicalize()?.join("kpt-pipeline-e2e-1");
        for dir in ["home", "bin", "elsewhere"] {
            fs::create_dir(base.path().join(dir))?;
        }
        fs::create_dir(&top)?;
        let bin = base.path().join("bin");
        let fakes = Path::new(FAKES);
        symlink(&subject.bin, bin.join("kpt.real"))?;
        symlink(fakes.join("kpt"), bin.join("kpt"))?;
        if subject.leaves_images_to_engine(case) {
            fs::write(bin.join("kpt.no-native"), "")?;
        }
        let docker = match &subject.fake_docker {
            // kiln stands for the engine itself.
            _ if subject.is_kiln() && case.calls_engine() => subject.bin.clone(),
            Some(docker) => docker.clone(),
            None => fakes.join("docker"),
        };
        symlink(docker, bin.join("docker"))?;
        let environment = CaseEnvironment {
            copy: top.join(case.base_name()),
            compat: match (subject.mode, case.release) {
                (Mode::Default, _) => "kiln",
                (Mode::Recorded, KptRelease::Current) => "kpt",
                (Mode::Recorded, KptRelease::Legacy) => "kpt-v0.39",
            },
            base,
            top,
        };
        environment.copy_case(case, &environment.copy)?;
        for (path, content) in &case.completions {
            fs::write(environment.top.join(path), content)?;
        }
        environment.link_testdata(case)?;
        environment.git(&["init", "-q", "."])?;
        environment.git(&["add", "-Af"])?;
        environment.git(&["commit", "-q", "--allow-empty", "-m", "first"])?;
        Ok(environment)
    }

    /// Functions of kpt's own cases have program paths relative to the directory of its tests.
    fn link_testdata(&self, case: &Case) -> Result<()> {
        let Some((_, path)) = case.name.split_once("/kpt/") else {
            return Ok(());
        };
        let link = self.elsewhere().join("testdata").join(path);
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(symlink(&self.copy, link)?)
    }

    /// The copy for the case.
    pub(super) fn copy(&self) -> &Path {
        &self.copy
    }

    /// Writes the case's files and scripts to a new directory.
    pub(super) fn copy_case(&self, case: &Case, to: &Path) -> Result<()> {
        let status = Command::new("cp").arg("-a").args([&case.dir, to]).status();
        if !status.context("cannot run cp")?.success() {
            bail!("cannot copy {}", case.dir.display());
        }
        for (name, script) in &case.commands.executables {
            let path = to.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            write_executable(&path, script)?;
        }
        Ok(())
    }

    /// Runs the command of the case.
    pub(super) fn run(&self, case: &Case) -> Result<Outcome> {
        match &case.commands.run {
            Some(script) => self.shell(script),
            None => {
                let kpt = self.base.path().join("bin/kpt");
                let mut command = self.command(&kpt, &self.elsewhere());
                command.args(["fn", &case.config.test_type]).arg(&self.copy);
                if case.expected("results.yaml").is_some() {
                    command.arg("--results-dir").arg(self.results_dir());
                }
                if case.dir.join("out").is_dir() {
                    command.arg("-o").arg(self.copy.join("out"));
                }
                for flag in &case.config.flags {
                    match flag {
                        Flag::Plain(word) => command.arg(word),
                        Flag::Path(flag, path) => {
                            command.arg(flag).arg(self.named_file(case, path))
                        }
                    };
                }
                if !case.config.arguments.is_empty() {
                    command.arg("--").args(&case.config.arguments);
                }
                Ok(process::run(&mut command, self.base.path())?)
            }
        }
    }

    /// A file by its path from `.expected`: that of the case, as in the original runner, or that of the copy, with the case's
    /// scripts.
    fn named_file(&self, case: &Case, path: &str) -> PathBuf {
        let original = case.dir.join(EXPECTED).join(path);
        let copied = self.copy.join(EXPECTED).join(path);
        match (original.canonicalize(), copied.canonicalize()) {
            (Ok(found), _) | (Err(_), Ok(found)) => found,
            (Err(_), Err(_)) => original,
        }
    }

    /// Runs shell lines in the copy, with `pipefail`, as in the scripts of the originals.
    pub(super) fn shell(&self, script: &str) -> Result<Outcome> {
        let mut command = self.command(Path::new("bash"), &self.copy);
        Ok(process::run(
            command.args(["-o", "pipefail", "-c", script]),
            self.base.path(),
        )?)
    }

    /// All changes in the copy, from `git diff`.
    pub(super) fn diff(&self) -> Result<String> {
        self.git(&["add", "-Af"])?;
        self.git(&["diff", "--cached", "HEAD"])
    }

    /// The written results, whatever the name of the file; `None` without a results directory.
    pub(super) fn results(&self) -> Result<Option<String>> {
        let Ok(entries) = fs::read_dir(self.results_dir()) else {
            return Ok(None);
        };
        let mut all = String::new();
        for entry in entries {
            all.push_str(&String::from_utf8_lossy(&fs::read(entry?.path())?));
        }
        Ok(Some(all))
    }

    /// The requested images that the engine could not get.
    pub(super) fn missing_images(&self) -> String {
        fs::read_to_string(self.base.path().join("bin/docker.images")).unwrap_or_default()
    }

    /// The calls of the program under test and of the engine since the copy was prepared.
    pub(super) fn calls(&self) -> [Vec<Call>; 2] {
        ["bin/kpt.calls", "bin/docker.calls"].map(|path| noted(&self.base.path().join(path)))
    }

    /// Prepares the copy. Calls of the engine meanwhile do not count.
    pub(super) fn prepare(&self, script: &str) -> Result<()> {
        // It prepares images; if that fails, the following steps show whether it matters.
        self.shell(script)?;
        for noted in ["bin/docker.calls", "bin/docker.images"] {
            let _ = fs::remove_file(self.base.path().join(noted));
        }
        Ok(())
    }

    /// A text without the directory of this environment.
    pub(super) fn without_directory(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.top.display()), "")
    }

    /// The directory of copies and results.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// A directory outside the copy.
    fn elsewhere(&self) -> PathBuf {
        self.base.path().join("elsewhere")
    }

    fn results_dir(&self) -> PathBuf {
        self.top.join("results")
    }

    /// Runs git in the copy and returns its output.
    fn git(&self, args: &[&str]) -> Result<String> {
        git(&mut self.command(Path::new("git"), &self.copy), args)
    }

    /// Applies a patch in a directory outside of any repository.
    pub(super) fn apply_patch(&self, dir: &Path, patch: &Path) -> Result<()> {
        let mut command = self.command(Path::new("git"), dir);
        command.arg("apply").arg(patch);
        git(&mut command, &[]).map(|_| ())
    }

    fn command(&self, program: &Path, dir: &Path) -> Command {
        let base = self.base.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", format!("{}:{path}", base.join("bin").display()))
            .env("HOME", base.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // No proxy listens there: the current content of registries is not part of a case.
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .env("KILN_COMPAT", self.compat);
        command
    }
}

fn git(command: &mut Command, args: &[&str]) -> Result<String> {
    if !args.is_empty() {
        command.args(GIT).args(args);
    }
    let output = command.output().context("cannot run git")?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn write_executable(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
