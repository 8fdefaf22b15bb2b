//! As much of DER as finds the type and the size of a key.

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;

/// The parts of a `SubjectPublicKeyInfo`.
pub(super) struct KeyParts<'a> {
    /// Object identifier and parameters.
    pub(super) algorithm_id: &'a [u8],
    pub(super) key: &'a [u8],
}

/// Splits a `SubjectPublicKeyInfo`.
pub(super) fn key_parts(bytes: &[u8]) -> Option<KeyParts<'_>> {
    let (info, _) = value(bytes, SEQUENCE)?;
    let (algorithm_id, rest) = value(info, SEQUENCE)?;
    let (key, _) = value(rest, BIT_STRING)?;
    // The first byte of a bit string is the number of unused bits.
    let key = key.strip_prefix(&[0])?;
    Some(KeyParts { algorithm_id, key })
}

/// The size of the modulus of an RSA key.
pub(super) fn rsa_bits(key: &[u8]) -> Option<usize> {
    let (numbers, _) = value(key, SEQUENCE)?;
    let (modulus, _) = value(numbers, INTEGER)?;
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let first = modulus.first()?;
    Some(modulus.len() * 8 - first.leading_zeros() as usize)
}

/// The content of a value with a tag, and what follows it.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (first.into(), rest),
        0x81 | 0x82 => {
            let (length, rest) = rest.split_at_checked((first & 3).into())?;
            let length = length
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    (*found == tag).then_some((content, rest))
}
