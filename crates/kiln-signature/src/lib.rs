//! Verifies signatures of images with public keys: bytes in, a verdict out.
//!
//! [`verify`] checks the signatures of one digest with [`PublicKey`]s. It knows the two formats of cosign: a classic
//! signature is a JSON payload with the signature in an annotation ([`SignatureFormat::Classic`]), a sigstore bundle has a
//! DSSE envelope with an in-toto statement ([`SignatureFormat::Bundle`]).
//!
//! Signed content is read only after a key verified it. JSON is read strictly: an object with a repeated key is refused, because
//! another reader could use the other value.
//!
//! Deliberately absent: files, registries, certificates (keyless signatures), transparency logs and the clock.

#![allow(
    missing_docs,
    reason = "a field or variant whose name is clear has no comment"
)]

mod bundle;
mod classic;
mod public_key;
mod rejection;
mod strict_json;

use std::collections::BTreeMap;
use std::fmt;

pub use public_key::{KeyType, PublicKey, PublicKeyError};
pub use rejection::Rejection;

/// How many signatures of one digest are read. More are an error, because the ones beyond would be ignored.
pub const MAX_SIGNATURES: usize = 32;
/// The largest payload or bundle, and the largest annotation, in bytes.
pub const MAX_SIGNATURE_BYTES: usize = 256 << 10;

/// The form of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureFormat {
    /// cosign's classic form: a simple signing payload and an annotation.
    Classic,
    /// A sigstore bundle, version 0.3.
    Bundle,
}

impl SignatureFormat {
    /// The format of a blob with a media type. `None` if it is not a signature.
    pub fn of_media_type(media_type: &str) -> Option<SignatureFormat> {
        match media_type {
            classic::MEDIA_TYPE => Some(SignatureFormat::Classic),
            _ if bundle::MEDIA_TYPES.contains(&media_type) => Some(SignatureFormat::Bundle),
            _ => None,
        }
    }
}

impl fmt::Display for SignatureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SignatureFormat::Classic => "classic",
            SignatureFormat::Bundle => "bundle",
        })
    }
}

/// A signature as a registry has it.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    pub format: SignatureFormat,
    /// The payload of a classic signature, or the bundle.
    pub bytes: &'a [u8],
    /// The annotations of the layer.
    pub annotations: &'a BTreeMap<String, String>,
}

/// What has to be signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedImage<'a> {
    /// The digest of the index or manifest, `ALGORITHM:HEX`.
    pub digest: &'a str,
    /// `REGISTRY/REPOSITORY`, which classic signatures have to name. `None` accepts signatures for all repositories. Bundles
    /// name no repository.
    pub repository: Option<&'a str>,
}

/// A signature that is valid.
#[derive(Clone, Copy, Debug)]
pub struct ValidSignature<'k> {
    pub key: &'k PublicKey,
    pub format: SignatureFormat,
}

/// Why no signature is valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidSignatures {
    #[error("there are {0} signatures, more than the limit of {MAX_SIGNATURES}")]
    TooMany(usize),
    /// The reason of each signature, in their order.
    #[error("no signature is valid")]
    Rejected(Vec<Rejection>),
}

/// Finds a signature of the image that one of the keys made.
pub fn verify<'k>(
    signatures: &[Signature<'_>],
    image: &SignedImage<'_>,
    keys: &'k [PublicKey],
) -> Result<ValidSignature<'k>, InvalidSignatures> {
    if signatures.len() > MAX_SIGNATURES {
        return Err(InvalidSignatures::TooMany(signatures.len()));
    }
    let mut rejections = Vec::new();
    for signature in signatures {
        match verify_one(signature, image, keys) {
            Ok(key) => {
                return Ok(ValidSignature {
                    key,
                    format: signature.format,
                });
            }
            Err(rejection) => rejections.push(rejection),
        }
    }
    Err(InvalidSignatures::Rejected(rejections))
}

fn verify_one<'k>(
    signature: &Signature<'_>,
    image: &SignedImage<'_>,
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Rejection> {
    let annotations = signature.annotations.values().map(String::len);
    let largest = annotations.max().unwrap_or(0).max(signature.bytes.len());
    if largest > MAX_SIGNATURE_BYTES {
        return Err(Rejection::TooLarge);
    }
    match signature.format {
        SignatureFormat::Classic => classic::verify(signature, image, keys),
        SignatureFormat::Bundle => bundle::verify(signature.bytes, image, keys),
    }
}

/// Decodes base64 of the standard alphabet, with padding and without white space, as cosign writes it.
fn decode_base64(part: &'static str, text: &str) -> Result<Vec<u8>, Rejection> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.map_err(|_| Rejection::Base64(part))
}

/// The key that made a signature of a message.
fn find_key<'k>(
    keys: &'k [PublicKey],
    message: &[u8],
    signature: &[u8],
    has_certificate: bool,
) -> Result<&'k PublicKey, Rejection> {
    let key = keys.iter().find(|key| key.verifies(message, signature));
    key.ok_or(match has_certificate {
        true => Rejection::Keyless,
        false => Rejection::OtherKey,
    })
}
