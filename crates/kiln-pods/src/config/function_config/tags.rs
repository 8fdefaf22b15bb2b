//! The tags that an executor is for: a list of constraints on versions, as in Porch.
//!
//! `~0.4`, `>= v0.4.0 < v0.5.0` and `~0.1 != v0.1.4` are ranges, `v0.4.1` is that version, `v0.4` is all of its versions, and `*`
//! is every tag. A tag that is not a version is matched by the same text only. An empty list matches nothing.

use kiln_krm::image::{Constraint, ImageRef, TagRequest, Version};

/// Every tag, and images that have none.
const ALL: &str = "*";

/// The tag of an image: `latest` if it has neither tag nor digest, `None` if it has a digest only.
pub(super) fn tag_of(image: &ImageRef) -> Option<&str> {
    let default = image.digest.is_none().then_some("latest");
    image.tag.as_deref().or(default)
}

/// Whether one of the constraints matches the tag.
pub(super) fn one_matches(constraints: &[String], tag: Option<&str>) -> bool {
    let mut constraints = constraints.iter();
    constraints.any(|constraint| match tag {
        Some(tag) => tag_matches(constraint, tag),
        None => constraint == ALL,
    })
}

/// Whether a constraint in the `tags` of an executor matches a tag.
pub fn tag_matches(constraint: &str, tag: &str) -> bool {
    let in_range = || {
        let version = Version::parse(tag).ok();
        let range = Constraint::parse(constraint).ok();
        range
            .zip(version)
            .is_some_and(|(range, version)| range.matches(&version))
    };
    constraint == ALL || constraint == tag || in_range()
}

/// Whether it is the tag of one image: a version or a word, and not a range.
pub(crate) fn is_one_tag(constraint: &str) -> bool {
    let request = TagRequest::parse(constraint);
    matches!(
        request,
        Ok(TagRequest::Exact(_) | TagRequest::Literal { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(constraint: &str, matching: &[&str], others: &[&str]) {
        for tag in matching {
            assert!(tag_matches(constraint, tag), "{constraint} {tag}");
        }
        for tag in others {
            assert!(!tag_matches(constraint, tag), "{constraint} {tag}");
        }
    }

    #[test]
    fn constraints_are_those_of_porch() {
        check(
            "~0.1",
            &["v0.1", "v0.1.0", "v0.1.9", "0.1.5"],
            &["v0.2.0", "v1.1.0", "latest", ""],
        );
        check(
            "~0.1 != v0.1.4",
            &["v0.1.3", "v0.1.5"],
            &["v0.1.4", "v0.2.0"],
        );
        check(
            ">= v0.4.0, < v0.5.0",
            &["v0.4.0", "v0.4.7"],
            &["v0.5.0", "v0.3.9"],
        );
        check(">= v0.4.0 < v0.5.0", &["v0.4.7"], &["v0.5.0"]);
        check("^1 || ~3.2", &["v1.9.0", "v3.2.5"], &["v2.0.0", "v3.3.0"]);
        check("v0.4.1", &["v0.4.1", "0.4.1"], &["v0.4.2", "v0.4"]);
        check("v0.4", &["v0.4", "v0.4.1", "v0.4.5"], &["v0.5.0"]);
        check("*", &["v0.1.0", "v2", "latest", "v1.0.0-rc.1"], &[]);
        check("latest", &["latest"], &["v1.0.0", "late"]);
        check("not a range", &["not a range"], &["v1.0.0"]);
        check("", &[], &["v1.0.0"]);
    }

    #[test]
    fn an_empty_list_matches_nothing() {
        assert!(!one_matches(&[], Some("v1.0.0")));
        assert!(!one_matches(&[], None));
        assert!(one_matches(
            &["v2".to_owned(), "~1".to_owned()],
            Some("v1.0.0")
        ));
        assert!(!one_matches(&["~1".to_owned()], None));
        assert!(one_matches(&["*".to_owned()], None));
    }

    #[test]
    fn ranges_are_not_the_tag_of_an_image() {
        for tag in ["v0.1.5", "v1", "latest", "0.4.1"] {
            assert!(is_one_tag(tag), "{tag}");
        }
        for range in [
            "~0.1",
            "~0.1 != v0.1.4",
            "*",
            ">= 1",
            "1.x",
            "",
            "not a tag",
        ] {
            assert!(!is_one_tag(range), "{range}");
        }
    }
}
