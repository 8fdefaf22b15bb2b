//! Where revisions are: the repositories that are registered, and the one that is given or around the current directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kiln_render::Log;
use kiln_task::git::{
    Atomicity, DEFAULT_LARGEST_PACKAGE, DEFAULT_MOST_FILES, DEFAULT_PATIENCE, GitOptions,
    GitProgram, Identity, Location, Revision, Snapshot,
};
use kiln_task::image::RegistryImages;
use kiln_task::{AccessError, Engine, Repositories, Repository, RepositoryConfig, RevisionName};

use super::rendering::Rendering;
use crate::commands::function::running::go_time;
use crate::commands::registries::registry_options;
use crate::commands::repo::registry::Registry;
use crate::environment::{
    GIT_AUTHOR_EMAIL, GIT_AUTHOR_NAME, HOME, KILN_GIT_TIMEOUT, XDG_CACHE_HOME,
};
use crate::ui::{Details, Failed, Ui};

/// Flags of every verb that say where revisions are.
#[derive(Args, Debug, Default)]
pub(super) struct PlaceArgs {
    /// A git repository: its path, its address or the name it is registered by. If not given: those that are registered, and
    /// the one around the current directory
    #[arg(long, value_name = "PATH|URL|NAME")]
    repo: Option<String>,
    /// Only repositories that were registered for this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// Flags of every verb that changes something.
#[derive(Args, Debug, Default)]
pub(super) struct ChangeArgs {
    #[command(flatten)]
    pub(super) place: PlaceArgs,
    /// Change references one after the other in a repository that cannot change several at once
    #[arg(long)]
    no_atomic: bool,
}

/// The repositories of a command.
pub(super) struct Session {
    pub(super) repositories: Repositories,
    /// Those that are listed.
    shown: Vec<String>,
    /// The namespace they were asked for by.
    namespace: Option<String>,
    atomicity: Atomicity,
}

impl PlaceArgs {
    /// The namespace that is meant.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }

    pub(super) fn open(&self) -> Result<Session> {
        self.open_with(Atomicity::Required)
    }

    fn open_with(&self, atomicity: Atomicity) -> Result<Session> {
        let mut configs = Registry::read()?.into_configs();
        let is_wanted = |config: &&RepositoryConfig| match &self.namespace {
            Some(namespace) => config.namespace == *namespace,
            None => true,
        };
        let mut shown: Vec<String> = configs
            .iter()
            .filter(is_wanted)
            .map(|config| config.name.clone())
            .collect();
        if let Some(repo) = &self.repo {
            let name = given(repo, &mut configs)?;
            shown = vec![name];
        } else if let Some(root) = std::env::current_dir().ok().and_then(|dir| root_of(&dir)) {
            let name = add(Location::Path(root), &mut configs);
            let config = configs.iter().find(|config| config.name == name);
            if config.as_ref().is_some_and(is_wanted) && !shown.contains(&name) {
                shown.push(name);
            }
        }
        shown.sort();
        Ok(Session {
            repositories: Repositories::new(configs, git_options()?),
            shown,
            namespace: self.namespace.clone(),
            atomicity,
        })
    }
}

impl ChangeArgs {
    pub(super) fn open(&self) -> Result<Session> {
        let atomicity = match self.no_atomic {
            true => Atomicity::NotRequired,
            false => Atomicity::Required,
        };
        self.place.open_with(atomicity)
    }
}

impl Session {
    /// What does things to revisions.
    pub(super) fn engine<'a>(&'a self, rendering: &'a Rendering, log: &'a dyn Log) -> Engine<'a> {
        Engine {
            repositories: &self.repositories,
            render: rendering.settings(log),
            author: author(),
            atomicity: self.atomicity,
        }
    }

    /// The same with packages in images, fetched with Docker's credentials.
    pub(super) fn with_images(self) -> Result<Session> {
        let images = RegistryImages::new(registry_options()?, DEFAULT_LARGEST_PACKAGE)?;
        Ok(Session {
            repositories: self.repositories.with_images(Arc::new(images)),
            ..self
        })
    }

    /// The repositories that are listed, with what they hold.
    pub(super) fn snapshots(&self, ui: &Ui) -> Result<Vec<(Arc<Repository>, Snapshot)>> {
        // A namespace may well be empty; that there is nothing at all is worth a word.
        if self.shown.is_empty() && self.namespace.is_none() {
            return Err(no_repository());
        }
        self.read(ui, &self.shown)
    }

    /// All repositories, with what they hold.
    pub(super) fn all_snapshots(&self, ui: &Ui) -> Result<Vec<(Arc<Repository>, Snapshot)>> {
        let configs = self.repositories.configs();
        let names: Vec<String> = configs.map(|config| config.name.clone()).collect();
        self.read(ui, &names)
    }

    /// A repository that cannot be read does not keep us from the others.
    fn read(&self, ui: &Ui, names: &[String]) -> Result<Vec<(Arc<Repository>, Snapshot)>> {
        let mut read = Vec::new();
        for name in names {
            let snapshot = || -> Result<_> {
                let repository = self.repositories.get(name)?;
                let snapshot = repository.snapshot()?;
                Ok((repository, snapshot))
            };
            match snapshot().with_context(|| format!("repository {name}")) {
                Ok(one) => read.push(one),
                Err(error) if names.len() == 1 => return Err(error),
                Err(error) => ui.warn(&format!("{error:#}")),
            }
        }
        Ok(read)
    }

    /// A revision by its whole name.
    pub(super) fn find(&self, name: &str) -> Result<(Arc<Repository>, Revision)> {
        let unknown = || not_found(AccessError::NotFound(name.to_owned()).into(), self);
        let repository = RevisionName::repository_of(name).ok_or_else(unknown)?;
        let repository = self.repositories.get(repository);
        let repository = repository.map_err(|error| not_found(error.into(), self))?;
        let snapshot = repository.snapshot()?;
        let revision = snapshot.find(name).cloned().ok_or_else(unknown)?;
        Ok((repository, revision))
    }

    /// Says that there is nothing to list.
    pub(super) fn say_nothing_found(&self, ui: &Ui) {
        match &self.namespace {
            Some(namespace) => ui.say(&format!("No resources found in {namespace} namespace.")),
            None => ui.say("No resources found."),
        }
    }

    /// The name of the repository that is meant if it is not said: the only one that is listed.
    pub(super) fn only_repository(&self) -> Option<&str> {
        match &self.shown[..] {
            [name] => Some(name),
            _ => None,
        }
    }
}

