//! Checked names of git objects and refs.

use std::fmt;

use kiln_go::quote;

/// The hash of an object, in hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(String);

impl ObjectId {
    /// Parses a full hash.
    pub fn new(text: &str) -> Option<ObjectId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(is_digit);
        is_id.then(|| ObjectId(text.to_owned()))
    }

    /// The hash as trees store it.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<ObjectId> {
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        ObjectId::new(&text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The length of the hash in trees.
    pub(super) fn byte_length(&self) -> usize {
        self.0.len() / 2
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The full name of a branch or tag, `refs/heads/…` or `refs/tags/…`, as in the repository itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RefName(String);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid git reference name {}", quote(.0))]
pub struct InvalidRef(pub String);

const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

impl RefName {
    pub fn branch(name: &str) -> Result<RefName, InvalidRef> {
        RefName::checked(HEADS, name)
    }

    pub fn tag(name: &str) -> Result<RefName, InvalidRef> {
        RefName::checked(TAGS, name)
    }

    pub fn whole(name: &str) -> Result<RefName, InvalidRef> {
        let prefix = [HEADS, TAGS]
            .into_iter()
            .find(|prefix| name.starts_with(prefix));
        match prefix.and_then(|prefix| Some((prefix, name.strip_prefix(prefix)?))) {
            Some((prefix, short)) => RefName::checked(prefix, short),
            None => Err(InvalidRef(name.to_owned())),
        }
    }

    fn checked(prefix: &str, name: &str) -> Result<RefName, InvalidRef> {
        match is_ref(name) {
            true => Ok(RefName(format!("{prefix}{name}"))),
            false => Err(InvalidRef(name.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without `refs/heads/` or `refs/tags/`.
    pub fn short(&self) -> &str {
        let branch = self.as_branch();
        branch.or_else(|| self.as_tag()).unwrap_or_default()
    }

    pub fn as_branch(&self) -> Option<&str> {
        self.0.strip_prefix(HEADS)
    }

    pub fn as_tag(&self) -> Option<&str> {
        self.0.strip_prefix(TAGS)
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Git's rules for names. In addition, names that look like options are refused.
fn is_ref(name: &str) -> bool {
    let is_bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && !segment.starts_with('.')
            && !segment.ends_with(".lock")
            && !segment.ends_with('.')
    };
    !name.starts_with('-')
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_bad)
        && name.split('/').all(is_segment)
}

#[cfg(test)]
mod tests {
    use super::{ObjectId, RefName};

    #[test]
    fn invalid_ref_names_are_refused() {
        for name in [
            "", "-x", "a b", "a..b", "a/.b", "a//b", "a/", "/a", "a.lock", "a.lock/b", "a~1", "a^",
            "a:b", "a?", "a*", "a[", "a\\b", "a@{b", "@", "a\nb", "a\u{7f}", "a.",
        ] {
            assert!(RefName::branch(name).is_err(), "{name:?}");
            assert!(
                RefName::whole(&format!("refs/tags/{name}")).is_err(),
                "{name:?}"
            );
        }
        let draft = RefName::branch("drafts/a/v1.2").expect("a good name");
        assert_eq!(draft.as_branch(), Some("drafts/a/v1.2"));
        assert_eq!(RefName::whole(draft.as_str()), Ok(draft));
        assert!(RefName::whole("refs/notes/x").is_err());
    }

    #[test]
    fn only_full_hashes_are_accepted() {
        let name = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            ObjectId::new(name).map(|id| id.to_string()),
            Some(name.to_owned())
        );
        assert_eq!(ObjectId::new("0123"), None);
        assert_eq!(ObjectId::new(&name.to_uppercase()), None);
    }
}
