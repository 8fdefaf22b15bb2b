//! Public keys from PEM files.

mod der;

use std::fmt;

use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::RawPublicKeyEntity;
use webpki::ring::{
    ECDSA_P256_SHA256, ECDSA_P384_SHA256, ECDSA_P384_SHA384, ED25519, RSA_PKCS1_2048_8192_SHA256,
};

/// The smallest and the largest RSA key, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
/// The first byte of a point that has both of its coordinates.
const UNCOMPRESSED: u8 = 4;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const BEGIN: &str = "-----BEGIN ";

/// A public key with the name that messages use for it.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key_type: KeyType,
    key: SubjectPublicKeyInfoDer<'static>,
}

/// The type of a key. Each one has its signature algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    Rsa,
}

/// Why a file is not a usable public key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PublicKeyError {
    #[error("it is not a PEM file: it has no line -----BEGIN PUBLIC KEY-----")]
    NotPem,
    #[error("it has {0} PEM sections, expected one public key")]
    Sections(usize),
    #[error("it is a private key, expected a public key")]
    PrivateKey,
    #[error("it is a certificate, expected a public key")]
    Certificate,
    /// A key without its algorithm, as `openssl rsa -RSAPublicKey_out` writes it.
    #[error("it is an RSA key in PKCS#1 form, expected -----BEGIN PUBLIC KEY-----")]
    Pkcs1,
    #[error("it is a PEM file of type {0:?}, expected \"PUBLIC KEY\"")]
    Label(String),
    #[error("the public key is malformed")]
    Malformed,
    #[error("keys of this type are not supported, only ECDSA P-256 and P-384, Ed25519 and RSA")]
    Unsupported,
    /// As `openssl ec -conv_form compressed` writes it.
    #[error(
        "the point of the key is compressed; `openssl ec -pubin -conv_form uncompressed` writes the whole point"
    )]
    Compressed,
    #[error("the RSA key has {0} bits, expected 2048 to 8192")]
    RsaSize(usize),
}

impl PublicKey {
    /// Reads a PEM file with one public key (`SubjectPublicKeyInfo`). `name` is used in messages.
    pub fn from_pem(name: &str, pem: &[u8]) -> Result<PublicKey, PublicKeyError> {
        // Editors write it in front of the text.
        let pem = pem.strip_prefix(BYTE_ORDER_MARK).unwrap_or(pem);
        check_label(pem)?;
        let key = SubjectPublicKeyInfoDer::from_pem_slice(pem);
        let key = key.map_err(|_| PublicKeyError::Malformed)?;
        RawPublicKeyEntity::try_from(&key).map_err(|_| PublicKeyError::Malformed)?;
        let parts = der::key_parts(&key).ok_or(PublicKeyError::Malformed)?;
        let key_type = KeyType::ALL
            .into_iter()
            .find(|key_type| key_type.has_algorithm_id(parts.algorithm_id));
        let key_type = key_type.ok_or(PublicKeyError::Unsupported)?;
        let is_curve = matches!(key_type, KeyType::EcdsaP256 | KeyType::EcdsaP384);
        if is_curve && !parts.key.starts_with(&[UNCOMPRESSED]) {
            return Err(PublicKeyError::Compressed);
        }
        if key_type == KeyType::Rsa {
            let bits = der::rsa_bits(parts.key).ok_or(PublicKeyError::Malformed)?;
            if !RSA_BITS.contains(&bits) {
                return Err(PublicKeyError::RsaSize(bits));
            }
        }
        Ok(PublicKey {
            name: name.to_owned(),
            key_type,
            key,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// The key itself (`SubjectPublicKeyInfo`), without its name.
    pub fn as_der(&self) -> &[u8] {
        &self.key
    }

    /// Whether the signature of a message was made with this key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(key) = RawPublicKeyEntity::try_from(&self.key) else {
            return false;
        };
        let mut algorithms = self.key_type.algorithms().into_iter();
        algorithms.any(|algorithm| key.verify_signature(algorithm, message, signature).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("name", &self.name)
            .field("key_type", &self.key_type)
            .finish_non_exhaustive()
    }
}

impl KeyType {
    const ALL: [KeyType; 4] = [
        KeyType::EcdsaP256,
        KeyType::EcdsaP384,
        KeyType::Ed25519,
        KeyType::Rsa,
    ];

    /// The algorithms of signatures. cosign's classic signatures use SHA-256 with all keys, its bundles SHA-384 with P-384.
    fn algorithms(self) -> Vec<&'static dyn SignatureVerificationAlgorithm> {
        match self {
            KeyType::EcdsaP256 => vec![ECDSA_P256_SHA256],
            KeyType::EcdsaP384 => vec![ECDSA_P384_SHA384, ECDSA_P384_SHA256],
            KeyType::Ed25519 => vec![ED25519],
            KeyType::Rsa => vec![RSA_PKCS1_2048_8192_SHA256],
        }
    }

    fn has_algorithm_id(self, algorithm_id: &[u8]) -> bool {
        let mut algorithms = self.algorithms().into_iter();
        algorithms.any(|algorithm| algorithm.public_key_alg_id().as_ref() == algorithm_id)
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyType::EcdsaP256 => "ECDSA P-256",
            KeyType::EcdsaP384 => "ECDSA P-384",
            KeyType::Ed25519 => "Ed25519",
            KeyType::Rsa => "RSA",
        })
    }
}

/// Checks that a file has one section, of a public key.
fn check_label(pem: &[u8]) -> Result<(), PublicKeyError> {
    let text = String::from_utf8_lossy(pem);
    let labels = text.lines().filter_map(|line| line.strip_prefix(BEGIN));
    let labels: Vec<&str> = labels
        .map(|label| label.trim_end().trim_end_matches('-'))
        .collect();
    // The parameters of a curve stand before the private key.
    if labels.iter().any(|label| label.ends_with("PRIVATE KEY")) {
        return Err(PublicKeyError::PrivateKey);
    }
    match labels.as_slice() {
        [] => Err(PublicKeyError::NotPem),
        ["PUBLIC KEY"] => Ok(()),
        ["RSA PUBLIC KEY"] => Err(PublicKeyError::Pkcs1),
        [label, ..] if label.ends_with("CERTIFICATE") => Err(PublicKeyError::Certificate),
        [label] => Err(PublicKeyError::Label(crate::rejection::quoted(label))),
        labels => Err(PublicKeyError::Sections(labels.len())),
    }
}