/// Who looks for a revision in a repository that nobody knows gets to know which there are.
fn not_found(error: anyhow::Error, session: &Session) -> anyhow::Error {
    let names: Vec<&str> = session.shown.iter().map(String::as_str).collect();
    let hint = match &names[..] {
        [] => return no_repository(),
        names => format!(
            "repositories: {}; `kiln rpkg get` lists their revisions",
            names.join(", ")
        ),
    };
    Failed {
        message: Some(format!("error: {error:#}")),
        details: Details {
            hint: Some(hint),
            ..Details::default()
        },
    }
    .into()
}

fn no_repository() -> anyhow::Error {
    Failed {
        message: Some("error: there is no repository".to_owned()),
        details: Details {
            hint: Some(
                "run this inside of a git repository, give one with --repo, or `kiln repo register` one"
                    .to_owned(),
            ),
            ..Details::default()
        },
    }
    .into()
}

/// Finds or adds the repository that the user has given; its name.
fn given(repo: &str, configs: &mut Vec<RepositoryConfig>) -> Result<String> {
    if configs.iter().any(|config| config.name == repo) {
        return Ok(repo.to_owned());
    }
    Ok(add(location(repo)?, configs))
}

/// What a path or an address means. As with git, what is there is a path, even with a colon in its name.
pub(crate) fn location(repo: &str) -> Result<Location> {
    if is_address(repo) && !Path::new(repo).exists() {
        return Ok(Location::Address(repo.to_owned()));
    }
    let path = std::path::absolute(repo)?;
    match root_of(&path) {
        Some(root) => Ok(Location::Path(root)),
        None if path.exists() => bail!("{} is not in a git repository", path.display()),
        None => Err(anyhow!("there is no repository {repo:?}")),
    }
}

/// `https://…`, `ssh://…`, `file://…` and git's own `user@host:path`.
fn is_address(repo: &str) -> bool {
    let before_slash = repo.split('/').next().unwrap_or_default();
    repo.contains("://") || before_slash.contains(':')
}

