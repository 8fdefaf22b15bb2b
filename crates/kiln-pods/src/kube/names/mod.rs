//! Names, labels and annotations of pods, services and leases.
//!
//! Names are like Porch's (`set-namespace-v041-1-1a2b3c4d`) with a hash of the replica appended, so that replicas never
//! choose the same name. For any image the result is a valid service name: at most 63 lower-case letters, digits and
//! dashes, starting with a letter.
//!
//! The first four keys are Porch's. Porch's own pods lack the others, so they are never treated as orphans.

use kiln_krm::image::normalize;
use sha2::{Digest as _, Sha256};

/// Label of a pod, and selector of its service: the pod's name.
pub(crate) const IMAGE_LABEL: &str = "fn.kpt.dev/image";

/// Annotation of a pod: the version of its template.
pub(crate) const TEMPLATE_VERSION: &str = "fn.kpt.dev/template-version";

/// Annotation of a pod: when it may be deleted unless it is used, in Unix seconds.
pub(crate) const RECLAIM_AFTER: &str = "fn.kpt.dev/reclaim-after";

/// Label of a service: its own name.
pub(crate) const SERVICE_NAME_LABEL: &str = "app.kubernetes.io/name";

/// Label of pods and services: the replica that owns them.
pub(crate) const REPLICA_LABEL: &str = "fn.kpt.dev/replica";

/// Annotation of a pod: the image as requested by callers. The container's own image is a digest.
pub(crate) const FUNCTION_ANNOTATION: &str = "fn.kpt.dev/function";

/// Annotation of a pod: the digest that the image resolved to.
pub(crate) const DIGEST_ANNOTATION: &str = "fn.kpt.dev/digest";

/// Annotation of a pod: a fingerprint of all its settings except template and image.
pub(crate) const SETTINGS_VERSION: &str = "fn.kpt.dev/settings-version";

/// Label of the leases of replicas.
pub(crate) const LEASE_LABEL: &str = "fn.kpt.dev/lease";

/// Label of a secret that a replica has created and may delete.
pub(crate) const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The field manager of all changes.
pub(crate) const FIELD_MANAGER: &str = "krm-function-runner";

/// The port of wrapper servers.
pub(crate) const WRAPPER_PORT: u16 = 9446;

/// Maximum length of a service name.
const MAX_LENGTH: usize = 63;

/// Number of hash digits of the replica.
const REPLICA_DIGITS: usize = 6;

/// Number of hash digits of a shortened name.
const REST_DIGITS: usize = 6;

/// The name of a pod. `digest` may start with its algorithm.
///
/// A replica never reuses numbers: images of the same name, tag and digest exist in many repositories.
pub(crate) fn pod_name(image: &str, digest: &str, number: u64, replica: &str) -> String {
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

/// Converts a text to a valid label value; an invalid one is shortened and gets a fingerprint.
pub(crate) fn label_value(text: &str) -> String {
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

/// The first hexadecimal digits of a hash over several texts, with unambiguous boundaries.
pub(crate) fn fingerprint(texts: &[&str], digits: usize) -> String {
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

/// Name and tag of an image in letters, digits and dashes.
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
