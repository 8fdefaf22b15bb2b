//! Keys: hashes of fields that cannot run into each other.

use std::fmt;

use kiln_oci::{Digest, DigestHasher};

/// The hash of everything that an answer depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResultKey(Digest);

impl ResultKey {
    /// 64 hexadecimal digits.
    pub fn hex(&self) -> &str {
        self.0.hex()
    }
}

impl fmt::Debug for ResultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResultKey({})", self.hex())
    }
}

/// Makes a key of fields. Every field is preceded by its length, so that no two lists of fields are the same bytes.
pub struct KeyHasher(DigestHasher);

impl KeyHasher {
    /// `scheme` is the number of the list of fields and of their meaning: it is raised whenever one of them changes.
    pub fn new(scheme: u32) -> KeyHasher {
        let hasher = KeyHasher(DigestHasher::sha256());
        hasher.field(&scheme.to_le_bytes())
    }

    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> KeyHasher {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// A field that has parts, each with its length.
    #[must_use]
    pub fn list<'a>(self, parts: impl ExactSizeIterator<Item = &'a [u8]>) -> KeyHasher {
        let count = (parts.len() as u64).to_le_bytes();
        parts.fold(self.field(&count), KeyHasher::field)
    }

    /// A field that may be absent, which is not the same as empty.
    #[must_use]
    pub fn optional(self, bytes: Option<&[u8]>) -> KeyHasher {
        self.list(bytes.into_iter().collect::<Vec<_>>().into_iter())
    }

    pub fn finish(self) -> ResultKey {
        ResultKey(self.0.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyHasher, ResultKey};

    fn key(make: impl FnOnce(KeyHasher) -> KeyHasher) -> ResultKey {
        make(KeyHasher::new(1)).finish()
    }

    /// The same bytes in other fields are other keys.
    #[test]
    fn fields_do_not_run_into_each_other() {
        let parts = |parts: &[&[u8]]| {
            let parts: Vec<&[u8]> = parts.to_vec();
            key(|hasher| hasher.list(parts.into_iter()))
        };
        let keys = [
            key(|hasher| hasher),
            key(|hasher| hasher.field(b"ab")),
            key(|hasher| hasher.field(b"a").field(b"b")),
            key(|hasher| hasher.field(b"").field(b"ab")),
            key(|hasher| hasher.field(b"ab").field(b"")),
            parts(&[b"ab"]),
            parts(&[b"a", b"b"]),
            parts(&[]),
            parts(&[b""]),
            KeyHasher::new(2).finish(),
            KeyHasher::new(2).field(b"ab").finish(),
        ];
        for (at, key) in keys.iter().enumerate() {
            for other in keys.iter().skip(at + 1) {
                assert_ne!(key, other);
            }
        }
        assert_eq!(
            key(|hasher| hasher.field(b"a")),
            key(|hasher| hasher.field(b"a"))
        );
        assert_ne!(
            key(|hasher| hasher.optional(None)),
            key(|hasher| hasher.optional(Some(b"")))
        );
    }
}
