//! A package as the objects that a cluster gets: rendered, without what only configures tools.
//!
//! For Argo CD and Helm, which read standard output and apply everything that is there, and for `-o objects`. The former render
//! here, without programs of this machine and the network: what they render was not written by the user of this machine.

mod overlay;
mod setters;
mod tool_annotations;

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow};
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_krm::kptfile::Kptfile;
use kiln_krm::package::{FileSource, write_kept_documents};
use kiln_krm::record::UnknownKeys;
use kiln_krm::{Dialect, Resource, paths};
use kiln_package::available_threads;
use kiln_render::{ExternalFunctions, FunctionOptions, Jobs, Pins, RenderOptions, render};
use kiln_runtime::Network;

pub(crate) use overlay::OverlayFiles;
pub(crate) use setters::{Setter, override_setters, setters};
use tool_annotations::without_tool_annotations;

use crate::environment::is_attribution_disabled;
use crate::error::render::RenderErrors;
use crate::functions::evaluators::EvaluatorSetup;
use crate::interrupt::interruptible;
use crate::package::kptfiles;
use crate::report::function_log::FunctionLog;
use crate::ui::Ui;

/// A package to render.
pub(crate) struct ManifestSource<'a> {
    pub(crate) files: &'a dyn FileSource,
    /// The absolute path.
    pub(crate) root: &'a str,
    /// The path on the command line.
    pub(crate) named: &'a str,
    pub(crate) setup: &'a EvaluatorSetup,
    /// The exact versions of functions.
    pub(crate) pins: Option<&'a dyn Pins>,
}

/// Renders a package to YAML documents. Failures and warnings of functions are logged.
pub(crate) fn render_manifests(ui: &Ui, source: &ManifestSource<'_>) -> Result<Vec<u8>> {
    let working_directory = std::env::current_dir().context("cannot find the current directory")?;
    let working_directory = working_directory
        .to_str()
        .ok_or_else(|| anyhow!("the name of the current directory is not UTF-8"))?;
    let options = RenderOptions {
        functions: FunctionOptions {
            pins: source.pins,
            ..source.setup.options(Network::None)
        },
        root: source.root,
        working_directory,
        allow_exec: false,
        jobs: Jobs {
            count: available_threads(),
            external: ExternalFunctions::InOrder,
        },
        attribution: !is_attribution_disabled(),
        unknown_fields: UnknownKeys::Refuse,
    };
    let errors = RenderErrors {
        compat: ui.compat(),
        files: source.files,
        root: source.root,
        named: source.named,
        evaluators: Some(source.setup),
    };
    let log = FunctionLog::new(ui).quiet(true);
    let rendered = interruptible(|| render(source.files, &options, &log));
    let rendered = rendered.map_err(|error| errors.command_error(&error))?;
    if let Some(error) = &rendered.report.error {
        return Err(errors.command_error(error));
    }
    let resources = rendered.output.resources.unwrap_or_default();
    manifests_of(resources, source.files)
}

/// The objects among the resources of a package, as YAML documents. `files` are those that the resources were read from.
pub(crate) fn manifests_of(resources: Vec<Resource>, files: &dyn FileSource) -> Result<Vec<u8>> {
    let objects = objects_for_cluster(resources, &config_paths(&kptfiles(files)));
    without_tool_annotations(write_kept_documents(objects, Dialect::Current)?)
}

/// The files with configurations of functions, relative to the root package.
fn config_paths(kptfiles: &[(String, Kptfile)]) -> BTreeSet<String> {
    let functions = kptfiles.iter().flat_map(|(directory, kptfile)| {
        let pipeline = kptfile.pipeline.iter();
        let functions = pipeline.flat_map(|it| it.mutators.iter().chain(&it.validators));
        functions.map(move |function| (directory, function))
    });
    functions
        .filter(|(_, function)| !function.config_path.is_empty())
        .map(|(directory, function)| paths::join(&[directory, &function.config_path]))
        .collect()
}

/// The groups of files that only tools read; clusters have no such kinds: Kptfiles and inventories of `kpt live`,
/// configurations of functions, and kustomizations.
const CLIENT_GROUPS: [&str; 3] = ["kpt.dev", "fn.kpt.dev", "kustomize.config.k8s.io"];

/// Leaves out what only configures tools.
fn objects_for_cluster(
    mut resources: Vec<Resource>,
    config_paths: &BTreeSet<String>,
) -> Vec<Resource> {
    resources.retain(|resource| {
        let is_config = config_paths.contains(resource.file_place().0);
        !is_config && !is_for_tools(resource)
    });
    resources
}

/// Whether only tools read a resource: by its kind, or because it says so.
pub(crate) fn is_for_tools(resource: &Resource) -> bool {
    let local = resource.annotation(LOCAL_CONFIG);
    let (group, _) = resource.api_version().split_once('/').unwrap_or_default();
    local.is_some_and(|value| value != "false") || CLIENT_GROUPS.contains(&group)
}

#[cfg(test)]
mod tests;
