//! A directory with git repositories for one test, and an engine with stand-in functions.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kiln_render::{Jobs, Silent, Tags};
use kiln_runtime::{
    CancelToken, Evaluator, FindError, Found, FunctionSpec, Input, Limits, Outcome, Output,
    RunContext, RunError, Runner, Target,
};
use kiln_task::git::{Atomicity, GitIdentity, GitOptions, GitProgram, RepositoryLocation};
use kiln_task::{
    Contents, Engine, NewRevision, PackageMetadata, PackageName, RenderSettings, Repositories,
    Repository, RepositoryConfig, RepositoryEvaluators, RevisionName, RunnerOptions, Task,
};

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    pub(crate) runners: FakeEvaluators,
}

/// Stand-in evaluators, which record the repositories they were requested for.
#[derive(Default)]
pub(crate) struct FakeEvaluators {
    pub(crate) requested: Mutex<Vec<RepositoryConfig>>,
    pub(crate) contexts: Arc<Mutex<Vec<RunContext>>>,
}

/// A fixture; `None` without git, with a message.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn fixture() -> Option<Fixture> {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no git on this machine");
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory can be made");
    let runners = FakeEvaluators::default();
    Some(Fixture { directory, runners })
}

impl Fixture {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), self.directory.path().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            // These must not reach git.
            ("GIT_DIR".into(), "/nonexistent".into()),
            ("GIT_AUTHOR_NAME".into(), "another".into()),
        ];
        environment.extend(std::env::var_os("PATH").map(|path| ("PATH".into(), path)));
        environment
    }

    /// Git as a person uses it; what it prints.
    #[track_caller]
    pub(crate) fn git(&self, repository: &str, arguments: &[&str]) -> String {
        let output = self.try_git(repository, arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("git prints text")
    }

    pub(crate) fn try_git(&self, repository: &str, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new("git");
        command.current_dir(self.path(repository)).args(arguments);
        let person = ["GIT_AUTHOR", "GIT_COMMITTER"];
        for role in person {
            command.env(format!("{role}_NAME"), "A Person");
            command.env(format!("{role}_EMAIL"), "person@example.com");
        }
        command.env("HOME", self.directory.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.output().expect("git can be started")
    }

    /// A bare repository with one commit on main.
    pub(crate) fn bare(&self, name: &str) -> RepositoryLocation {
        let path = self.empty_bare(name);
        let work = format!("{name}-work");
        self.git(
            "",
            &["clone", "--quiet", path.to_str().expect("text"), &work],
        );
        self.write(&work, "README", "hello\n");
        self.commit(&work, "Initial commit");
        self.git(&work, &["push", "--quiet", "origin", "HEAD:main"]);
        RepositoryLocation::Path(path)
    }

    pub(crate) fn empty_bare(&self, name: &str) -> PathBuf {
        self.git("", &["init", "--quiet", "--bare", "-b", "main", name]);
        self.path(name)
    }

    /// A repository with files checked out, and one commit on main.
    pub(crate) fn checked_out(&self, name: &str) -> RepositoryLocation {
        self.git("", &["init", "--quiet", "-b", "main", name]);
        self.write(name, "README", "hello\n");
        self.commit(name, "Initial commit");
        RepositoryLocation::Path(self.path(name))
    }

    pub(crate) fn write(&self, repository: &str, file: &str, text: &str) {
        let path = self.path(repository).join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }

    pub(crate) fn commit(&self, repository: &str, message: &str) -> String {
        self.git(repository, &["add", "--all"]);
        self.git(
            repository,
            &["commit", "--quiet", "--allow-empty", "-m", message],
        );
        self.git(repository, &["rev-parse", "HEAD"])
            .trim()
            .to_owned()
    }

    pub(crate) fn options(&self) -> GitOptions {
        GitOptions {
            program: self.git_program(Path::new("git")),
            cache: self.path("cache"),
            max_package_size: 1024 * 1024,
            max_files: 1000,
        }
    }

    pub(crate) fn git_program(&self, program: &Path) -> GitProgram {
        GitProgram::new(program, self.environment())
    }

    pub(crate) fn repositories(
        &self,
        configs: impl IntoIterator<Item = RepositoryConfig>,
    ) -> Repositories {
        Repositories::new(configs, self.options())
    }

    pub(crate) fn engine<'a>(&'a self, repositories: &'a Repositories) -> Engine<'a> {
        Engine {
            repositories,
            render: RenderSettings {
                runners: &self.runners,
                image_prefix: "",
                tags: &NoTags,
                allow_exec: false,
                overrides: RunnerOptions::default(),
                timeout: None,
                limits: Limits::default(),
                jobs: Jobs::ONE,
                attribution: false,
                cancel: CancelToken::default(),
                log: &Silent,
            },
            author: GitIdentity {
                name: "An Author".to_owned(),
                email: "author@example.com".to_owned(),
            },
            atomicity: Atomicity::Required,
        }
    }
}

pub(crate) fn url(path: &Path) -> RepositoryLocation {
    RepositoryLocation::Address(format!("file://{}", path.display()))
}

pub(crate) fn revision(repository: &str, path: &str, workspace: &str) -> RevisionName {
    PackageName::new(repository, path).revision(workspace)
}

pub(crate) fn new(
    repository: &str,
    path: &str,
    workspace: &str,
    task: Option<Task>,
) -> NewRevision {
    NewRevision {
        name: revision(repository, path, workspace),
        task,
        metadata: PackageMetadata::default(),
    }
}

pub(crate) fn text(contents: &Contents, path: &str) -> String {
    let bytes = contents.bytes(path).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// The files of a revision, and the commit they are from.
#[track_caller]
pub(crate) fn pull(engine: &Engine<'_>, name: &str) -> (Contents, String) {
    let located = engine.find(name).expect("the revision is there");
    let contents = located
        .repository
        .contents(&located.revision)
        .expect("it can be read");
    (contents, located.revision.commit.to_string())
}

/// Everything that refs say, to see that nothing has changed.
pub(crate) fn refs(fixture: &Fixture, repository: &str) -> String {
    fixture.git(
        repository,
        &["for-each-ref", "--format=%(refname) %(objectname)"],
    )
}

pub(crate) fn names(repository: &Repository) -> Vec<String> {
    let snapshot = repository.snapshot().expect("it can be read");
    let line = |revision: &kiln_task::git::Revision| {
        let latest = if revision.is_latest { " latest" } else { "" };
        format!(
            "{} {} {}{latest}",
            revision.name,
            revision.number.as_i64(),
            revision.lifecycle
        )
    };
    snapshot.revisions.iter().map(line).collect()
}

struct NoTags;

impl Tags for NoTags {
    fn of(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

impl RepositoryEvaluators for FakeEvaluators {
    fn evaluator(
        &self,
        repository: &RepositoryConfig,
    ) -> Result<Arc<dyn Evaluator>, Box<dyn Error + Send + Sync>> {
        self.requested
            .lock()
            .expect("not poisoned")
            .push(repository.clone());
        Ok(Arc::new(FakeEvaluator {
            endpoint: repository.runner.endpoint.clone().unwrap_or_default(),
            contexts: Arc::clone(&self.contexts),
        }))
    }
}

struct FakeEvaluator {
    endpoint: String,
    contexts: Arc<Mutex<Vec<RunContext>>>,
}

impl Evaluator for FakeEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match &function.target {
            Target::Image(name) | Target::Exec(name) => Ok(Found::blocking(FakeRunner {
                name: name.clone(),
                endpoint: self.endpoint.clone(),
                contexts: Arc::clone(&self.contexts),
            })),
            Target::Program(_) => Err(FindError::not_found(function)),
        }
    }
}

/// `blue` makes red things blue, `where` writes the address of the runner, `fail` fails, `error` reports an error and exits with 0.
struct FakeRunner {
    name: String,
    endpoint: String,
    contexts: Arc<Mutex<Vec<RunContext>>>,
}

impl Runner for FakeRunner {
    fn run(&self, input: &Input<'_>, context: &RunContext) -> Result<Outcome, RunError> {
        self.contexts
            .lock()
            .expect("not poisoned")
            .push(context.clone());
        let wire = input.wire();
        let name = self.name.rsplit('/').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        let (exit_code, output, stderr) = match name {
            "blue" => (0, wire.replace("color: red", "color: blue"), ""),
            "where" => (
                0,
                wire.replace("runner: none", &format!("runner: {}", self.endpoint)),
                "",
            ),
            "error" => (
                0,
                format!("{wire}results:\n- message: bad\n  severity: error\n"),
                "",
            ),
            _ => (
                3,
                format!("{wire}results:\n- message: very bad\n  severity: error\n"),
                "it broke\n",
            ),
        };
        Ok(Outcome {
            exit_code,
            signal: None,
            output: Output::Wire(output.into()),
            stderr: stderr.as_bytes().to_vec(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}