fn add(location: Location, configs: &mut Vec<RepositoryConfig>) -> String {
    let same = configs.iter().find(|config| config.location == location);
    if let Some(same) = same {
        return same.name.clone();
    }
    let base = name_of(&location);
    let mut name = base.clone();
    let mut number = 2;
    while configs.iter().any(|config| config.name == name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    let mut config = RepositoryConfig::new(&name, location);
    if let Location::Path(root) = &config.location
        && let Some(branch) = usual_branch(root)
    {
        config.branch = branch;
    }
    configs.push(config);
    name
}

/// A repository is named after the last part of its place, in letters that names may have.
pub(crate) fn name_of(location: &Location) -> String {
    let text = match location {
        Location::Path(path) => path.display().to_string(),
        Location::Address(address) => address.clone(),
    };
    let text = text.trim_end_matches('/');
    let text = text.strip_suffix("/.git").unwrap_or(text);
    let last = text.rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let allowed = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-') => c,
        _ => '-',
    };
    let name: String = last.chars().map(allowed).collect();
    match name.trim_matches('-') {
        "" => "repository".to_owned(),
        name => name.chars().take(63).collect(),
    }
}

/// The directory of the repository that a directory is in.
fn root_of(directory: &Path) -> Option<PathBuf> {
    let is_bare = |path: &Path| {
        path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
    };
    let directory = std::fs::canonicalize(directory).ok()?;
    let found = directory
        .ancestors()
        .find(|path| path.join(".git").exists() || is_bare(path))?;
    Some(found.to_owned())
}

/// `main`, or the branch that the repository calls its own if there is no such.
fn usual_branch(root: &Path) -> Option<String> {
    let git = match root.join(".git") {
        inner if inner.is_dir() => inner,
        _ => root.to_owned(),
    };
    let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    let has_main = git.join("refs/heads/main").exists()
        || packed
            .lines()
            .any(|line| line.ends_with(" refs/heads/main"));
    if has_main {
        return None;
    }
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.to_owned())
}

/// How git is run, and where copies of other machines' repositories are.
pub(crate) fn git_options() -> Result<GitOptions> {
    let home = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let cache = match (home(XDG_CACHE_HOME), home(HOME)) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => std::env::temp_dir(),
    };
    let patience = match std::env::var(KILN_GIT_TIMEOUT) {
        Ok(text) if !text.is_empty() => {
            go_time(&text).map_err(|error| anyhow!("{KILN_GIT_TIMEOUT}: {error}"))?
        }
        _ => DEFAULT_PATIENCE,
    };
    let program = GitProgram::new("git", std::env::vars_os());
    Ok(GitOptions {
        program: program.with_patience(Some(patience).filter(|patience| !patience.is_zero())),
        cache: cache.join("kiln/git"),
        largest_package: DEFAULT_LARGEST_PACKAGE,
        most_files: DEFAULT_MOST_FILES,
    })
}

/// Who waited in vain for another machine gets to know how to wait longer. The words tell it: errors that pass others on hide
/// whose they are.
pub(crate) fn explained(error: anyhow::Error) -> anyhow::Error {
    let is_timeout = format!("{error:#}").contains("the other side does not answer");
    if !is_timeout || error.is::<Failed>() {
        return error;
    }
    Failed {
        message: Some(format!("error: {error:#}")),
        details: Details {
            hint: Some(format!("{KILN_GIT_TIMEOUT}=1h waits for an hour")),
            ..Details::default()
        },
    }
    .into()
}

/// Who is the author of commits: whoever git would name.
fn author() -> Identity {
    let setting = |variable: &str, key: &str| {
        let given = std::env::var(variable).ok().filter(|text| !text.is_empty());
        given.or_else(|| git_setting(key))
    };
    let name = setting(GIT_AUTHOR_NAME, "user.name");
    let email = setting(GIT_AUTHOR_EMAIL, "user.email");
    match (name, email) {
        (Some(name), Some(email)) => Identity { name, email },
        _ => Identity::porch(),
    }
}

fn git_setting(key: &str) -> Option<String> {
    let output = Command::new("git")
        .args(["config", "--get", key])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_named_after_their_place() {
        let name = |address: &str| name_of(&Location::Address(address.to_owned()));
        assert_eq!(name("https://example.com/a/Blue_Prints.git"), "blue-prints");
        assert_eq!(name("git@example.com:team/x.git/"), "x");
        assert_eq!(name("https://example.com/"), "example-com");
        assert_eq!(name_of(&Location::Path("/srv/git/deploy".into())), "deploy");
        assert_eq!(name_of(&Location::Path("/".into())), "repository");
    }

    #[test]
    fn addresses_are_told_from_paths() {
        for address in ["https://x/y", "file:///x", "git@host:x", "host:x/y"] {
            assert!(is_address(address), "{address}");
        }
        for path in [".", "/srv/x", "../a:b/c", "a/b:c"] {
            assert!(!is_address(path), "{path}");
        }
    }
}
