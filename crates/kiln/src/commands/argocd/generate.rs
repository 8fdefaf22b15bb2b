//! `kiln argocd generate`

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kiln_evaluators::WasmPrograms;
use kiln_krm::package::FileSource;
use kiln_krm::similar_name;
use kiln_package::DiskFiles;
use kiln_render::Pins;
use kiln_runtime::CancelToken;
use serde::Deserialize;

use crate::environment::{ARGOCD_APP_PARAMETERS, ARGOCD_EXEC_TIMEOUT};
use crate::error::{CommandError, ErrorClass};
use crate::flag_values::go_time;
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags};
use crate::functions::lock::LockUse;
use crate::manifests::{
    ManifestSource, OverlayFiles, Setter, override_setters, render_manifests, setters,
};
use crate::package::{absolute, package_directory};
use crate::ui::Ui;

/// Print the objects of a rendered package
///
/// Renders the package, with parameters of the application as values of its setters, and prints the objects that a cluster
/// gets. Functions run without network, and programs of this machine are not functions. Writes no file. If the package has a
/// kiln.lock, it must have all functions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln argocd generate\n  kiln argocd generate app")]
pub(super) struct GenerateArgs {
    /// Package. Default: the current directory
    #[arg(default_value = "", hide_default_value = true)]
    dir: String,
    /// Fail if the package has no kiln.lock
    #[arg(long)]
    locked: bool,
    #[command(flatten)]
    evaluators: EvaluatorFlags,
}

/// The time after which Argo CD gives up, unless it is configured: that of its application controller for an answer of the
/// repository server, which is also the deadline of a plugin's command. A plugin gets no variable with it.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

/// The part of the limit that is left for the error, which Argo CD would not get from a stopped command.
const RESERVE: Duration = Duration::from_secs(2);

pub(super) fn cmd_generate(ui: &Ui, args: &GenerateArgs) -> Result<()> {
    let began = Instant::now();
    let setting = std::env::var(ARGOCD_EXEC_TIMEOUT).unwrap_or_default();
    let limit = time_limit(ui, &setting);
    let named = package_directory(ui, &args.dir)?;
    let root = absolute(&named)?;
    let root_text = root
        .to_str()
        .ok_or_else(|| anyhow!("the name of {} is not UTF-8", root.display()))?;
    let container = ContainerFlags::default();
    let setup = args.evaluators.check(ui, container, WasmPrograms::All)?;
    let base = DiskFiles::open(&root, ui.compat().outside_links())
        .with_context(|| format!("cannot open {}", root.display()))?;
    let parameters = std::env::var(ARGOCD_APP_PARAMETERS).unwrap_or_default();
    let files = OverlayFiles {
        replaced: overridden(&base, &parameters)?,
        base: &base,
    };
    if let Some(limit) = limit {
        cancel_after(limit, setup.cancel().clone())?;
    }
    let lock = LockUse::complete(ui, args.locked, &named, &base, &setup)?;
    let source = ManifestSource {
        files: &files,
        root: root_text,
        named: &named,
        setup: &setup,
        pins: lock.as_ref().map(|lock| lock as &dyn Pins),
    };
    let manifests = render_manifests(ui, &source);
    match limit {
        Some(limit) if manifests.is_err() && began.elapsed() >= limit => Err(took_too_long(limit)),
        _ => ui.write_data(&manifests?),
    }
}

/// The time that a render may take, given the limit of Argo CD; `None` without a limit.
fn time_limit(ui: &Ui, setting: &str) -> Option<Duration> {
    let limit = match setting {
        "" => DEFAULT_LIMIT,
        text => go_time(text).unwrap_or_else(|error| {
            let seconds = DEFAULT_LIMIT.as_secs();
            ui.warn(&format!(
                "{ARGOCD_EXEC_TIMEOUT}: {error}; the limit is {seconds}s"
            ));
            DEFAULT_LIMIT
        }),
    };
    // A short limit is not used up by the reserve.
    let usable = limit.saturating_sub(RESERVE).max(limit / 2);
    (!limit.is_zero()).then_some(usable)
}

fn took_too_long(limit: Duration) -> anyhow::Error {
    let seconds = limit.as_secs_f64();
    let error = CommandError {
        class: ErrorClass::Unavailable,
        ..CommandError::new(format!("error: rendering did not end within {seconds}s"))
    };
    let hint = format!(
        "set controller.repo.server.timeout.seconds in the ConfigMap argocd-cmd-params-cm to a longer time, and \
         {ARGOCD_EXEC_TIMEOUT} of the container of the plugin to the same"
    );
    CommandError::with_hint(error, hint).into()
}

/// Stops functions at the limit. The thread ends with the program.
fn cancel_after(limit: Duration, cancel: CancelToken) -> Result<()> {
    let began = Instant::now();
    let watch = thread::Builder::new().spawn(move || {
        while let Some(left) = limit.checked_sub(began.elapsed()) {
            thread::park_timeout(left);
        }
        cancel.cancel();
    });
    watch.context("cannot start a thread").map(drop)
}

/// A parameter of an application, as Argo CD writes it.
#[derive(Deserialize)]
struct AppParameter {
    name: String,
    string: Option<String>,
}

/// The files of a package with parameters of the application as values of its setters.
fn overridden(files: &dyn FileSource, parameters: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    if parameters.is_empty() {
        return Ok(BTreeMap::new());
    }
    let parameters: Option<Vec<AppParameter>> = serde_json::from_str(parameters)
        .with_context(|| format!("cannot read {ARGOCD_APP_PARAMETERS}"))?;
    let parameters = parameters.unwrap_or_default();
    let known = setters(files)?;
    let mut values = BTreeMap::new();
    for AppParameter { name, string } in parameters {
        check_is_known(&name, &known)?;
        let Some(value) = string else {
            bail!("parameter {name:?} is not a string, as the values of setters are");
        };
        values.insert(name, value);
    }
    override_setters(files, &values)
}

fn check_is_known(name: &str, known: &[Setter]) -> Result<()> {
    if known.iter().any(|setter| setter.name == name) {
        return Ok(());
    }
    let names = known.iter().map(|setter| setter.name.as_str());
    let hint = match similar_name(name, names) {
        Some(similar) => format!("did you mean {similar}?"),
        None => "`kiln argocd parameters` prints the setters of the package".to_owned(),
    };
    let error = CommandError {
        class: ErrorClass::Input,
        ..CommandError::new(format!(
            "error: parameter {name:?} is not a setter of the package"
        ))
    };
    Err(CommandError::with_hint(error, hint).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::ColorWhen;
    use crate::compat::Compat;
    use crate::log_format::LogFormat;

    #[test]
    fn the_limit_leaves_time_for_the_error() {
        let ui = Ui::new(Compat::Kiln, LogFormat::Text, ColorWhen::Never);
        let milliseconds = |setting| time_limit(&ui, setting).map(|limit| limit.as_millis());
        assert_eq!(milliseconds(""), Some(58_000));
        assert_eq!(milliseconds("3m"), Some(178_000));
        assert_eq!(milliseconds("3s"), Some(1_500));
        assert_eq!(milliseconds("0"), None);
        assert_eq!(milliseconds("0s"), None);
        for invalid in ["soon", "90", "-1s"] {
            assert_eq!(milliseconds(invalid), Some(58_000), "{invalid}");
        }
    }
}
