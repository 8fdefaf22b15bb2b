//! Signed images: found in registries with and without the referrers API, kept in the store, on indexes and on images.

use kiln_oci::{
    Descriptor, Digest, ImageIndex, ImageLayout, ImageReference, PullPolicy, RegistryError,
    add_image, media_type,
};
use kiln_signature::{MAX_SIGNATURE_BYTES, PublicKey, Rejection, SignatureFormat};
use kiln_store::{
    CollectLimits, KeyFileError, PullError, RepositoryCheck, SignatureError, SignatureRequest,
    SignatureSource, VerifiedImage, pull_signatures, read_public_key, verify_signatures,
};

use crate::images::{TestStore, amd64, layer, pull, runtime, spec};
use crate::registry::{Behaviour, TestRegistry};
use crate::sign::{Signer, bundle_files, classic_files};

/// The image `a/b:v1`, an index with one image, in a registry; a store and a key.
pub(crate) struct SignedTest {
    pub(crate) registry: TestRegistry,
    pub(crate) reference: ImageReference,
    pub(crate) test: TestStore,
    pub(crate) signer: Signer,
    pub(crate) index: Digest,
    pub(crate) image: Digest,
}

impl SignedTest {
    pub(crate) fn new() -> SignedTest {
        let registry = TestRegistry::start();
        let mut layout = ImageLayout::default();
        let image = add_image(&mut layout, spec(vec![layer("file", b"content")])).unwrap();
        let index = ImageIndex {
            schema_version: 2,
            media_type: Some(media_type::OCI_INDEX.to_owned()),
            manifests: vec![image.clone()],
        };
        let bytes = serde_json::to_vec(&index).unwrap();
        let index: Descriptor = layout.add_blob(media_type::OCI_INDEX, bytes.into());
        registry.add("a/b:v1", &layout, &index);
        SignedTest {
            reference: registry.reference("a/b:v1"),
            registry,
            test: TestStore::new(),
            signer: Signer::new(),
            index: index.digest,
            image: image.digest,
        }
    }

    /// The repository with its registry.
    pub(crate) fn name(&self) -> String {
        format!("{}/a/b", self.registry.host)
    }

    pub(crate) fn add_classic(&self, name: &str, digest: &Digest, signed: &Digest) {
        let signature = self.signer.classic(name, signed.as_str());
        let files = classic_files("a/b", digest.as_str(), &[signature]);
        self.registry.put(files);
    }

    fn add_bundle(&self, digest: &Digest, has_api: bool) {
        let bundle = self.signer.bundle(digest.as_str());
        let files = bundle_files("a/b", digest.as_str(), bundle, has_api);
        self.registry.put(files);
    }

    fn pull(&self) {
        let client = self.registry.client();
        pull(
            &self.test.store,
            &client,
            &self.reference,
            PullPolicy::Always,
        )
        .unwrap();
    }

    fn verify_with(
        &self,
        signer: &Signer,
        policy: PullPolicy,
        repository: RepositoryCheck,
    ) -> Result<VerifiedImage, SignatureError> {
        let other = Signer::new().public_key();
        let keys = [("other", other), ("key", signer.public_key())]
            .map(|(name, pem)| PublicKey::from_pem(name, pem.as_bytes()).unwrap());
        let request = SignatureRequest {
            reference: &self.reference,
            platform: &amd64(),
            policy,
            keys: &keys,
            repository,
        };
        let client = self.registry.client();
        runtime().block_on(verify_signatures(&client, Some(&self.test.store), &request))
    }

    fn verify(&self, policy: PullPolicy) -> Result<VerifiedImage, SignatureError> {
        self.verify_with(&self.signer, policy, RepositoryCheck::Same)
    }

    #[track_caller]
    fn check(
        &self,
        policy: PullPolicy,
        signed: &Digest,
        format: SignatureFormat,
        source: SignatureSource,
    ) {
        let verified = self.verify(policy).unwrap();
        assert_eq!(&verified.signed_digest, signed);
        assert_eq!(verified.manifest_digest, self.image);
        assert_eq!((verified.key.as_str(), verified.format), ("key", format));
        assert_eq!(verified.source, source);
    }

    /// The only reason why no signature is valid.
    #[track_caller]
    fn rejection(&self) -> Rejection {
        match self.verify(PullPolicy::IfNotPresent) {
            Err(SignatureError::Rejected { rejected, .. }) if rejected.len() == 1 => {
                rejected[0].reason.clone()
            }
            result => panic!("{result:?}"),
        }
    }
}

#[test]
fn signatures_of_index_and_image_count_in_both_formats() {
    for is_index in [true, false] {
        let test = SignedTest::new();
        let signed = if is_index { &test.index } else { &test.image };
        test.add_classic(&test.name(), signed, signed);
        let (format, source) = (SignatureFormat::Classic, SignatureSource::Registry);
        test.check(PullPolicy::IfNotPresent, signed, format, source);
        for has_api in [true, false] {
            let test = SignedTest::new();
            let signed = if is_index { &test.index } else { &test.image };
            test.add_bundle(signed, has_api);
            let format = SignatureFormat::Bundle;
            test.check(PullPolicy::IfNotPresent, signed, format, source);
        }
    }
}

