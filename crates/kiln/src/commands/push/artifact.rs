//! `kiln push artifact`: manifests in the form that Flux's OCIRepository pulls.
//!
//! The same input gives the same bytes, so that the digest changes only with the content: no time unless the user gives one,
//! files in the order of their names, without owners.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use kiln_krm::Dialect;
use kiln_krm::read::read_loose_file;
use kiln_oci::media_type::OCI_MANIFEST;
use kiln_oci::{Descriptor, Digest, ImageLayout, ImageReference, LayerBuilder, compress_layer};
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::image_store::registry_client;
use crate::manifests::is_for_tools;
use crate::ui::Ui;

/// Push manifests as an artifact that Flux pulls
///
/// Prints the artifact with its digest. The same files give the same digest; --created changes it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln push artifact registry.example.com/shop:v1 --path rendered --source https://git.example.com/shop \
--revision main@sha1:0123456789abcdef0123456789abcdef01234567\n\
    \x20 kiln fn render app -o objects | kiln push artifact registry.example.com/shop:v1 --path -")]
pub(super) struct ArtifactArgs {
    /// The artifact: HOST/NAME:TAG, also after `oci://`
    #[arg(value_parser = artifact_name)]
    image: ImageReference,
    /// Directory or file with manifests, or `-` for standard input
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    path: String,
    /// Address of the sources, for the annotation org.opencontainers.image.source
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Revision of the sources: BRANCH@sha1:COMMIT, for the annotation org.opencontainers.image.revision
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    /// Time of the annotation org.opencontainers.image.created, as 2026-11-18T08:00:00Z. Default: none
    #[arg(long, value_name = "TIME")]
    created: Option<Timestamp>,
    /// Print the artifact with its digest, and push nothing
    #[arg(long)]
    dry_run: bool,
}

const FLUX_CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// The file with manifests from standard input.
const FROM_INPUT: &str = "manifests.yaml";

pub(super) fn cmd_artifact(ui: &Ui, args: &ArtifactArgs) -> Result<()> {
    let files = match args.path.as_str() {
        "-" => vec![ArtifactFile {
            path: FROM_INPUT.to_owned(),
            mode: PLAIN,
            bytes: manifests_from_input(ui)?,
        }],
        path => {
            let files = read_files(ui, Path::new(path))?;
            warn_of_tools(ui, &files);
            files
        }
    };
    if files.iter().all(|file| has_no_manifests(&file.bytes)) {
        bail!(
            "{} has no manifests to push: Flux would delete everything that it applied before",
            args.path
        );
    }
    let mut layout = ImageLayout::default();
    let root = add_artifact(&mut layout, &files, args.annotations())?;
    let named = args.image.with_digest(root.digest.clone());
    if !args.dry_run {
        let registry = registry_client(&args.image)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the async runtime")?;
        runtime.block_on(registry.push(&args.image, &layout, &root))?;
    }
    ui.write_data(format!("{named}\n").as_bytes())
}

/// Flux names artifacts by addresses.
fn artifact_name(text: &str) -> Result<ImageReference, <ImageReference as FromStr>::Err> {
    text.strip_prefix("oci://").unwrap_or(text).parse()
}

/// Standard input. Without manifests it is an error: a command that fails before a pipe prints nothing, and Flux would delete
/// everything that an empty artifact does not have. So is a resource of tools, because of which Flux would apply nothing.
fn manifests_from_input(ui: &Ui) -> Result<Vec<u8>> {
    let bytes = ui.read_data()?;
    if has_no_manifests(&bytes) {
        let hint = "a command that fails in front of a pipe prints nothing: use `set -o pipefail`";
        let error = anyhow!("standard input has no manifests");
        return Err(CommandError::with_hint(error, hint).into());
    }
    if let Some(resource) = resource_of_tools(&bytes) {
        let error = anyhow!("{resource} on standard input is for tools and not for clusters");
        return Err(CommandError::with_hint(error, ONLY_OBJECTS).into());
    }
    Ok(bytes)
}

const ONLY_OBJECTS: &str = "`kiln fn render -o objects` prints only what a cluster gets";

/// Kind and name of the first resource that only tools read. What cannot be read is Flux' to judge: it also takes what only it
/// understands.
fn resource_of_tools(bytes: &[u8]) -> Option<String> {
    let resources = read_loose_file(bytes.to_vec(), Dialect::Current).ok()?;
    let resource = resources.iter().find(|resource| is_for_tools(resource))?;
    Some(format!("{} {:?}", resource.kind(), resource.name()))
}

