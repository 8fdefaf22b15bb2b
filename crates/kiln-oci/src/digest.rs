//! Digests: names of bytes that only those bytes have.
//!
//! A [`Digest`] is always well-formed, so it can be put into a URL or a path as it is. Only algorithms that can be checked
//! here are accepted.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha512};

use crate::said::clipped;

/// The digest of some bytes, `sha256:…` or `sha512:…`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Digest {
    text: String,
}

/// A text is no digest.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DigestError {
    /// There is no `algorithm:` in it.
    #[error("{0:?} is no digest: it has no algorithm")]
    NoAlgorithm(String),
    /// Nobody here can compute it.
    #[error("digests by {0:?} are not supported, only sha256 and sha512")]
    Algorithm(String),
    /// It is not as long as it has to be, or has other characters than hexadecimal ones in lower case.
    #[error("{0:?} is no digest: after the algorithm come {1} hexadecimal digits in lower case")]
    Encoding(String, usize),
}

impl Digest {
    /// The SHA-256 digest of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::Sha256(Sha256::new());
        hasher.update(bytes);
        hasher.finish()
    }

    /// Whether bytes have this digest.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish() == *self
    }

    /// The whole, `sha256:…`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `sha256` or `sha512`.
    pub fn algorithm(&self) -> &str {
        self.text.split_once(':').map_or("", |(name, _)| name)
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, hex)| hex)
    }

    /// What computes digests of the same kind.
    pub(crate) fn hasher(&self) -> Hasher {
        match self.algorithm() {
            "sha512" => Hasher::Sha512(Sha512::new()),
            _ => Hasher::Sha256(Sha256::new()),
        }
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        let (algorithm, hex) = text
            .split_once(':')
            .ok_or_else(|| DigestError::NoAlgorithm(clipped(text)))?;
        let digits = match algorithm {
            "sha256" => 64,
            "sha512" => 128,
            _ => return Err(DigestError::Algorithm(clipped(algorithm))),
        };
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != digits || !hex.bytes().all(is_hex) {
            return Err(DigestError::Encoding(clipped(text), digits));
        }
        Ok(Digest {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A digest in the making.
pub(crate) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let (mut text, sum) = match self {
            Hasher::Sha256(hasher) => ("sha256:".to_owned(), hasher.finalize().to_vec()),
            Hasher::Sha512(hasher) => ("sha512:".to_owned(), hasher.finalize().to_vec()),
        };
        for byte in sum {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
            }
        }
        Digest { text }
    }
}
