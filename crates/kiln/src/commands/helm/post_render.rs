//! `kiln helm post-render`

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use kiln_evaluators::WasmPrograms;
use kiln_krm::kptfile::{FILE_NAME, Kptfile, Pipeline};
use kiln_krm::package::{MemoryFiles, write_kept_documents};
use kiln_krm::read::read_loose_file;
use kiln_krm::{Dialect, Resource, paths};

use crate::environment::KILN_POST_PIPELINE;
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags};
use crate::manifests::{ManifestSource, render_manifests};
use crate::package;
use crate::ui::Ui;

/// Run a pipeline on the manifests of a chart, from standard input to standard output
///
/// For `helm install --post-renderer`. The pipeline is that of a Kptfile; files that it names in configPath are read from
/// the directory of the Kptfile, everything else comes from standard input.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 helm template shop ./chart | kiln helm post-render --pipeline Kptfile\n\
    \x20 helm install shop ./chart --post-renderer kiln \\\n\
    \x20   --post-renderer-args helm --post-renderer-args post-render\n\n\
    The second one is for Helm 3. In Helm 4 post-renderers are plugins:\n\
    \x20 helm plugin install deploy/helm\n\
    \x20 helm install shop ./chart --post-renderer kiln")]
pub(super) struct PostRenderArgs {
    /// Kptfile with the pipeline [env: KILN_POST_PIPELINE] [default: Kptfile]
    #[arg(long, value_name = "FILE")]
    pipeline: Option<PathBuf>,
    #[command(flatten)]
    evaluators: EvaluatorFlags,
}

/// The manifests, as a file of the package.
const MANIFESTS: &str = "manifests.yaml";

pub(super) fn cmd_post_render(ui: &Ui, args: &PostRenderArgs) -> Result<()> {
    let named = args.pipeline.clone().or_else(|| {
        let named = std::env::var_os(KILN_POST_PIPELINE);
        named.filter(|named| !named.is_empty()).map(PathBuf::from)
    });
    let path = named.unwrap_or_else(|| PathBuf::from(FILE_NAME));
    let container = ContainerFlags::default();
    let setup = args.evaluators.check(ui, container, WasmPrograms::All)?;
    let mut files = pipeline_files(&path)?;
    files.insert(MANIFESTS, without_lists(ui, ui.read_data()?)?);
    let path = path.canonicalize();
    let path = path.context("cannot find the directory of the pipeline")?;
    let directory = path.parent().and_then(Path::to_str);
    let directory = directory.ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))?;
    let source = ManifestSource {
        files: &files,
        root: directory,
        named: directory,
        setup: &setup,
        pins: None,
    };
    let manifests = render_manifests(ui, &source)?;
    ui.write_data(&manifests)
}

/// Manifests with the items of lists in the place of the lists: a function takes objects. Charts have `kind: List`, and lists of one
/// kind.
fn without_lists(ui: &Ui, manifests: Vec<u8>) -> Result<Vec<u8>> {
    let is_list = |object: &Resource| {
        object.kind().ends_with("List")
            && object.name().is_empty()
            && object.root().get("items").is_some()
    };
    // Rendering reports manifests that cannot be read.
    let found = read_loose_file(manifests.clone(), Dialect::Current).unwrap_or_default();
    if !found.iter().any(is_list) {
        return Ok(manifests);
    }
    let mut objects = Vec::new();
    for mut object in found {
        if !is_list(&object) {
            objects.push(object);
            continue;
        }
        let mut root = object.document_mut().root_mut();
        root.set_string(&["apiVersion"], "v1")?;
        root.set_string(&["kind"], "List")?;
        let list = write_kept_documents(vec![object], Dialect::Current)?;
        objects.extend(package::input(ui, list, Dialect::Current)?.items);
    }
    Ok(write_kept_documents(objects, Dialect::Current)?)
}

/// The Kptfile, and the files that its pipeline names.
fn pipeline_files(path: &Path) -> Result<MemoryFiles> {
    let read = |path: &Path| {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let bytes = read(path)?;
    let kptfile = Kptfile::read(&bytes).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let Pipeline {
        mutators,
        validators,
        ..
    } = kptfile.pipeline.unwrap_or_default();
    let mut files = MemoryFiles::new();
    for function in mutators.iter().chain(&validators) {
        let config = function.config_path.as_str();
        if config.is_empty() {
            continue;
        }
        let inside = paths::clean(config);
        if inside.starts_with('/') || inside == ".." || inside.starts_with("../") {
            bail!(
                "{}: configPath {config:?} leaves the directory",
                path.display()
            );
        }
        if inside == MANIFESTS {
            bail!(
                "{}: configPath {config:?} is reserved for the manifests",
                path.display()
            );
        }
        files.insert(inside.as_str(), read(&directory.join(&inside))?);
    }
    files.insert(FILE_NAME, bytes);
    Ok(files)
}
