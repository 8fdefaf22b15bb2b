//! Signatures of images, made as cosign makes them, and the files that a registry has for them.
//!
//! The tests of the command line use this file too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kiln_oci::{Descriptor, Digest, media_type};
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};

/// A key that signs.
pub(crate) struct Signer {
    key: KeyPair,
}

/// What a registry answers for a path: media type and body.
pub(crate) type RegistryFile = (String, &'static str, String);

impl Signer {
    pub(crate) fn new() -> Signer {
        Signer {
            key: KeyPair::generate().unwrap(),
        }
    }

    pub(crate) fn public_key(&self) -> String {
        self.key.public_key_pem()
    }

    fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.key.sign(message).unwrap())
    }

    /// A classic signature: the layer and its content. `name` is the repository with its registry.
    pub(crate) fn classic(&self, name: &str, digest: &str) -> (Value, String) {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": name},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string();
        let mut layer = Descriptor::of(media_type::COSIGN_PAYLOAD, payload.as_bytes());
        let key = "dev.cosignproject.cosign/signature".to_owned();
        let signature = self.sign(payload.as_bytes());
        layer.annotations.insert(key, signature);
        (serde_json::to_value(layer).unwrap(), payload)
    }

    /// A bundle: the layer and its content.
    pub(crate) fn bundle(&self, digest: &str) -> (Value, String) {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": digest.trim_start_matches("sha256:")}}],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        });
        let statement = statement.to_string();
        let type_ = "application/vnd.in-toto+json";
        let message = format!(
            "DSSEv1 {} {type_} {} {statement}",
            type_.len(),
            statement.len()
        );
        let bundle = json!({
            "mediaType": media_type::SIGSTORE_BUNDLE,
            "verificationMaterial": {"publicKey": {"hint": ""}},
            "dsseEnvelope": {
                "payload": STANDARD.encode(&statement),
                "payloadType": type_,
                "signatures": [{"sig": self.sign(message.as_bytes())}],
            },
        });
        let bundle = bundle.to_string();
        let layer = Descriptor::of(media_type::SIGSTORE_BUNDLE, bundle.as_bytes());
        (serde_json::to_value(layer).unwrap(), bundle)
    }
}

/// The files of classic signatures of a digest.
pub(crate) fn classic_files(
    repository: &str,
    digest: &str,
    signatures: &[(Value, String)],
) -> Vec<RegistryFile> {
    let tag = format!("{}.sig", digest.replace(':', "-"));
    manifest_files(repository, Some(&tag), signatures).1
}

/// The files of one bundle of a digest, for a registry with the referrers API or without it.
pub(crate) fn bundle_files(
    repository: &str,
    digest: &str,
    bundle: (Value, String),
    has_api: bool,
) -> Vec<RegistryFile> {
    let (manifest, mut files) = manifest_files(repository, None, &[bundle]);
    let mut entry = serde_json::to_value(manifest).unwrap();
    entry["artifactType"] = media_type::SIGSTORE_BUNDLE.into();
    let index = json!({
        "schemaVersion": 2, "mediaType": media_type::OCI_INDEX, "manifests": [entry],
    });
    let path = match has_api {
        true => format!(
            "referrers/{digest}?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson"
        ),
        false => format!("manifests/{}", digest.replace(':', "-")),
    };
    let path = format!("/v2/{repository}/{path}");
    files.push((path, media_type::OCI_INDEX, index.to_string()));
    files
}

/// The files of a manifest with layers, by its digest or by a tag.
fn manifest_files(
    repository: &str,
    tag: Option<&str>,
    layers: &[(Value, String)],
) -> (Descriptor, Vec<RegistryFile>) {
    let values: Vec<&Value> = layers.iter().map(|(layer, _)| layer).collect();
    let config = Descriptor::of("application/vnd.oci.empty.v1+json", b"{}");
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type::OCI_MANIFEST,
        "config": config,
        "layers": values,
    });
    let manifest = manifest.to_string();
    let descriptor = Descriptor::of(media_type::OCI_MANIFEST, manifest.as_bytes());
    let name = tag.unwrap_or(descriptor.digest.as_str());
    let path = format!("/v2/{repository}/manifests/{name}");
    let mut files = vec![(path, media_type::OCI_MANIFEST, manifest)];
    for (_, content) in layers {
        let digest = Digest::of(content.as_bytes());
        let path = format!("/v2/{repository}/blobs/{digest}");
        files.push((path, "application/octet-stream", content.clone()));
    }
    (descriptor, files)
}
