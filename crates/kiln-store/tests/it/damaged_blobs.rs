//! Blobs that a crash of the system has damaged: a pull or an import replaces them.

use std::fs;
use std::path::PathBuf;

use kiln_oci::{Digest, ImageReference, Manifest, PullPolicy};
use kiln_store::{ArchiveError, PullOrigin};

use crate::images::{TestStore, amd64, image, layer, pull};
use crate::registry::TestRegistry;

/// A store with an image, and the registry that has it.
struct DamageTest {
    test: TestStore,
    registry: TestRegistry,
    reference: ImageReference,
    manifest: Digest,
    config: Digest,
    layers: Vec<Digest>,
}

impl DamageTest {
    fn new() -> DamageTest {
        let registry = TestRegistry::start();
        let (layout, root) = image(vec![layer("one", b"first"), layer("two", b"second")]);
        registry.add("a/b:v1", &layout, &root);
        let manifests = layout.manifests_below(&root).unwrap();
        let Manifest::Image(manifest) = &manifests[0].manifest else {
            panic!("an index");
        };
        let layers = manifest.layers.iter().map(|layer| layer.digest.clone());
        let made = DamageTest {
            reference: registry.reference("a/b:v1"),
            manifest: root.digest,
            config: manifest.config.digest.clone(),
            layers: layers.collect(),
            test: TestStore::new(),
            registry,
        };
        made.pull(&made.reference);
        made.registry.requests();
        made
    }

    #[track_caller]
    fn pull(&self, reference: &ImageReference) -> PullOrigin {
        let client = self.registry.client();
        let pulled = pull(
            &self.test.store,
            &client,
            reference,
            PullPolicy::IfNotPresent,
        );
        let pulled = pulled.unwrap();
        for (name, content) in [("one", "first"), ("two", "second")] {
            let found = fs::read_to_string(pulled.image.root_path().join(name));
            assert_eq!(found.unwrap(), content);
        }
        pulled.origin
    }

    fn remove_image(&self) {
        self.test.store.remove(&self.manifest).unwrap();
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        let blobs = self.test.store.directory().join("blobs");
        blobs.join(digest.algorithm()).join(digest.hex())
    }

    fn empty(&self, digest: &Digest) {
        fs::write(self.blob(digest), "").unwrap();
    }

    /// The same length, with other content.
    fn fill_with_zeros(&self, digest: &Digest) {
        let path = self.blob(digest);
        let length = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap();
    }

    #[track_caller]
    fn check_whole(&self) {
        let report = self.test.store.verify().unwrap();
        assert!(report.damages.is_empty(), "{:?}", report.damages);
        assert_eq!(self.test.entries("tmp"), [""; 0]);
    }

    /// The layers that were downloaded since the last call.
    fn downloads(&self) -> Vec<Digest> {
        let requests = self.registry.requests();
        let is_requested =
            |layer: &&Digest| requests.iter().any(|path| path.ends_with(layer.as_str()));
        self.layers.iter().filter(is_requested).cloned().collect()
    }
}

#[test]
fn a_damaged_layer_is_downloaded_again() {
    let damages: [fn(&DamageTest, &Digest); 2] = [DamageTest::empty, DamageTest::fill_with_zeros];
    for damage in damages {
        for which in [vec![0], vec![1], vec![0, 1]] {
            let test = DamageTest::new();
            test.remove_image();
            let damaged: Vec<Digest> = which.iter().map(|&at| test.layers[at].clone()).collect();
            for digest in &damaged {
                damage(&test, digest);
            }
            let origin = test.pull(&test.reference);
            assert!(matches!(origin, PullOrigin::Registry), "{origin:?}");
            assert_eq!(test.downloads(), damaged);
            test.check_whole();
        }
    }
}

#[test]
fn damaged_documents_are_replaced() {
    let test = DamageTest::new();
    for digest in [&test.manifest, &test.config] {
        test.empty(digest);
    }
    let by_digest = test.reference.with_digest(test.manifest.clone());
    test.pull(&by_digest);
    test.check_whole();
    test.registry.requests();
    let origin = test.pull(&by_digest);
    assert!(matches!(origin, PullOrigin::Store), "{origin:?}");
    assert_eq!(test.registry.requests(), [""; 0]);
}

#[test]
fn an_import_replaces_damaged_blobs() {
    let test = DamageTest::new();
    let mut archive = Vec::new();
    let store = &test.test.store;
    store
        .export(&test.reference, &amd64(), &mut archive)
        .unwrap();
    test.remove_image();
    test.empty(&test.manifest);
    test.fill_with_zeros(&test.config);
    test.empty(&test.layers[0]);
    test.fill_with_zeros(&test.layers[1]);
    let imported = store.import(&mut archive.as_slice(), &[amd64()], None);
    assert_eq!(imported.unwrap().len(), 1);
    let origin = test.pull(&test.reference);
    assert!(matches!(origin, PullOrigin::Store), "{origin:?}");
    test.check_whole();
}

#[test]
fn a_damaged_layer_is_not_exported() {
    let test = DamageTest::new();
    test.fill_with_zeros(&test.layers[1]);
    let exported = test
        .test
        .store
        .export(&test.reference, &amd64(), &mut Vec::new());
    let expected = &test.layers[1];
    assert!(
        matches!(&exported, Err(ArchiveError::DamagedBlob(digest)) if digest == expected),
        "{exported:?}"
    );
}
