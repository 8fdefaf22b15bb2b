//! Image references as kustomize parses and changes them.

use regex::Regex;

use crate::port::go_regexp;

/// The change for images with a certain name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) tag_suffix: String,
    pub(crate) new_tag: String,
    pub(crate) digest: String,
}

impl Image {
    /// Matches the references to change. The name is part of a regular expression, including its dots; an invalid
    /// expression matches nothing.
    pub(crate) fn expression(&self) -> Option<Regex> {
        let tag = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?";
        go_regexp::compile(&format!("^{}{tag}$", self.name)).ok()
    }

    /// The expression before 2023, when a reference had a tag or a digest but not both.
    pub(crate) fn former_expression(&self) -> Option<Regex> {
        let tag = "(@sha256)?(:[a-zA-Z0-9_.{}-]*)?";
        go_regexp::compile(&format!("^{}{tag}$", self.name)).ok()
    }

    /// The change before 2023.
    pub(crate) fn former_apply(&self, reference: &str) -> String {
        let (name, tag) = former_split(reference);
        let name = match self.new_name.as_str() {
            "" => name,
            new => new,
        };
        match (self.new_tag.as_str(), self.digest.as_str()) {
            ("", "") => format!("{name}{tag}"),
            (tag, "") => format!("{name}:{tag}"),
            (_, digest) => format!("{name}@{digest}"),
        }
    }

    /// The change by a function that parses references as kustomize does but joins them in another way: there is no
    /// separator before a kept tag or digest.
    pub(crate) fn apply_by_hand(&self, reference: &str) -> String {
        let (name, tag, digest) = split(reference);
        let name = match self.new_name.as_str() {
            "" => name,
            new => new,
        };
        match (self.new_tag.as_str(), self.digest.as_str()) {
            ("", "") if tag.is_empty() => format!("{name}{digest}"),
            ("", "") => format!("{name}{tag}"),
            (tag, "") => format!("{name}:{tag}"),
            (_, digest) => format!("{name}@{digest}"),
        }
    }

    /// The new reference for an old one.
    pub(crate) fn apply(&self, reference: &str) -> String {
        let (name, tag, digest) = split(reference);
        let name = match self.new_name.as_str() {
            "" => name,
            new => new,
        };
        let suffixed = format!("{tag}{}", self.tag_suffix);
        let (tag, digest) = match (&*self.new_tag, &*self.digest, &*self.tag_suffix) {
            ("", "", "") => (tag, digest),
            ("", "", _) => (&*suffixed, ""),
            (tag, digest, _) => (tag, digest),
        };
        let mut out = name.to_owned();
        for (sign, part) in [(':', tag), ('@', digest)] {
            if !part.is_empty() {
                out.push(sign);
                out.push_str(part);
            }
        }
        out
    }
}

/// Name, tag and digest. A colon before the first slash belongs to the name.
fn split(reference: &str) -> (&str, &str, &str) {
    let from = reference.find('/').unwrap_or(0);
    let rest = reference.get(from..).unwrap_or_default();
    let at = |sign| rest.find(sign).map(|place| place + from);
    let part = |from: usize, to: usize| reference.get(from..to).unwrap_or_default();
    let end = reference.len();
    match (at(':'), at('@')) {
        (None, None) => (reference, "", ""),
        (Some(colon), Some(sign)) if colon < sign => {
            (part(0, colon), part(colon + 1, sign), part(sign + 1, end))
        }
        (_, Some(sign)) => (part(0, sign), "", part(sign + 1, end)),
        (Some(colon), None) => (part(0, colon), part(colon + 1, end), ""),
    }
}

/// Name, and tag or digest with its separator.
fn former_split(reference: &str) -> (&str, &str) {
    let colon = match reference.find('/') {
        None => reference.rfind(':'),
        Some(slash) => {
            let rest = reference.get(slash..).unwrap_or_default();
            rest.rfind(':').map(|colon| slash + colon)
        }
    };
    let sign = reference.rfind('@').filter(|sign| *sign > 0).or(colon);
    sign.and_then(|sign| reference.split_at_checked(sign))
        .unwrap_or((reference, ""))
}

#[cfg(test)]
mod tests {
    use super::{Image, former_split, split};

    #[test]
    fn references_were_taken_apart_at_the_last_sign() {
        for (reference, parts) in [
            ("nginx", ("nginx", "")),
            ("nginx:1.2", ("nginx", ":1.2")),
            ("nginx:1@sha256:a", ("nginx:1", "@sha256:a")),
            ("r:5000/nginx", ("r:5000/nginx", "")),
            ("r:5000/nginx:1", ("r:5000/nginx", ":1")),
            ("@x", ("@x", "")),
        ] {
            assert_eq!(former_split(reference), parts);
        }
    }

    #[test]
    fn references_are_taken_apart() {
        for (reference, parts) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1.2", ("nginx", "1.2", "")),
            ("nginx@sha256:a", ("nginx", "", "sha256:a")),
            ("nginx:1@sha256:a", ("nginx", "1", "sha256:a")),
            ("r:5000/nginx", ("r:5000/nginx", "", "")),
            ("r:5000/nginx:1", ("r:5000/nginx", "1", "")),
        ] {
            assert_eq!(split(reference), parts);
        }
    }

    #[test]
    fn a_tag_drops_a_digest_and_a_digest_a_tag() {
        let image = |new_tag: &str, digest: &str| Image {
            new_tag: new_tag.to_owned(),
            digest: digest.to_owned(),
            ..Image::default()
        };
        let old = "a:1@sha256:x";
        assert_eq!(image("2", "").apply(old), "a:2");
        assert_eq!(image("", "sha256:y").apply(old), "a@sha256:y");
        assert_eq!(image("2", "sha256:y").apply(old), "a:2@sha256:y");
        assert_eq!(image("", "").apply(old), old);
    }
}