/// A problem with referrers matters only if nothing else is valid.
#[test]
fn a_classic_signature_is_enough_if_referrers_cannot_be_read() {
    let referrers = "?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson";
    for status in [200, 400, 403, 404, 405, 406, 418, 500, 501] {
        let is_error = matches!(status, 403 | 418 | 500);
        for is_index in [true, false] {
            let (format, source) = (SignatureFormat::Classic, SignatureSource::Registry);
            let test = SignedTest::new();
            test.registry.behave(referrers, Behaviour::Status(status));
            let signed = if is_index { &test.index } else { &test.image };
            test.add_classic(&test.name(), signed, signed);
            test.check(PullPolicy::IfNotPresent, signed, format, source);
            // An invalid one is not.
            let result = test.verify_with(
                &Signer::new(),
                PullPolicy::IfNotPresent,
                RepositoryCheck::Same,
            );
            let is_registry = matches!(&result, Err(SignatureError::Pull(_)));
            assert_eq!(is_registry, is_error, "{status} {result:?}");

            let test = SignedTest::new();
            test.registry.behave(referrers, Behaviour::Status(status));
            let signed = if is_index { &test.index } else { &test.image };
            test.add_bundle(signed, false);
            match is_error {
                true => assert!(test.verify(PullPolicy::IfNotPresent).is_err(), "{status}"),
                false => test.check(
                    PullPolicy::IfNotPresent,
                    signed,
                    SignatureFormat::Bundle,
                    source,
                ),
            }
        }
    }
    // What can be read is kept.
    let test = SignedTest::new();
    test.registry.behave(referrers, Behaviour::Status(418));
    test.add_classic(&test.name(), &test.index, &test.index);
    test.pull();
    let client = test.registry.client();
    let store = &test.test.store;
    let platform = amd64();
    let pulled = pull_signatures(&client, store, &test.reference, &platform);
    assert!(runtime().block_on(pulled).is_err());
    let (format, source) = (SignatureFormat::Classic, SignatureSource::Store);
    test.check(PullPolicy::Never, &test.index, format, source);
}

#[test]
fn an_image_without_signatures_lists_where_they_were_looked_up() {
    let test = SignedTest::new();
    let error = test.verify(PullPolicy::IfNotPresent).unwrap_err();
    let message = error.to_string();
    for digest in [&test.index, &test.image] {
        let tag = format!("{}:sha256-{}", test.name(), digest.hex());
        assert!(message.contains(&format!("{tag}.sig, {tag}")), "{message}");
    }
}

#[test]
fn other_keys_digests_and_repositories_are_refused() {
    let test = SignedTest::new();
    test.add_classic(&test.name(), &test.index, &test.index);
    let policy = PullPolicy::IfNotPresent;
    let result = test.verify_with(&Signer::new(), policy, RepositoryCheck::Same);
    let message = result.unwrap_err().to_string();
    let expected = format!(
        "\n  classic signature of {}: it was not made with any of the keys, or was altered",
        test.index
    );
    assert!(message.ends_with(&expected), "{message}");

    let test = SignedTest::new();
    test.add_classic(&test.name(), &test.index, &Digest::of(b"other"));
    assert!(matches!(test.rejection(), Rejection::OtherDigest(_)));

    let test = SignedTest::new();
    test.add_classic("example.com/a/b", &test.index, &test.index);
    assert!(matches!(
        test.rejection(),
        Rejection::OtherRepository { .. }
    ));
    let result = test.verify_with(&test.signer, policy, RepositoryCheck::Any);
    assert_eq!(result.unwrap().signed_digest, test.index);
}

#[test]
fn the_signature_of_an_index_that_does_not_contain_the_image_is_refused() {
    // A signed index of the same repository, presented for another image.
    let test = SignedTest::new();
    let other = Digest::of(b"another index");
    test.add_classic(&test.name(), &other, &other);
    test.add_bundle(&other, true);
    let result = test.verify(PullPolicy::IfNotPresent);
    assert!(matches!(result, Err(SignatureError::NotFound { .. })));
    let bundle = test.signer.bundle(other.as_str());
    let files = bundle_files("a/b", test.image.as_str(), bundle, true);
    test.registry.put(files);
    assert!(matches!(test.rejection(), Rejection::OtherDigest(_)));
}

