//! Replacing several texts at once, as Go's `strings.Replacer` does: from left to right, and where two texts begin at the
//! same place the earlier pair wins.

use crate::budget::is_stopped;

/// Pairs of texts, in order of precedence.
pub(super) struct Replacer {
    pairs: Vec<(String, String)>,
}

impl Replacer {
    /// No text to be replaced may be empty.
    pub(super) fn new(pairs: Vec<(String, String)>) -> Replacer {
        Replacer { pairs }
    }

    /// Whether a text has anything to be replaced.
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
