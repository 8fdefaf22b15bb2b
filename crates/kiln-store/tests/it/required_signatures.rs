//! Images that must be signed before they run: which digest may run, and which verdicts are kept.

use std::sync::Arc;
use std::time::Duration;

use kiln_oci::{
    Descriptor, Digest, ImageIndex, ImageLayout, ImageReference, Platform, PullPolicy, add_image,
    media_type,
};
use kiln_signature::PublicKey;
use kiln_store::{
    CollectLimits, RepositoryCheck, RequiredSignatures, SignatureError, SignatureRequirement,
    verify_required,
};

use crate::images::{amd64, layer, runtime, spec};
use crate::sign::{Signer, classic_files};
use crate::signatures::SignedTest;

fn key(signer: &Signer) -> PublicKey {
    named("key", signer)
}

fn named(name: &str, signer: &Signer) -> PublicKey {
    PublicKey::from_pem(name, signer.public_key().as_bytes()).unwrap()
}

fn verify(
    test: &SignedTest,
    reference: &ImageReference,
    platform: &Platform,
    keys: &[&PublicKey],
) -> Result<Digest, SignatureError> {
    let requirement = |key: &&PublicKey| one_of(&[key], RepositoryCheck::Same);
    let signatures: Vec<_> = keys.iter().map(requirement).collect();
    verify_all(test, reference, platform, &signatures)
}

fn one_of(keys: &[&PublicKey], repository: RepositoryCheck) -> Arc<SignatureRequirement> {
    let keys = keys.iter().map(|&key| key.clone()).collect();
    Arc::new(SignatureRequirement { keys, repository })
}

fn verify_all(
    test: &SignedTest,
    reference: &ImageReference,
    platform: &Platform,
    signatures: &[Arc<SignatureRequirement>],
) -> Result<Digest, SignatureError> {
    let required = RequiredSignatures {
        reference,
        platform,
        policy: PullPolicy::IfNotPresent,
        signatures,
    };
    let client = test.registry.client();
    runtime().block_on(verify_required(&client, Some(&test.test.store), &required))
}

#[test]
fn a_verdict_spares_requests_for_this_digest_and_this_key_only() {
    let test = SignedTest::new();
    let (team, other) = (key(&test.signer), key(&Signer::new()));
    let refused = verify(&test, &test.reference, &amd64(), &[&team]);
    assert!(matches!(refused, Err(SignatureError::NotFound { .. })));
    test.add_classic(&test.name(), &test.index, &test.index);
    let verified = verify(&test, &test.reference, &amd64(), &[&team]);
    assert_eq!(verified.unwrap(), test.index);
    assert_eq!(test.test.entries("verdicts").len(), 1);

    // The tag is looked up again, the signatures are not.
    test.registry.requests();
    verify(&test, &test.reference, &amd64(), &[&team]).unwrap();
    let requests = test.registry.requests();
    let asked = |part: &str| requests.iter().any(|request| request.contains(part));
    assert!(
        asked("/manifests/v1") && !asked(".sig") && !asked("referrers"),
        "{requests:?}"
    );

    // A digest needs no request at all.
    let by_digest = test.reference.with_digest(test.index.clone());
    test.registry.go_away();
    assert_eq!(
        verify(&test, &by_digest, &amd64(), &[&team]).unwrap(),
        test.index
    );
    assert!(verify(&test, &by_digest, &amd64(), &[&other]).is_err());
    assert!(verify(&test, &by_digest, &amd64(), &[&team, &other]).is_err());
    let elsewhere: ImageReference = format!("{}/a/c@{}", test.registry.host, test.index)
        .parse()
        .unwrap();
    assert!(verify(&test, &elsewhere, &amd64(), &[&team]).is_err());

    // A verdict with other content counts for nothing.
    let path = test.test.store.directory().join("verdicts");
    let path = path.join(&test.test.entries("verdicts")[0]);
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, "signed\n").unwrap();
    assert!(verify(&test, &by_digest, &amd64(), &[&team]).is_err());
    std::fs::write(&path, text).unwrap();
    verify(&test, &by_digest, &amd64(), &[&team]).unwrap();
    let limits = CollectLimits {
        age: Duration::ZERO,
        ..CollectLimits::default()
    };
    test.test.store.collect(&limits).unwrap();
    assert_eq!(test.test.entries("verdicts"), Vec::<String>::new());
}

