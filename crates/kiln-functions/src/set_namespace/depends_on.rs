//! The annotation by which a resource says which other one it needs.

pub(super) const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";

/// A reference to one resource in a namespace: `group/namespaces/namespace/kind/name`.
pub(super) struct Reference<'a> {
    pub(super) group: &'a str,
    pub(super) namespace: &'a str,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Reference<'a> {
    /// Takes a reference apart; none for a list of several, or for a resource without a namespace.
    pub(super) fn parse(text: &'a str) -> Option<Reference<'a>> {
        let is_word = |part: &str| {
            part.chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        };
        let parts: Vec<&str> = text.split('/').collect();
        let &[group, "namespaces", namespace, kind, name] = parts.as_slice() else {
            return None;
        };
        parts.iter().all(|part| is_word(part)).then_some(Reference {
            group,
            namespace,
            kind,
            name,
        })
    }

    /// The same resource in another namespace.
    pub(super) fn moved_to(&self, namespace: &str) -> String {
        let Reference {
            group, kind, name, ..
        } = self;
        format!("{group}/namespaces/{namespace}/{kind}/{name}")
    }
}