#[test]
fn pulled_signatures_are_verified_without_a_registry() {
    let test = SignedTest::new();
    test.add_classic(&test.name(), &test.index, &test.index);
    test.add_bundle(&test.image, true);
    test.pull();
    let never = test.verify(PullPolicy::Never);
    assert!(matches!(never, Err(SignatureError::NotFound { .. })));
    let client = test.registry.client();
    let store = &test.test.store;
    let platform = amd64();
    let pulled = pull_signatures(&client, store, &test.reference, &platform);
    runtime().block_on(pulled).unwrap();
    assert_eq!(test.test.entries("signatures").len(), 2);
    test.registry.requests();
    let (format, source) = (SignatureFormat::Classic, SignatureSource::Store);
    for policy in [PullPolicy::IfNotPresent, PullPolicy::Never] {
        test.check(policy, &test.index, format, source);
    }
    assert_eq!(test.registry.requests(), Vec::<String>::new());
    let always = SignatureSource::Registry;
    test.check(PullPolicy::Always, &test.index, format, always);
    test.registry.go_away();
    test.check(PullPolicy::Always, &test.index, format, source);
    // Collection keeps signatures as long as their image.
    let keep = CollectLimits::default();
    store.collect(&keep).unwrap();
    test.check(PullPolicy::Never, &test.index, format, source);
    assert!(store.verify().unwrap().damages.is_empty());
    store.remove(&test.image).unwrap();
    store.collect(&keep).unwrap();
    assert!(test.test.entries("signatures").is_empty());
    assert!(test.test.entries("blobs/sha256").is_empty());
}

#[test]
fn verified_signatures_are_kept_with_a_stored_image() {
    let test = SignedTest::new();
    test.add_bundle(&test.index, false);
    let (format, source) = (SignatureFormat::Bundle, SignatureSource::Registry);
    test.check(PullPolicy::IfNotPresent, &test.index, format, source);
    assert!(test.test.entries("signatures").is_empty());
    test.pull();
    test.check(PullPolicy::IfNotPresent, &test.index, format, source);
    let source = SignatureSource::Store;
    test.check(PullPolicy::Never, &test.index, format, source);
    // A damaged list or signature is not used.
    let directory = test.test.store.directory().join("signatures");
    let name = &test.test.entries("signatures")[0];
    std::fs::write(directory.join(name), "{").unwrap();
    let result = test.verify(PullPolicy::Never);
    assert!(matches!(result, Err(SignatureError::NotFound { .. })));
    let source = SignatureSource::Registry;
    test.check(PullPolicy::IfNotPresent, &test.index, format, source);
}

#[test]
fn an_image_that_is_not_stored_needs_a_registry() {
    let test = SignedTest::new();
    let result = test.verify(PullPolicy::Never);
    let pull_error = |error| match error {
        SignatureError::Pull(error) => *error,
        error => panic!("{error}"),
    };
    let error = pull_error(result.unwrap_err());
    assert!(matches!(error, PullError::NotInStore(_)));
    test.registry.go_away();
    let result = test.verify(PullPolicy::IfNotPresent);
    let error = pull_error(result.unwrap_err());
    let is_away = matches!(
        error,
        PullError::Registry(RegistryError::Unreachable { .. })
    );
    assert!(is_away);
}

#[test]
fn the_thirty_third_and_the_too_large_signature_are_errors() {
    let add = |test: &SignedTest, count: usize| {
        let signatures: Vec<_> = (0..count)
            .map(|_| test.signer.classic(&test.name(), test.index.as_str()))
            .collect();
        let files = classic_files("a/b", test.index.as_str(), &signatures);
        test.registry.put(files);
    };
    let test = SignedTest::new();
    add(&test, 32);
    assert!(test.verify(PullPolicy::IfNotPresent).is_ok());
    add(&test, 33);
    let error = test.verify(PullPolicy::IfNotPresent).unwrap_err();
    assert!(error.to_string().ends_with("has more than 32 signatures"));

    let test = SignedTest::new();
    let (mut layer, _) = test.signer.classic(&test.name(), test.index.as_str());
    let large = " ".repeat(MAX_SIGNATURE_BYTES + 1);
    layer["digest"] = Digest::of(large.as_bytes()).as_str().into();
    layer["size"] = large.len().into();
    let files = classic_files("a/b", test.index.as_str(), &[(layer, large)]);
    test.registry.put(files);
    let error = test.verify(PullPolicy::IfNotPresent).unwrap_err();
    let message = error.to_string();
    assert!(message.ends_with("is larger than the limit of 262144 bytes"));
}

#[test]
fn key_files_are_read_and_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.pub");
    let missing = read_public_key(&path).unwrap_err();
    assert!(matches!(missing, KeyFileError::Read { .. }));
    std::fs::write(&path, Signer::new().public_key()).unwrap();
    let key = read_public_key(&path).unwrap();
    assert_eq!(key.name(), path.display().to_string());
    std::fs::write(&path, " ".repeat(100_000)).unwrap();
    let large = read_public_key(&path).unwrap_err();
    assert!(matches!(large, KeyFileError::TooLarge { .. }));
    std::fs::write(&path, "-----BEGIN PRIVATE KEY-----\n").unwrap();
    let private = read_public_key(&path).unwrap_err();
    assert!(matches!(private, KeyFileError::Key { .. }));
}
