//! Choosing tags, and what must hold of any image reference, version or constraint.

use proptest::prelude::*;

use super::{Constraint, ImageRef, TagRequest, Version, best_tag, normalize, with_digest};

#[track_caller]
fn check_best(constraint: &str, tags: &[&str], expected: Option<&str>) {
    let constraint = Constraint::parse(constraint).unwrap();
    assert_eq!(best_tag(&constraint, tags.iter().copied()), expected);
}

#[test]
fn tags_and_digests_are_replaced() {
    for image in [
        "h:5000/a/b:v1",
        "h:5000/a/b",
        "h:5000/a/b@sha256:1",
        "h:5000/a/b:v1@sha256:1",
    ] {
        assert_eq!(with_digest(image, "sha256:0"), "h:5000/a/b@sha256:0");
    }
    assert_eq!(with_digest("b:v1", "sha256:0"), "b@sha256:0");
}

#[test]
fn the_highest_matching_tag_is_chosen_as_it_is_spelled() {
    let tags = [
        "latest",
        "v0.4.1",
        "0.4.2",
        "v0.4.3",
        "v0.5.0",
        "v0.10.0",
        "v0.4.4-rc.1",
    ];
    check_best("~0.4", &tags, Some("v0.4.3"));
    check_best("0.4.1 - 0.4.2", &tags, Some("0.4.2"));
    check_best("*", &tags, Some("v0.10.0"));
    check_best("~0.4.4-0", &tags, Some("v0.4.4-rc.1"));
    check_best(">=1", &tags, None);
    check_best("~0.4", &[], None);
}

#[test]
fn digests_and_commit_builds_are_passed_over() {
    check_best(
        ">=0-0",
        &["sha256-1", "0.1.0-git-abc", "v0.0.9"],
        Some("v0.0.9"),
    );
}

#[test]
fn of_equal_versions_the_first_wins() {
    check_best("1.x", &["v1.2", "1.2.0", "v1.2.0"], Some("v1.2"));
}

#[test]
fn tags_are_versions_constraints_or_literals() {
    assert!(matches!(TagRequest::parse("v0.4.3"), Ok(TagRequest::Exact(tag)) if tag == "v0.4.3"));
    assert!(matches!(
        TagRequest::parse("~0.4"),
        Ok(TagRequest::Constraint(_))
    ));
    let literal = TagRequest::parse("stable").unwrap();
    assert_eq!(
        literal.warning().unwrap(),
        "Tag \"stable\" could not be parsed as a semantic version (\"invalid semantic version\") or constraint (\"improper constraint: \"stable\"\"), will use it literally"
    );
    for bad in ["a b", "-a", "1.0.0+meta", &"t".repeat(129)] {
        let error = TagRequest::parse(bad).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "`function.tag` \"{bad}\" must be a valid image tag: must start with an alphanumeric character or underscore, followed by at most 127 alphanumeric characters, underscores, periods, or dashes"
            )
        );
    }
}

#[test]
fn a_missing_match_names_the_constraint() {
    assert_eq!(
        super::NoMatchingTag("~0.2".to_owned()).to_string(),
        "no tag could be found matching the version constraint \"~0.2\""
    );
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(
        registry in "(|[a-z]{1,5}\\.[a-z]{2,3}(:[0-9]{1,4})?|localhost:5000)",
        repository in "[a-z0-9]{1,4}([._-][a-z0-9]{1,3}){0,2}(/[a-z0-9]{1,4}){1,2}",
        tag in proptest::option::of("[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}"),
        digest in proptest::option::of("sha256:[0-9a-f]{64}"),
    ) {
        let text = match registry.as_str() {
            "" => repository,
            registry => format!("{registry}/{repository}"),
        };
        let text = tag.iter().fold(text, |text, tag| format!("{text}:{tag}"));
        let text = digest.iter().fold(text, |text, digest| format!("{text}@{digest}"));
        let reference = ImageRef::parse(&text).unwrap();
        prop_assert_eq!(reference.to_string(), text.clone());
        prop_assert_eq!(&reference.tag, &tag);
        prop_assert_eq!(&reference.digest, &digest);
        let normal = normalize(&text).unwrap();
        prop_assert_eq!(normalize(&normal.to_string()).unwrap(), normal);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,40}|[a-z0-9:@/._\\[\\]-]{0,60}|[0-9x*.<>=!~^|, v+-]{0,40}") {
        if let Ok(reference) = ImageRef::parse(&text) {
            prop_assert_eq!(reference.to_string(), text.clone());
        }
        let _ = normalize(&text);
        let _ = super::check_prefix(&text);
        let _ = TagRequest::parse(&text);
    }

    #[test]
    fn comparisons_agree_with_numbers(
        bound in (0u64..4, 0u64..4, 0u64..4),
        version in (0u64..4, 0u64..4, 0u64..4),
    ) {
        let text = |(a, b, c): (u64, u64, u64)| format!("{a}.{b}.{c}");
        let parsed = Version::parse(&text(version)).unwrap();
        let matches = |operator: &str| {
            Constraint::parse(&format!("{operator}{}", text(bound))).unwrap().matches(&parsed)
        };
        prop_assert_eq!(matches("="), version == bound);
        prop_assert_eq!(matches("!="), version != bound);
        prop_assert_eq!(matches(">"), version > bound);
        prop_assert_eq!(matches("<"), version < bound);
        prop_assert_eq!(matches(">="), version >= bound);
        prop_assert_eq!(matches("<="), version <= bound);
        let next_minor = (bound.0, bound.1 + 1, 0);
        let is_zero = bound == (0, 0, 0);
        prop_assert_eq!(matches("~"), version >= bound && (is_zero || version < next_minor));
        let next = match bound {
            (0, 0, patch) => (0, 0, patch + 1),
            (0, minor, _) => (0, minor + 1, 0),
            (major, _, _) => (major + 1, 0, 0),
        };
        prop_assert_eq!(matches("^"), version >= bound && version < next);
    }

    #[test]
    fn the_best_tag_is_the_greatest_match(tags in proptest::collection::vec("v?[0-3]\\.[0-3]\\.[0-3]", 0..12)) {
        let constraint = Constraint::parse(">=1.1, <3 || 0.2.x").unwrap();
        let best = best_tag(&constraint, tags.iter().map(String::as_str));
        let oracle = tags
            .iter()
            .filter_map(|tag| {
                let numbers: Vec<u64> = tag
                    .trim_start_matches('v')
                    .split('.')
                    .filter_map(|part| part.parse().ok())
                    .collect();
                let fits = (numbers >= vec![1, 1, 0] && numbers < vec![3, 0, 0]) || numbers.starts_with(&[0, 2]);
                fits.then_some(numbers)
            })
            .max();
        let best_numbers = best.map(|tag| {
            let version = Version::parse(tag).unwrap();
            vec![version.major, version.minor, version.patch]
        });
        prop_assert_eq!(best_numbers, oracle);
    }
}
