//! Completion of values in shells: functions, versions, revisions and repositories.
//!
//! Nothing is fetched: revisions are those of the last command that read their repository. What cannot be read is left out,
//! because an error would end up in the user's command line.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use kiln_functions::registry::{FunctionInfo, Registry};

use crate::color::ColorWhen;
use crate::compat::Compat;
use crate::log_format::LogFormat;
use crate::rpkg::flags::RepositoryFlags;
use crate::rpkg::repositories_file::RepositoriesFile;
use crate::ui::Ui;

/// `set-labels`, and after a colon its versions. An image of the catalog keeps its registry.
pub(crate) fn functions(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_str().unwrap_or_default();
    let name = current.rsplit('/').next().unwrap_or_default();
    let prefix = current.strip_suffix(name).unwrap_or_default();
    let is_in_catalog = |info: &&FunctionInfo| {
        let image = format!("{prefix}{}", info.name);
        Registry::builtin().function_of_image(&image).is_some()
    };
    let functions = Registry::builtin().functions().filter(is_in_catalog);
    match name.split_once(':') {
        None => functions
            .filter(|info| info.name.starts_with(name))
            .map(|info| {
                CompletionCandidate::new(format!("{prefix}{}", info.name))
                    .help(Some(info.summary.into()))
            })
            .collect(),
        Some((function, _)) => functions
            .filter(|info| info.name == function)
            .flat_map(versions)
            .filter(|function| function.starts_with(name))
            .map(|function| CompletionCandidate::new(format!("{prefix}{function}")))
            .collect(),
    }
}

/// The strategies of updates.
pub(crate) fn strategies() -> Vec<CompletionCandidate> {
    candidates(&[
        "resource-merge",
        "fast-forward",
        "force-delete-replace",
        "copy-merge",
    ])
}

/// What `kiln pkg diff` compares.
pub(crate) fn diff_types() -> Vec<CompletionCandidate> {
    candidates(&["local", "remote", "combined", "3way"])
}

fn candidates(words: &[&'static str]) -> Vec<CompletionCandidate> {
    let words = words.iter();
    words.map(|&word| CompletionCandidate::new(word)).collect()
}

/// Newest first.
fn versions(info: &FunctionInfo) -> Vec<String> {
    let tags: Vec<&str> = info.version_tags().collect();
    let tags = tags.into_iter().rev();
    tags.map(|tag| format!("{}:{tag}", info.name)).collect()
}

/// The names of package revisions.
pub(crate) fn revisions(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_str().unwrap_or_default();
    let ui = Ui::new(Compat::Kiln, LogFormat::Text, ColorWhen::Never).without_progress();
    let Ok(session) = RepositoryFlags::default().open(&ui) else {
        return Vec::new();
    };
    let names = session.known_revisions().into_iter();
    names
        .filter(|(name, _)| name.starts_with(current))
        .map(|(name, lifecycle)| {
            CompletionCandidate::new(name).help(Some(lifecycle.as_str().into()))
        })
        .collect()
}

/// The names of registered repositories.
pub(crate) fn repositories(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_str().unwrap_or_default();
    let file = RepositoriesFile::read().unwrap_or_default();
    let entries = file.repositories.into_iter();
    entries
        .filter(|entry| entry.name.starts_with(current))
        .map(|entry| CompletionCandidate::new(entry.name).help(Some(entry.repo.into())))
        .collect()
}
