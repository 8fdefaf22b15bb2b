//! Names of pods and their services.
//!
//! A name reads like Porch's (`set-namespace-v041-1-1a2b3c4d`) with the replica behind it, so that no two replicas ever
//! choose the same. Whatever the image is called, the name is one that services may have: at most 63 letters, digits and
//! dashes, beginning with a letter.

use kiln_krm::image::normalize;
use sha2::{Digest as _, Sha256};

/// The longest name of a service.
const MAX_LENGTH: usize = 63;

/// How many digits stand for a replica.
const REPLICA_DIGITS: usize = 6;

/// How many digits stand for what had to be cut off.
const REST_DIGITS: usize = 6;

/// The name of the pod with this number that a replica makes for an image. `digest` may have its algorithm in front.
///
/// Numbers are never used twice by a replica: images of the same name, tag and digest exist in many repositories.
pub fn pod_name(image: &str, digest: &str, number: u64, replica: &str) -> String {
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let hex: String = hex
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(8)
        .collect();
    let tail = format!(
        "-{number}-{}-{}",
        hex.to_ascii_lowercase(),
        fingerprint(&[replica], REPLICA_DIGITS)
    );
    let head = head(image);
    let room = MAX_LENGTH.saturating_sub(tail.len());
    if head.len() <= room {
        return head + &tail;
    }
    let kept: String = head.chars().take(room - REST_DIGITS - 1).collect();
    let rest = fingerprint(&[&head], REST_DIGITS);
    format!("{}-{rest}{tail}", kept.trim_end_matches('-'))
}

/// A text as the value of a label: itself if it may be one, something of the same sort and a fingerprint if not.
pub fn label_value(text: &str) -> String {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_value = text.len() <= MAX_LENGTH
        && text.chars().all(is_inner)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric());
    if is_value {
        return text.to_owned();
    }
    let kept: String = text.chars().filter(|&c| is_inner(c)).take(40).collect();
    let kept = kept.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let fingerprint = fingerprint(&[text], 12);
    match kept {
        "" => fingerprint,
        kept => format!("{kept}-{fingerprint}"),
    }
}

/// The first hexadecimal digits of a hash over several texts, each apart from the next.
pub fn fingerprint(texts: &[&str], digits: usize) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let hex = hash.finalize();
    let hex = hex.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    hex.filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .take(digits)
        .collect()
}

/// Name and tag of an image, in letters, digits and dashes.
fn head(image: &str) -> String {
    let (name, tag) = match normalize(image) {
        Ok(reference) => (reference.base_name().to_owned(), reference.tag),
        Err(_) => ("function".to_owned(), None),
    };
    let name = dashed(&name);
    let mut head = match tag {
        Some(tag) => format!("{name}-{}", dashed(&tag.replace('.', ""))),
        None => name,
    };
    if !head.starts_with(|c: char| c.is_ascii_lowercase()) {
        head.insert_str(0, "fn-");
    }
    head
}

fn dashed(text: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests;
