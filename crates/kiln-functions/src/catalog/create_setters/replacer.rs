//! Replaces several strings at once, as Go's `strings.Replacer` does: from left to right, and where two of them begin
//! at the same position the earlier pair takes precedence.

use crate::budget::is_stopped;

/// Pairs of old and new strings, in order of precedence.
pub(super) struct Replacer {
    pairs: Vec<(String, String)>,
}

impl Replacer {
    /// No old string may be empty.
    pub(super) fn new(pairs: Vec<(String, String)>) -> Replacer {
        Replacer { pairs }
    }

    /// Whether a text contains one of the old strings.
    pub(super) fn finds_in(&self, text: &str) -> bool {
        self.pairs
            .iter()
            .any(|(old, _)| is_stopped() || text.contains(old))
    }

    pub(super) fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if is_stopped() {
                return String::new();
            }
            let found = self
                .pairs
                .iter()
                .find_map(|(old, new)| Some((new, rest.strip_prefix(old.as_str())?)));
            rest = match found {
                Some((new, after)) if after.len() < rest.len() => {
                    if !kiln_yaml::may_build(out.len() + new.len()) {
                        return String::new();
                    }
                    out.push_str(new);
                    after
                }
                _ => {
                    out.push(first);
                    rest.get(first.len_utf8()..).unwrap_or_default()
                }
            };
        }
        out
    }
}
