//! The file of an answer: magic, form, key, identity, payload, and the SHA-256 of all that.

use kiln_oci::Digest;

use super::key::ResultKey;

/// The first bytes of every entry.
const MAGIC: &[u8; 8] = b"kilnres\n";

/// The form of entries. Entries of other forms are not read.
const FORM: u32 = 1;

/// The length of a digest in hexadecimal digits.
const HEX: usize = 64;

/// An answer with what it answers.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct ResultEntry<'a, K = &'a ResultKey> {
    pub(super) key: K,
    pub(super) identity: &'a str,
    pub(super) payload: &'a [u8],
}

impl ResultEntry<'_> {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORM.to_le_bytes());
        bytes.extend(self.key.hex().as_bytes());
        for part in [self.identity.as_bytes(), self.payload] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        let digest = Digest::of(&bytes);
        bytes.extend(digest.hex().as_bytes());
        bytes
    }
}

impl<'a> ResultEntry<'a, &'a str> {
    /// The entry in a file; `None` if it is damaged.
    pub(super) fn parse(file: &'a [u8]) -> Option<ResultEntry<'a, &'a str>> {
        let (bytes, digest) = file.split_at_checked(file.len().checked_sub(HEX)?)?;
        if Digest::of(bytes).hex().as_bytes() != digest {
            return None;
        }
        let rest = bytes.strip_prefix(MAGIC)?;
        let rest = rest.strip_prefix(&FORM.to_le_bytes())?;
        let (key, rest) = rest.split_at_checked(HEX)?;
        let (identity, rest) = part(rest)?;
        let (payload, rest) = part(rest)?;
        rest.is_empty().then_some(ResultEntry {
            key: std::str::from_utf8(key).ok()?,
            identity: std::str::from_utf8(identity).ok()?,
            payload,
        })
    }

    /// The payload, if the entry is the one that was looked for.
    pub(super) fn payload_of(&self, key: &ResultKey, identity: &str) -> Option<&'a [u8]> {
        ((self.key, self.identity) == (key.hex(), identity)).then_some(self.payload)
    }
}

/// Splits off a part that is preceded by its length.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyHasher;
    use super::ResultEntry;

    /// No byte of an entry can be another one, and none can be missing.
    #[test]
    fn every_changed_byte_is_noticed() {
        let key = KeyHasher::new(1).finish();
        let entry = ResultEntry {
            key: &key,
            identity: "wasm:sha256:1",
            payload: b"answer",
        };
        let bytes = entry.to_bytes();
        let parsed = ResultEntry::parse(&bytes).unwrap();
        assert_eq!(
            parsed.payload_of(&key, "wasm:sha256:1"),
            Some(&b"answer"[..])
        );
        assert_eq!(parsed.payload_of(&key, "wasm:sha256:2"), None);
        let other = KeyHasher::new(2).finish();
        assert_eq!(parsed.payload_of(&other, "wasm:sha256:1"), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(ResultEntry::parse(&changed), None, "byte {at}");
            assert_eq!(ResultEntry::parse(&bytes[..at]), None, "{at} bytes");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(ResultEntry::parse(&longer), None);
    }
}
