//! Images and stores of tests.

use std::path::Path;
use std::sync::Arc;

use kiln_oci::{
    Descriptor, ImageLayout, ImageSpec, LayerBuilder, Platform, PullPolicy, RegistryClient,
    RunConfig, add_image,
};
use kiln_store::{PullError, PullRequest, PulledImage, Store, StoreOptions};

/// A store in a directory that is removed at the end.
pub(crate) struct TestStore {
    pub(crate) store: Store,
    pub(crate) directory: tempfile::TempDir,
}

impl TestStore {
    pub(crate) fn new() -> TestStore {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store"), StoreOptions::default());
        TestStore {
            store: store.unwrap(),
            directory,
        }
    }

    /// The entries of a directory of the store.
    pub(crate) fn entries(&self, name: &str) -> Vec<String> {
        entries(&self.store.directory().join(name))
    }
}

pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

pub(crate) fn amd64() -> Platform {
    Platform::linux("amd64")
}

/// A layer with one file.
pub(crate) fn layer(path: &str, content: &[u8]) -> bytes::Bytes {
    let layer = LayerBuilder::default().file(path, 0o755, content).unwrap();
    layer.finish().unwrap()
}

/// An image of layers.
pub(crate) fn image(layers: Vec<bytes::Bytes>) -> (ImageLayout, Descriptor) {
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec(layers)).unwrap();
    (layout, root)
}

pub(crate) fn spec(layers: Vec<bytes::Bytes>) -> ImageSpec {
    ImageSpec {
        platform: amd64(),
        run: RunConfig {
            entrypoint: vec!["function".to_owned()],
            cmd: vec!["--flag".to_owned()],
            env: vec!["PATH=/usr/bin:/bin".to_owned()],
            working_dir: "/work".to_owned(),
            volumes: ["/data".to_owned()].into(),
            ..RunConfig::default()
        },
        layers,
    }
}

/// Pulls an image for amd64 and waits for it.
pub(crate) fn pull(
    store: &Store,
    registry: &RegistryClient,
    reference: &kiln_oci::ImageReference,
    policy: PullPolicy,
) -> Result<PulledImage, Arc<PullError>> {
    let request = PullRequest {
        reference: reference.clone(),
        platform: amd64(),
        policy,
    };
    runtime().block_on(store.pull(registry, &request, Arc::new(())))
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap()
}
