//! Signatures of images: found by their tag and by the referrers API, with and without it.

use std::collections::BTreeMap;

use serde_json::json;

use super::fixtures::{Store, reference, sample};
use super::network::{Reply, TestNetwork};
use crate::media_type::{COSIGN_PAYLOAD, OCI_INDEX, OCI_MANIFEST, SIGSTORE_BUNDLE};
use crate::{Descriptor, Digest, FoundSignatures, RegistryError, RegistryOptions, SignatureLimits};

const LIMITS: SignatureLimits = SignatureLimits {
    count: 4,
    bytes: 100,
};

/// A registry with signatures of the digest of "image".
struct SignedRegistry {
    store: Store,
    /// The pages of the referrers API; none without the API.
    pages: Vec<String>,
    /// The answer to requests for other pages.
    without_page: Reply,
}

fn digest() -> Digest {
    Digest::of(b"image")
}

impl SignedRegistry {
    fn new() -> SignedRegistry {
        SignedRegistry {
            store: sample().0,
            pages: Vec::new(),
            without_page: Reply::new(404),
        }
    }

    /// Adds a manifest of layers with a name, and returns its descriptor.
    fn add(&self, name: Option<&str>, media_type: &str, layers: &[&str]) -> Descriptor {
        let layers = layers.iter().map(|content| {
            let mut layer = Descriptor::of(media_type, content.as_bytes());
            layer.annotations = BTreeMap::from([("key".to_owned(), (*content).to_owned())]);
            let name = format!("a/b:{}", layer.digest);
            self.store.put_blob(&name, content.as_bytes().to_vec());
            layer
        });
        let layers: Vec<Descriptor> = layers.collect();
        let config = Descriptor::of("application/vnd.oci.empty.v1+json", b"{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": layers,
        });
        let bytes = serde_json::to_vec(&manifest).unwrap();
        let descriptor = Descriptor::of(OCI_MANIFEST, &bytes);
        let name = name.unwrap_or(descriptor.digest.as_str());
        self.store
            .put_manifest(&format!("a/b:{name}"), OCI_MANIFEST, bytes);
        descriptor
    }

    async fn find(self) -> (Result<FoundSignatures, RegistryError>, Vec<String>) {
        let network = TestNetwork::default();
        let SignedRegistry {
            store,
            pages,
            without_page,
        } = self;
        network.add("r.test:443", move |request| {
            let Some((_, rest)) = request.target.split_once("/referrers/") else {
                return store.respond(request);
            };
            let page = rest.split_once("page=").map_or("0", |(_, page)| page);
            let page: usize = page.parse().unwrap();
            let Some(body) = pages.get(page) else {
                return without_page.clone();
            };
            let reply = Reply::new(200).with("content-type", OCI_INDEX);
            let next = format!("</v2/a/b/referrers/x?page={}>; rel=\"next\"", page + 1);
            match pages.get(page + 1) {
                Some(_) => reply.with("link", &next).body(body.clone()),
                None => reply.body(body.clone()),
            }
        });
        let registry = network.registry(RegistryOptions::default());
        let name = reference("r.test/a/b:v1");
        let found = registry.signatures(&name, &digest(), &LIMITS).await;
        (found, network.requests())
    }
}

/// An entry of a list of referrers.
fn referrer(descriptor: &Descriptor, artifact_type: Option<&str>) -> serde_json::Value {
    let mut entry = serde_json::to_value(descriptor).unwrap();
    if let Some(artifact_type) = artifact_type {
        entry["artifactType"] = artifact_type.into();
    }
    entry
}

fn page(entries: &[serde_json::Value]) -> String {
    json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).to_string()
}

/// Why bundles are missing.
fn bundle_error(found: Result<FoundSignatures, RegistryError>) -> Option<RegistryError> {
    found.unwrap().bundle_error
}

fn contents(found: &FoundSignatures) -> Vec<&str> {
    let text = |blob: &'_ crate::SignatureBlob| blob.descriptor.annotations["key"].clone();
    for blob in &found.blobs {
        assert_eq!(blob.bytes, text(blob).as_bytes());
    }
    let texts = found.blobs.iter().map(|blob| blob.bytes.as_ref());
    texts
        .map(|text| std::str::from_utf8(text).unwrap())
        .collect()
}

fn classic_tag() -> String {
    format!("sha256-{}.sig", digest().hex())
}

fn index_tag() -> String {
    format!("sha256-{}", digest().hex())
}

