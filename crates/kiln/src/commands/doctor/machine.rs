//! Programs, directories, registries and the function runner.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use kiln_container::Engine;
use kiln_go::error_chain;
use kiln_krm::Dialect;
use kiln_runtime::{CancelToken, Deadline, Evaluator, FunctionSpec, Input, RunContext, RunError};
use kiln_store::{Store, StoreOptions};

use super::{CheckStatus, DoctorCheck};
use crate::environment::{DOCKER_CONFIG, HOME, cache_directory};
use crate::functions::runner_flags::RunnerFlags;
use crate::image_store::store_directory;
use crate::real_program::search_path_without_links;

/// The container engines.
pub(super) fn engines() -> Vec<DoctorCheck> {
    let search_path = search_path_without_links(&Engine::ALL.map(Engine::program));
    let checks = Engine::ALL.into_iter().map(|engine| {
        let checked = engine.check(&search_path, &CancelToken::new());
        let (status, detail) = match checked {
            Ok(Ok(())) => (CheckStatus::Ok, "available".to_owned()),
            Ok(Err(error)) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default().to_owned();
                (CheckStatus::Missing, first)
            }
            Err(error) => (CheckStatus::Missing, error_chain(&error)),
        };
        DoctorCheck {
            group: "container engines",
            name: engine.program().to_owned(),
            status,
            detail,
            fix: None,
        }
    });
    checks.collect()
}

/// How long the runner may take to respond.
const RUNNER_TIMEOUT: Duration = Duration::from_secs(5);

/// No function has this name, so a runner that responds does not know it.
const NO_FUNCTION: &str = "kiln.invalid/doctor:v0";

/// The function runner, if the flags name one.
pub(super) fn runner(flags: &RunnerFlags) -> Result<Option<DoctorCheck>> {
    let Some(remote) = flags.check()? else {
        return Ok(None);
    };
    let ctx = RunContext {
        deadline: Deadline::after(RUNNER_TIMEOUT),
        ..RunContext::default()
    };
    let input = Input::new(Dialect::Current, &[], None);
    let found = remote.find(&FunctionSpec::image(NO_FUNCTION));
    let ran = found.map(|found| found.into_runner().run(&input, &ctx));
    let (status, detail) = match ran {
        Ok(Err(RunError::Unavailable(error))) => (CheckStatus::Missing, error_chain(&*error)),
        Ok(Err(error @ RunError::TimedOut { .. })) => (CheckStatus::Missing, error_chain(&error)),
        Err(error) => (CheckStatus::Missing, error_chain(&error)),
        Ok(_) => (CheckStatus::Ok, "responds".to_owned()),
    };
    Ok(Some(DoctorCheck {
        group: "function runner",
        name: "runner".to_owned(),
        status,
        detail,
        fix: None,
    }))
}

/// Home, caches and the image store.
pub(super) fn files() -> Vec<DoctorCheck> {
    let home = std::env::var_os(HOME).filter(|home| !home.is_empty());
    let home = match home {
        Some(home) if Path::new(&home).is_dir() => directory_check(
            "home",
            CheckStatus::Ok,
            PathBuf::from(home).display().to_string(),
            None,
        ),
        Some(home) => directory_check(
            "home",
            CheckStatus::Missing,
            format!("{} is not a directory", PathBuf::from(home).display()),
            Some("set HOME to your home directory"),
        ),
        None => directory_check(
            "home",
            CheckStatus::Missing,
            "HOME is not set".to_owned(),
            Some("set HOME to your home directory"),
        ),
    };
    let cache = cache_directory();
    let found = std::fs::metadata(&cache);
    let cache = match found {
        Ok(found) if found.is_dir() => {
            directory_check("cache", CheckStatus::Ok, cache.display().to_string(), None)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let detail = format!("{} does not exist yet", cache.display());
            directory_check("cache", CheckStatus::Ok, detail, None)
        }
        Ok(_) => directory_check(
            "cache",
            CheckStatus::Missing,
            format!("{} is not a directory", cache.display()),
            Some("set XDG_CACHE_HOME to a directory that you can write to"),
        ),
        Err(error) => directory_check(
            "cache",
            CheckStatus::Missing,
            format!("{}: {error}", cache.display()),
            Some("set XDG_CACHE_HOME to a directory that you can write to"),
        ),
    };
    vec![home, cache, store()]
}

