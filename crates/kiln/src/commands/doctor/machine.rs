//! Programs, directories and the function runner.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use kiln_container::{Engine, EngineError};
use kiln_go::error_chain;
use kiln_krm::Dialect;
use kiln_runtime::{CancelToken, Deadline, Evaluator, FunctionSpec, Input, RunContext, RunError};
use kiln_store::{Store, StoreOptions};
use kiln_task::git::GitVersion;
use kiln_wasm::HAS_COMPILER;

use super::{CheckStatus, DoctorCheck};
use crate::environment::{HOME, cache_directory};
use crate::functions::runner_flags::RunnerFlags;
use crate::image_store::store_directory;
use crate::real_program::search_path_without_links;
use crate::rpkg::git_environment::git_program;

/// The container engines.
pub(super) fn engines() -> Vec<DoctorCheck> {
    let search_path = search_path_without_links(&Engine::ALL.map(Engine::program));
    let checks = Engine::ALL.into_iter().map(|engine| {
        let checked = engine.check(&search_path, &CancelToken::new());
        let (status, detail) = match checked {
            Ok(Ok(())) => (CheckStatus::Ok, "available".to_owned()),
            Ok(Err(error)) => (CheckStatus::Missing, engine_detail(&error)),
            Err(error) => (CheckStatus::Missing, error_chain(&error)),
        };
        DoctorCheck {
            group: "container engines",
            name: engine.program().to_owned(),
            fix: (status != CheckStatus::Ok).then(|| {
                format!(
                    "install {0}, or start it if it is installed",
                    engine.program()
                )
            }),
            status,
            detail,
        }
    });
    checks.collect()
}

/// The failure of an engine in one line, with what the engine printed.
fn engine_detail(error: &EngineError) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    match error {
        EngineError::Unavailable { printed, .. } if !printed.is_empty() => {
            format!("{first}: {printed}")
        }
        _ => first.to_owned(),
    }
}

/// Whether this kiln compiles functions in WebAssembly. Else it interprets them, with the same results.
pub(super) fn wasm_compiler() -> DoctorCheck {
    let (status, detail) = match HAS_COMPILER {
        true => (CheckStatus::Ok, "part of this kiln"),
        false => (
            CheckStatus::Missing,
            "not part of this kiln, which interprets functions in WebAssembly",
        ),
    };
    DoctorCheck {
        group: "webassembly",
        name: "compiler".to_owned(),
        fix: (status != CheckStatus::Ok)
            .then(|| "install a release, or build kiln with --features wasm-jit".to_owned()),
        status,
        detail: detail.to_owned(),
    }
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
        fix: (status != CheckStatus::Ok)
            .then(|| "check the address, and start a runner there with `kiln serve`".to_owned()),
        status,
        detail,
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
            let fix = "set KILN_STORE to a directory of your own on a file system without noexec";
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

/// git, which packages in repositories need.
pub(super) fn git() -> DoctorCheck {
    let (status, detail) = match git_program().version() {
        Ok(version) if version.is_supported() => {
            (CheckStatus::Ok, format!("git version {version}"))
        }
        Ok(version) => (
            CheckStatus::Missing,
            format!("git version {version} is too old"),
        ),
        Err(error) => (CheckStatus::Missing, error_chain(&error)),
    };
    DoctorCheck {
        group: "programs",
        name: "git".to_owned(),
        fix: (status != CheckStatus::Ok).then(|| {
            let (major, minor) = GitVersion::OLDEST;
            format!(
                "install git {major}.{minor} or newer, for kiln pkg, kiln rpkg, kiln repo and --changed-since"
            )
        }),
        status,
        detail,
    }
}