#[test]
fn the_digest_that_runs_is_covered_by_all_keys() {
    let test = SignedTest::new();
    let second = Signer::new();
    test.add_classic(&test.name(), &test.index, &test.index);
    let signature = second.classic(&test.name(), test.image.as_str());
    test.registry
        .put(classic_files("a/b", test.image.as_str(), &[signature]));
    let (one, two) = (key(&test.signer), key(&second));
    for keys in [[&one, &two], [&two, &one]] {
        let verified = verify(&test, &test.reference, &amd64(), &keys);
        assert_eq!(verified.unwrap(), test.image);
    }
    let verified = verify(&test, &test.reference, &amd64(), &[&one]);
    assert_eq!(verified.unwrap(), test.index);
}

/// For a key that is replaced by another one.
#[test]
fn one_of_several_keys_is_enough() {
    let test = SignedTest::new();
    let (old, new) = (named("old", &test.signer), named("new", &Signer::new()));
    let other = named("other", &Signer::new());
    test.add_classic(&test.name(), &test.index, &test.index);
    let same = RepositoryCheck::Same;
    let verify = |signatures: &[_]| verify_all(&test, &test.reference, &amd64(), signatures).ok();
    let index = Some(test.index.clone());
    assert_eq!(verify(&[one_of(&[&new, &other], same)]), None);
    assert_eq!(verify(&[one_of(&[&new, &old], same)]), index);
    assert_eq!(test.test.entries("verdicts").len(), 1);
    // The verdict is about the key that signed.
    assert_eq!(verify(&[one_of(&[&old], same)]), index);
    assert_eq!(verify(&[one_of(&[&new], same)]), None);
    let both = [one_of(&[&new, &old], same), one_of(&[&new], same)];
    assert_eq!(verify(&both), None);
}

#[test]
fn a_signature_for_another_repository_counts_only_if_any_is_allowed() {
    let test = SignedTest::new();
    let team = key(&test.signer);
    test.add_classic("example.com/a/b", &test.index, &test.index);
    let (same, any) = (RepositoryCheck::Same, RepositoryCheck::Any);
    let verify = |check| {
        let signatures = [one_of(&[&team], check)];
        verify_all(&test, &test.reference, &amd64(), &signatures).ok()
    };
    let index = Some(test.index.clone());
    assert_eq!(verify(same), None);
    assert_eq!(verify(any), index);
    // Its verdict is not one about this repository.
    assert_eq!(test.test.entries("verdicts").len(), 1);
    assert_eq!(verify(same), None);
    assert_eq!(verify(any), index);
}

#[test]
fn an_index_without_this_platform_is_verified_itself() {
    let test = SignedTest::new();
    let mut layout = ImageLayout::default();
    let module = add_image(&mut layout, spec(vec![layer("fn.wasm", b"module")])).unwrap();
    let module = Descriptor {
        platform: Some("js/wasm".parse().unwrap()),
        ..module
    };
    let index = ImageIndex {
        schema_version: 2,
        media_type: Some(media_type::OCI_INDEX.to_owned()),
        manifests: vec![module],
    };
    let bytes = serde_json::to_vec(&index).unwrap();
    let index: Descriptor = layout.add_blob(media_type::OCI_INDEX, bytes.into());
    test.registry.add("a/b:wasm", &layout, &index);
    let reference = test.registry.reference("a/b:wasm");
    let team = key(&test.signer);
    let refused = verify(&test, &reference, &amd64(), &[&team]);
    assert!(
        matches!(refused, Err(SignatureError::NotFound { .. })),
        "{refused:?}"
    );
    test.add_classic(&test.name(), &index.digest, &index.digest);
    let verified = verify(&test, &reference, &amd64(), &[&team]);
    assert_eq!(verified.unwrap(), index.digest);
}
