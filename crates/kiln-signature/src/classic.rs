//! cosign's classic signatures: a simple signing payload, with the signature in an annotation.

use crate::public_key::PublicKey;
use crate::rejection::{Rejection, quoted};
use crate::strict_json::StrictJson;
use crate::{Signature, SignedImage, decode_base64, find_key};

pub(crate) const MEDIA_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
/// The type that cosign, podman and skopeo write.
const TYPE: &str = "cosign container image signature";

/// The names of Docker Hub.
const DOCKER_HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The key that made a classic signature of the image.
pub(crate) fn verify<'k>(
    signature: &Signature<'_>,
    image: &SignedImage<'_>,
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Rejection> {
    let annotation = signature.annotations.get(SIGNATURE);
    let annotation = annotation.ok_or(Rejection::Field(SIGNATURE))?;
    let decoded = decode_base64("signature", annotation)?;
    let has_certificate = signature.annotations.contains_key(CERTIFICATE);
    let key = find_key(keys, signature.bytes, &decoded, has_certificate)?;
    check_payload(signature.bytes, image)?;
    Ok(key)
}

/// Checks what was signed.
fn check_payload(bytes: &[u8], image: &SignedImage<'_>) -> Result<(), Rejection> {
    let payload = StrictJson::parse("payload", bytes)?;
    let type_ = payload.text(&["critical", "type"]);
    let type_ = type_.ok_or(Rejection::Field("critical.type"))?;
    if type_ != TYPE {
        return Err(Rejection::Value {
            field: "critical.type",
            found: quoted(type_),
            expected: TYPE,
        });
    }
    let digest = payload.text(&["critical", "image", "docker-manifest-digest"]);
    let digest = digest.ok_or(Rejection::Field("critical.image.docker-manifest-digest"))?;
    if digest != image.digest {
        return Err(Rejection::OtherDigest(vec![quoted(digest)]));
    }
    let Some(expected) = image.repository else {
        return Ok(());
    };
    let found = payload.text(&["critical", "identity", "docker-reference"]);
    let found = found.ok_or(Rejection::Field("critical.identity.docker-reference"))?;
    match repository(found) == repository(expected) {
        true => Ok(()),
        false => Err(Rejection::OtherRepository {
            found: quoted(found),
            expected: expected.to_owned(),
        }),
    }
}

/// Registry and repository of a reference. podman signs references with their tags.
fn repository(reference: &str) -> (&str, &str) {
    let name = reference
        .split_once('@')
        .map_or(reference, |(name, _)| name);
    // A colon before the last slash starts a port.
    let name = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => name,
    };
    match name.split_once('/') {
        Some((registry, repository)) if DOCKER_HUB.contains(&registry) => {
            (DOCKER_HUB[0], repository)
        }
        Some(parts) => parts,
        None => ("", name),
    }
}
