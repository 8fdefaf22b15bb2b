//! The annotation that declares on which resource a resource depends.

pub(crate) const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";

/// The parts of a reference to one resource, split at slashes; `None` for several references or invalid ones.
pub(crate) fn parts(text: &str) -> Option<Vec<&str>> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let parts: Vec<&str> = text.split('/').collect();
    let is_reference = parts.iter().all(|part| part.chars().all(is_of_word));
    is_reference.then_some(parts)
}
