//! Content digests.
//!
//! A [`Digest`] is always well-formed, so it can be part of a URL or a path. Only supported algorithms are accepted.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha512};

use crate::excerpt::excerpt;

/// A digest, `sha256:…` or `sha512:…`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Digest {
    text: String,
}

/// Why a text is not a digest.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DigestError {
    #[error("{0:?} is not a digest: it has no algorithm")]
    NoAlgorithm(String),
    #[error("the digest algorithm {0:?} is not supported, only sha256 and sha512")]
    Algorithm(String),
    #[error(
        "{0:?} is not a digest: expected {1} lower-case hexadecimal digits after the algorithm"
    )]
    Encoding(String, usize),
}

impl Digest {
    /// The SHA-256 digest of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut hasher = DigestHasher::sha256();
        hasher.update(bytes);
        hasher.finish()
    }

    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.same_algorithm(bytes) == *self
    }

    /// The digest of bytes with the algorithm of this digest.
    pub(crate) fn same_algorithm(&self, bytes: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `sha256` or `sha512`.
    pub fn algorithm(&self) -> &str {
        self.text.split_once(':').map_or("", |(name, _)| name)
    }

    pub fn hex(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, hex)| hex)
    }

    /// A hasher with the algorithm of this digest.
    pub fn hasher(&self) -> DigestHasher {
        match self.algorithm() {
            "sha512" => DigestHasher {
                state: HasherState::Sha512(Sha512::new()),
            },
            _ => DigestHasher::sha256(),
        }
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        let (algorithm, hex) = text
            .split_once(':')
            .ok_or_else(|| DigestError::NoAlgorithm(excerpt(text)))?;
        let digits = match algorithm {
            "sha256" => 64,
            "sha512" => 128,
            _ => return Err(DigestError::Algorithm(excerpt(algorithm))),
        };
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != digits || !hex.bytes().all(is_hex) {
            return Err(DigestError::Encoding(excerpt(text), digits));
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

/// Computes a digest from pieces.
#[derive(Clone, Debug)]
pub struct DigestHasher {
    state: HasherState,
}

#[derive(Clone, Debug)]
enum HasherState {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl DigestHasher {
    /// A hasher for SHA-256.
    pub fn sha256() -> DigestHasher {
        DigestHasher {
            state: HasherState::Sha256(Sha256::new()),
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            HasherState::Sha256(hasher) => hasher.update(bytes),
            HasherState::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub fn finish(self) -> Digest {
        let (mut text, sum) = match self.state {
            HasherState::Sha256(hasher) => ("sha256:".to_owned(), hasher.finalize().to_vec()),
            HasherState::Sha512(hasher) => ("sha512:".to_owned(), hasher.finalize().to_vec()),
        };
        for byte in sum {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
            }
        }
        Digest { text }
    }
}
