//! Git, images and the cache, as the environment configures them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use kiln_task::git::{DEFAULT_MAX_PACKAGE_SIZE, UpstreamCache};
use kiln_task::image::{ImageError, PackageImages, RegistryImages};
use kiln_task::merge::Attribution;
use kiln_task::pkg::{PkgEvent, PkgSources};

use super::rules;
use crate::compat::Compat;
use crate::environment::{HOME, KPT_CACHE_DIR, is_attribution_disabled};
use crate::functions::registry_tags::registry_options;
use crate::rpkg::git_environment::git_options;
use crate::ui::Ui;

/// Whether git's own output is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GitTalk {
    Print,
    Hide,
}

impl GitTalk {
    /// kpt always prints it.
    pub(super) fn new(ui: &Ui, verbose: bool) -> GitTalk {
        match verbose || ui.compat() != Compat::Kiln {
            true => GitTalk::Print,
            false => GitTalk::Hide,
        }
    }
}

/// Runs a command with the sources of packages. Events are printed as they happen; in kiln's own mode the last line of `get` only
/// when the command has succeeded, and instead of that of `update` the command lists the files.
pub(super) fn with_sources<T>(
    ui: &Ui,
    talk: GitTalk,
    run: impl FnOnce(&mut PkgSources<'_>) -> Result<T>,
) -> Result<T> {
    let is_own = ui.compat() == Compat::Kiln;
    let mut last_line = None;
    let mut on_event = |event: &PkgEvent| match event {
        PkgEvent::GitOutput(_) if talk == GitTalk::Hide => {}
        PkgEvent::Fetched(_) if is_own => last_line = Some(event.to_string()),
        PkgEvent::Updated(_) if is_own => {}
        event => ui.print_message(&event.to_string()),
    };
    let images = || -> Result<Arc<dyn PackageImages>, ImageError> {
        Ok(Arc::new(RegistryImages::new(
            registry_options()?,
            DEFAULT_MAX_PACKAGE_SIZE,
        )?))
    };
    let mut sources = PkgSources::new(
        git_options(ui)?,
        cache(ui)?,
        &images,
        rules(ui),
        &mut on_event,
    );
    let done = run(&mut sources)?;
    if let Some(line) = last_line {
        ui.print_message(&line);
    }
    Ok(done)
}

/// kiln has its own cache; kpt's is shared with it.
fn cache(ui: &Ui) -> Result<UpstreamCache> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if ui.compat() == Compat::Kiln {
        return Ok(UpstreamCache::Kiln);
    }
    let directory = match (variable(KPT_CACHE_DIR), variable(HOME)) {
        (Some(directory), _) => PathBuf::from(directory),
        (None, Some(home)) => PathBuf::from(home).join(".kpt/repos"),
        (None, None) => {
            return Err(anyhow!(
                "error looking up user home dir: $HOME is not defined"
            ));
        }
    };
    Ok(UpstreamCache::Kpt(directory))
}

/// Whether resources of the Config Connector are marked.
pub(super) fn attribution() -> Attribution {
    match is_attribution_disabled() {
        true => Attribution::Leave,
        false => Attribution::Add,
    }
}