#[tokio::test(start_paused = true)]
async fn an_image_without_signatures() {
    let (found, requests) = SignedRegistry::new().find().await;
    let (digest, hex) = (digest(), digest().hex().to_owned());
    assert_eq!(
        requests,
        [
            format!("GET r.test:443/v2/a/b/manifests/sha256-{hex}.sig"),
            format!(
                "GET r.test:443/v2/a/b/referrers/{digest}?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson"
            ),
            format!("GET r.test:443/v2/a/b/manifests/sha256-{hex}"),
        ]
    );
    let found = found.unwrap();
    assert!(found.blobs.is_empty());
    assert_eq!(
        found.searched,
        [
            format!("r.test/a/b:sha256-{hex}.sig"),
            format!("r.test/a/b:sha256-{hex}")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn classic_signatures_are_layers_of_a_tag() {
    let registry = SignedRegistry::new();
    registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &["one", "two"]);
    let (found, _) = registry.find().await;
    assert_eq!(contents(&found.unwrap()), ["one", "two"]);
    // Layers of other types are not signatures.
    let registry = SignedRegistry::new();
    registry.add(Some(&classic_tag()), "text/plain", &["one"]);
    let (found, _) = registry.find().await;
    assert!(found.unwrap().blobs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn bundles_are_referrers_on_all_pages() {
    let mut registry = SignedRegistry::new();
    let one = registry.add(None, SIGSTORE_BUNDLE, &["one"]);
    let two = registry.add(None, SIGSTORE_BUNDLE, &["two"]);
    let mut attestation = registry.add(None, SIGSTORE_BUNDLE, &["attestation"]);
    let key = "dev.sigstore.bundle.predicateType".to_owned();
    let slsa = "https://slsa.dev/provenance/v1".to_owned();
    attestation.annotations.insert(key, slsa);
    let sbom = registry.add(None, "text/spdx", &["sbom"]);
    registry.pages = vec![
        page(&[
            referrer(&sbom, Some("text/spdx")),
            referrer(&one, Some(SIGSTORE_BUNDLE)),
            referrer(&attestation, Some(SIGSTORE_BUNDLE)),
        ]),
        // The type is known only from the manifest.
        page(&[referrer(&two, None)]),
    ];
    let (found, requests) = registry.find().await;
    let found = found.unwrap();
    assert_eq!(contents(&found), ["one", "two"]);
    let source = format!("referrers of r.test/a/b@{}", digest());
    assert_eq!(found.searched[1], source);
    assert!(
        !requests
            .iter()
            .any(|request| request.contains(sbom.digest.as_str()))
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_api_referrers_are_in_a_tagged_index() {
    let registry = SignedRegistry::new();
    let one = registry.add(None, SIGSTORE_BUNDLE, &["one"]);
    registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &["two"]);
    let index = page(&[referrer(&one, Some(SIGSTORE_BUNDLE))]);
    let name = format!("a/b:{}", index_tag());
    registry.store.put_manifest(&name, OCI_INDEX, index);
    let (found, _) = registry.find().await;
    assert_eq!(contents(&found.unwrap()), ["two", "one"]);
    // The tag may name something else.
    let registry = SignedRegistry::new();
    registry.add(Some(&index_tag()), SIGSTORE_BUNDLE, &["one"]);
    let (found, _) = registry.find().await;
    let error = bundle_error(found);
    assert!(matches!(error, Some(RegistryError::Protocol { .. })));
}

/// Registries answer in many ways that they do not have the API.
#[tokio::test(start_paused = true)]
async fn signatures_are_found_whatever_a_registry_answers_for_referrers() {
    let html = "<html><body>Sign in</body></html>";
    let empty = page(&[]);
    let without_api = [
        Reply::new(404),
        Reply::new(400).body("{\"errors\":[{\"code\":\"UNSUPPORTED\"}]}"),
        Reply::new(405),
        Reply::new(406).with("content-type", "text/html").body(html),
        Reply::new(501),
        Reply::new(200).with("content-type", "text/html").body(html),
        Reply::new(200).with("content-type", OCI_INDEX).body(html),
        Reply::new(200)
            .with("content-type", "application/json")
            .body("{}"),
        Reply::new(200)
            .with("content-type", OCI_INDEX)
            .body("{\"manifests\":1}"),
        Reply::new(200)
            .with("content-type", "application/json")
            .body(empty),
        Reply::new(200).body("{\"errors\":[]}"),
        Reply::new(200),
        Reply::new(204),
    ];
    for without_page in without_api {
        let registry = SignedRegistry::new();
        let bundle = registry.add(None, SIGSTORE_BUNDLE, &["bundle"]);
        registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &["classic"]);
        let index = page(&[referrer(&bundle, Some(SIGSTORE_BUNDLE))]);
        let name = format!("a/b:{}", index_tag());
        registry.store.put_manifest(&name, OCI_INDEX, index);
        let answer = format!("{without_page:?}");
        let (found, _) = SignedRegistry {
            without_page,
            ..registry
        }
        .find()
        .await;
        let found = found.unwrap();
        assert_eq!(contents(&found), ["classic", "bundle"], "{answer}");
        assert!(found.bundle_error.is_none(), "{answer}");
    }
    // Errors. The classic signature may be enough.
    for status in [401, 403, 408, 418, 429, 500, 502, 503, 504] {
        let registry = SignedRegistry::new();
        registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &["classic"]);
        let (found, _) = SignedRegistry {
            without_page: Reply::new(status),
            ..registry
        }
        .find()
        .await;
        let found = found.unwrap();
        assert_eq!(contents(&found), ["classic"], "{status}");
        assert!(found.bundle_error.is_some(), "{status}");
    }
    // With the API, entries count, and an empty list has no fallback.
    for content_type in [
        OCI_INDEX,
        "Application/vnd.oci.image.index.v1+JSON; charset=utf-8",
    ] {
        let registry = SignedRegistry::new();
        let bundle = registry.add(None, SIGSTORE_BUNDLE, &["bundle"]);
        let index = page(&[referrer(&bundle, Some(SIGSTORE_BUNDLE))]);
        let name = format!("a/b:{}", index_tag());
        registry.store.put_manifest(&name, OCI_INDEX, index);
        let empty = page(&[]).replace("[]", "null");
        let without_page = Reply::new(200)
            .with("content-type", content_type)
            .body(empty);
        let (found, _) = SignedRegistry {
            without_page,
            ..registry
        }
        .find()
        .await;
        assert!(contents(&found.unwrap()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn altered_manifests_and_signatures_are_refused() {
    let mut registry = SignedRegistry::new();
    let one = registry.add(None, SIGSTORE_BUNDLE, &["one"]);
    registry.pages = vec![page(&[referrer(&one, Some(SIGSTORE_BUNDLE))])];
    let other = registry.add(None, SIGSTORE_BUNDLE, &["other"]);
    assert_ne!(one.digest, other.digest);
    let name = format!("a/b:{}", one.digest);
    registry
        .store
        .put_manifest(&name, OCI_MANIFEST, "{\"schemaVersion\":2}");
    let (found, _) = registry.find().await;
    let error = bundle_error(found);
    assert!(matches!(error, Some(RegistryError::Digest { .. })));

    let registry = SignedRegistry::new();
    registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &["one"]);
    let name = format!("a/b:{}", Digest::of(b"one"));
    registry.store.put_blob(&name, "two");
    let (found, _) = registry.find().await;
    assert!(matches!(found, Err(RegistryError::Digest { .. })));
}

#[tokio::test(start_paused = true)]
async fn number_and_size_are_limited() {
    let names = ["one", "two", "three", "four", "five"];
    for (count, is_allowed) in [(4, true), (5, false)] {
        let registry = SignedRegistry::new();
        registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &names[..count]);
        let (found, _) = registry.find().await;
        assert_eq!(found.is_ok(), is_allowed, "{count}");

        let mut registry = SignedRegistry::new();
        let entries = names[..count].iter().map(|name| {
            let bundle = registry.add(None, SIGSTORE_BUNDLE, &[name]);
            referrer(&bundle, Some(SIGSTORE_BUNDLE))
        });
        let entries: Vec<_> = entries.collect();
        registry.pages = vec![page(&entries)];
        let (found, _) = registry.find().await;
        assert_eq!(found.is_ok(), is_allowed, "{count}");
    }
    // Both kinds count together.
    let mut registry = SignedRegistry::new();
    registry.add(Some(&classic_tag()), COSIGN_PAYLOAD, &names[..4]);
    let bundle = registry.add(None, SIGSTORE_BUNDLE, &["five"]);
    registry.pages = vec![page(&[referrer(&bundle, Some(SIGSTORE_BUNDLE))])];
    let (found, _) = registry.find().await;
    assert!(matches!(
        found,
        Err(RegistryError::TooManySignatures { limit: 4, .. })
    ));

    let registry = SignedRegistry::new();
    registry.add(
        Some(&classic_tag()),
        COSIGN_PAYLOAD,
        &["x".repeat(101).as_str()],
    );
    let (found, _) = registry.find().await;
    assert!(matches!(
        found,
        Err(RegistryError::TooLarge { limit: 100, .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn invalid_and_endless_lists_are_refused() {
    for (first, second) in [(page(&[]), "{\"manifests\":1}"), (page(&[]), "<html>")] {
        let mut registry = SignedRegistry::new();
        registry.pages = vec![first, second.to_owned()];
        let (found, _) = registry.find().await;
        let error = bundle_error(found);
        assert!(matches!(error, Some(RegistryError::Protocol { .. })));
    }
    let mut registry = SignedRegistry::new();
    registry.pages = vec![page(&[]); 100];
    let (found, requests) = registry.find().await;
    let error = bundle_error(found);
    assert!(matches!(error, Some(RegistryError::Protocol { .. })));
    assert_eq!(requests.len(), 33);
}