fn store() -> DoctorCheck {
    let directory = store_directory();
    if !directory.exists() {
        // Nothing is made here: the first image does that.
        let detail = format!("{} does not exist yet", directory.display());
        return directory_check("image store", CheckStatus::Ok, detail, None);
    }
    let opened = Store::open(&directory, StoreOptions::default());
    let opened = opened.and_then(|store| store.check_executable().map(|()| store));
    let listed = opened.map(|store| store.list().map(|images| images.len()));
    match listed {
        Ok(Ok(images)) => {
            let detail = format!("{}, {images} images", directory.display());
            directory_check("image store", CheckStatus::Ok, detail, None)
        }
        Ok(Err(error)) => {
            let fix = "kiln image verify";
            directory_check(
                "image store",
                CheckStatus::Missing,
                error_chain(&error),
                Some(fix),
            )
        }
        Err(error) => {
            let fix = "set KILN_STORE to a directory of yours on a file system without noexec";
            directory_check(
                "image store",
                CheckStatus::Missing,
                error_chain(&error),
                Some(fix),
            )
        }
    }
}

fn directory_check(
    name: &str,
    status: CheckStatus,
    detail: String,
    fix: Option<&str>,
) -> DoctorCheck {
    DoctorCheck {
        group: "directories",
        name: name.to_owned(),
        status,
        detail,
        fix: fix.map(str::to_owned),
    }
}

/// git, which package revisions need.
pub(super) fn git() -> DoctorCheck {
    let output = Command::new("git")
        .arg("version")
        .stdin(Stdio::null())
        .output();
    let (status, detail) = match output {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (CheckStatus::Ok, version)
        }
        Ok(output) => (CheckStatus::Missing, output.status.to_string()),
        Err(error) => (CheckStatus::Missing, error.to_string()),
    };
    DoctorCheck {
        group: "programs",
        name: "git".to_owned(),
        fix: (status != CheckStatus::Ok)
            .then(|| "install git 2.31 or newer, for kiln rpkg and kiln repo".to_owned()),
        status,
        detail,
    }
}

/// The registries that have credentials in Docker's configuration.
pub(super) fn registries() -> Vec<DoctorCheck> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let directory = variable(DOCKER_CONFIG).map(PathBuf::from);
    let directory = directory.or_else(|| Some(PathBuf::from(variable(HOME)?).join(".docker")));
    let Some(path) = directory.map(|directory| directory.join("config.json")) else {
        return Vec::new();
    };
    let check = |status, detail, fix: Option<&str>| DoctorCheck {
        group: "registries",
        name: "credentials".to_owned(),
        status,
        detail,
        fix: fix.map(str::to_owned),
    };
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let detail = format!(
                "{} does not exist: registries are used without",
                path.display()
            );
            return vec![check(CheckStatus::Ok, detail, None)];
        }
        Err(error) => {
            let detail = format!("{}: {error}", path.display());
            return vec![check(CheckStatus::Missing, detail, None)];
        }
    };
    let config: serde_json::Value = match serde_json::from_slice(&bytes) {
        Ok(config) => config,
        Err(error) => {
            let detail = format!("{}: {error}", path.display());
            let fix = Some("correct the file, or remove it and log in again");
            return vec![check(CheckStatus::Missing, detail, fix)];
        }
    };
    let keys = |field: &str| {
        let object = config.get(field).and_then(serde_json::Value::as_object);
        object.map(|object| object.keys().cloned().collect::<Vec<_>>())
    };
    let mut names = keys("auths").unwrap_or_default();
    names.extend(keys("credHelpers").unwrap_or_default());
    if let Some(helper) = config.get("credsStore").and_then(serde_json::Value::as_str) {
        names.push(format!("docker-credential-{helper}"));
    }
    names.sort();
    names.dedup();
    let detail = match names.is_empty() {
        true => format!("{} has none", path.display()),
        false => format!("{}: {}", path.display(), names.join(", ")),
    };
    vec![check(CheckStatus::Ok, detail, None)]
}
