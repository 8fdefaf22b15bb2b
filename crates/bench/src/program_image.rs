//! A program as the only file of an image, which kiln runs in namespaces, in a store of its own.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use kiln_image::{ImageEvaluator, ImageOptions, LevelChoice};
use kiln_oci::{
    ImageLayout, ImageSpec, LayerBuilder, Platform, PullPolicy, RunConfig, add_image, write_archive,
};
use kiln_runtime::{Evaluator as _, FunctionSpec, Runner};
use kiln_store::{Store, StoreOptions};

const IMAGE: &str = "localhost/kiln/bench-program:v1";
const PROGRAM: &str = "/function";

pub(crate) struct ProgramImage {
    evaluator: ImageEvaluator,
    /// Has the store.
    _directory: tempfile::TempDir,
}

impl ProgramImage {
    /// Makes an image of a static program. An error means that this machine cannot run images, or that the program cannot be read.
    pub(crate) fn of(program: &Path) -> anyhow::Result<ProgramImage> {
        let directory = tempfile::tempdir().context("cannot create a directory for the store")?;
        let path = directory.path().join("store");
        let store = Store::open(&path, StoreOptions::default())?;
        store.import(
            &mut archive(program)?.as_slice(),
            &[Platform::this_machine()],
            None,
        )?;
        let evaluator = ImageEvaluator::new(ImageOptions {
            store: Some(path),
            pull_policy: PullPolicy::Never,
            levels: LevelChoice::Namespaces,
            temporary: directory.path().to_owned(),
            ..ImageOptions::default()
        });
        evaluator.probe_namespaces()?;
        Ok(ProgramImage {
            evaluator,
            _directory: directory,
        })
    }

    pub(crate) fn runner(&self) -> anyhow::Result<Arc<dyn Runner>> {
        let found = self.evaluator.find(&FunctionSpec::image(IMAGE))?;
        Ok(found.into_runner())
    }
}

fn archive(program: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(program).with_context(|| format!("no file {}", program.display()))?;
    let layer = LayerBuilder::default().file(PROGRAM, 0o755, &bytes)?;
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig {
            entrypoint: vec![PROGRAM.to_owned()],
            ..RunConfig::default()
        },
        layers: vec![layer.finish()?],
    };
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec)?;
    layout.add_root(root, IMAGE);
    let mut archive = Vec::new();
    write_archive(&layout, &mut archive)?;
    Ok(archive)
}
