//! Signatures that cosign made (`tests/cosign/make`), in both of its formats.

use kiln_signature::{
    InvalidSignatures, PublicKey, Rejection, Signature, SignatureFormat, SignedImage, verify,
};
use serde_json::Value;

use super::{SIGNATURE, file_in, key};

/// The digest of `image.json`, and the repository where it was signed.
const IMAGE: SignedImage<'_> = SignedImage {
    digest: "sha256:9e3de1b778708e7c7d5d84e079a337dd7fe7d99eb7f56b625abdb7a3f6bc56c5",
    repository: Some("localhost:5741/team/function"),
};

/// Verifies the signature in a layer of a manifest.
fn check(
    manifest: &str,
    layer: &str,
    image: &SignedImage<'_>,
    key: &PublicKey,
) -> Result<SignatureFormat, Rejection> {
    let manifest: Value = serde_json::from_slice(&file_in("cosign", manifest)).unwrap();
    let descriptor = &manifest["layers"][0];
    let media_type = descriptor["mediaType"].as_str().unwrap();
    let annotation = descriptor["annotations"][SIGNATURE].as_str();
    let annotations = annotation.map(|text| (SIGNATURE.to_owned(), text.to_owned()));
    let annotations = annotations.into_iter().collect();
    let bytes = file_in("cosign", layer);
    let signature = Signature {
        format: SignatureFormat::of_media_type(media_type).unwrap(),
        bytes: &bytes,
        annotations: &annotations,
    };
    match verify(&[signature], image, std::slice::from_ref(key)) {
        Ok(valid) => Ok(valid.format),
        Err(InvalidSignatures::Rejected(mut rejections)) => Err(rejections.remove(0)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn signatures_of_cosign_are_verified() {
    let signer = PublicKey::from_pem("cosign", &file_in("cosign", "key.pub")).unwrap();
    for (manifest, layer, format) in [
        ("classic.json", "classic.payload", SignatureFormat::Classic),
        (
            "bundle.json",
            "bundle.sigstore.json",
            SignatureFormat::Bundle,
        ),
    ] {
        assert_eq!(check(manifest, layer, &IMAGE, &signer), Ok(format));
        let other = check(manifest, layer, &IMAGE, &key("other"));
        assert_eq!(other, Err(Rejection::OtherKey));
        let image = SignedImage {
            digest: super::DIGEST,
            ..IMAGE
        };
        let other = check(manifest, layer, &image, &signer);
        assert!(other.is_err(), "{layer}");
    }
}