/// The names of files by which a user, and not Flux, selects the manifests of a directory.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Warns of resources of tools that Flux would try to apply: it takes all YAML files of a directory without a kustomization.
/// They are no error, because a subdirectory may be all that it applies.
fn warn_of_tools(ui: &Ui, files: &[ArtifactFile]) {
    let name = |file: &ArtifactFile| file.path.rsplit('/').next().map(str::to_owned);
    let mut names = files.iter().filter_map(name);
    if names.any(|name| KUSTOMIZATIONS.contains(&name.as_str())) {
        return;
    }
    let is_yaml = |file: &&ArtifactFile| {
        let extension = Path::new(&file.path).extension();
        extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
    };
    for file in files.iter().filter(is_yaml) {
        if let Some(resource) = resource_of_tools(&file.bytes) {
            ui.warn(&format!(
                "{}: {resource} is for tools and not for clusters, so Flux may apply nothing; {ONLY_OBJECTS}",
                file.path
            ));
        }
    }
}

/// Whether a file has nothing but comments and separators.
fn has_no_manifests(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line.starts_with(b"#") || line == b"---" || line == b"..."
    })
}

impl ArtifactArgs {
    fn annotations(&self) -> BTreeMap<&'static str, String> {
        let given = [
            (
                "org.opencontainers.image.created",
                self.created.map(|time| format!("{time:.0}")),
            ),
            ("org.opencontainers.image.source", self.source.clone()),
            ("org.opencontainers.image.revision", self.revision.clone()),
        ];
        let given = given.into_iter();
        given
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

/// A file of an artifact.
struct ArtifactFile {
    /// Relative to the directory, with slashes.
    path: String,
    mode: u32,
    bytes: Vec<u8>,
}

const PLAIN: u32 = 0o644;
const EXECUTABLE: u32 = 0o755;

/// The files below a directory, sorted, or one file. As for Flux, the data of git and everything that is not a regular file
/// are left out; the latter with a warning.
fn read_files(ui: &Ui, path: &Path) -> Result<Vec<ArtifactFile>> {
    let read = |path: &Path, name: String| -> Result<ArtifactFile> {
        let failed = || format!("cannot read {}", path.display());
        let mode = fs::metadata(path)
            .with_context(failed)?
            .permissions()
            .mode();
        Ok(ArtifactFile {
            path: name,
            mode: if mode & 0o100 == 0 { PLAIN } else { EXECUTABLE },
            bytes: fs::read(path).with_context(failed)?,
        })
    };
    let is_file = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if is_file.is_file() {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_str().ok_or_else(|| not_utf8(path))?;
        return Ok(vec![read(path, name.to_owned())?]);
    }
    let mut files = Vec::new();
    let mut pending: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(directory) = pending.pop() {
        let failed = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(&directory).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let (found, kind) = (entry.path(), entry.file_type().with_context(failed)?);
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    pending.push(found);
                }
            } else if kind.is_file() {
                let name = found.strip_prefix(path).unwrap_or(&found);
                let name = name.to_str().ok_or_else(|| not_utf8(&found))?.to_owned();
                files.push(read(&found, name)?);
            } else {
                ui.warn(&format!(
                    "{} is not a regular file and is left out",
                    found.display()
                ));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn not_utf8(path: &Path) -> anyhow::Error {
    anyhow!("the name of {} is not UTF-8", path.display())
}

/// The manifest of an artifact, with its fields in the order of Flux.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactManifest {
    schema_version: u32,
    media_type: &'static str,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

fn add_artifact(
    layout: &mut ImageLayout,
    files: &[ArtifactFile],
    annotations: BTreeMap<&'static str, String>,
) -> Result<Descriptor> {
    let mut layer = LayerBuilder::default();
    for file in files {
        layer = layer.file(&file.path, file.mode, &file.bytes)?;
    }
    let layer = layer.finish()?;
    let config = json!({
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": { "type": "layers", "diff_ids": [Digest::of(&layer)] },
    });
    let layer = compress_layer(&layer).context("cannot compress the files")?;
    let manifest = ArtifactManifest {
        schema_version: 2,
        media_type: OCI_MANIFEST,
        layers: vec![layout.add_blob(FLUX_CONTENT, layer)],
        config: layout.add_blob(FLUX_CONFIG, serde_json::to_vec(&config)?.into()),
        annotations,
    };
    Ok(layout.add_blob(OCI_MANIFEST, serde_json::to_vec(&manifest)?.into()))
}
