//! Image references, prefixes, versions and constraints.

use kiln_krm::image::{
    Constraint, ImageRef, Version, base_name, check_prefix, has_tag_or_digest, normalize,
    with_prefix,
};

use super::{Report, fixture, text};

#[test]
fn references_are_read_like_distribution() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/images.jsonl")) {
        let image = text(&case, "in").unwrap_or_default();
        let what = |which: &str| format!("{which} of {image:?}");
        match ImageRef::parse(image) {
            Err(error) => {
                report.check(
                    &what("error"),
                    Some(error.to_string().as_str()),
                    text(&case, "error"),
                );
            }
            Ok(reference) => {
                report.check(&what("error"), None, text(&case, "error"));
                report.check(
                    &what("text"),
                    Some(reference.to_string().as_str()),
                    text(&case, "text"),
                );
                report.check(
                    &what("registry"),
                    Some(reference.registry.as_str()),
                    text(&case, "domain"),
                );
                report.check(
                    &what("repository"),
                    Some(reference.repository.as_str()),
                    text(&case, "path"),
                );
                report.check(&what("tag"), reference.tag.as_deref(), text(&case, "tag"));
                report.check(
                    &what("digest"),
                    reference.digest.as_deref(),
                    text(&case, "digest"),
                );
            }
        }
        report.check(
            &what("has tag"),
            Some(has_tag_or_digest(image)),
            case["has"].as_bool(),
        );
    }
    report.finish();
}

#[test]
fn references_are_normalised_like_regclient() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/images.jsonl")) {
        let image = text(&case, "in").unwrap_or_default();
        // Schemes are no part of images that passed the check.
        if image.contains("://") {
            continue;
        }
        let what = |which: &str| format!("{which} of {image:?}");
        match normalize(image) {
            Err(error) => {
                let error = error.to_string();
                report.check(
                    &what("error"),
                    Some(error.as_str()),
                    text(&case, "normal_error"),
                );
            }
            Ok(reference) => {
                let normal = reference.to_string();
                report.check(
                    &what("normal form"),
                    Some(normal.as_str()),
                    text(&case, "normal"),
                );
            }
        }
        report.check(
            &what("base name"),
            Some(base_name(image).as_str()),
            text(&case, "base"),
        );
    }
    report.finish();
}

#[test]
fn prefixes_are_checked_like_kpt() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/prefixes.jsonl")) {
        let prefix = text(&case, "in").unwrap_or_default();
        let what = |which: &str| format!("{which} with {prefix:?}");
        let error = check_prefix(prefix).err().map(|error| error.to_string());
        report.check(&what("error"), error.as_deref(), text(&case, "error"));
        let short = with_prefix(prefix, "set-x:v1");
        report.check(
            &what("short name"),
            Some(short.as_str()),
            text(&case, "short"),
        );
        let long = with_prefix(prefix, "a/b");
        report.check(&what("long name"), Some(long.as_str()), text(&case, "long"));
    }
    report.finish();
}

#[test]
fn constraints_match_like_masterminds() {
    let mut report = Report::default();
    let mut cases = fixture(include_str!("../../fixtures/tags.jsonl")).into_iter();
    let versions = cases.next().expect("the first line lists the versions");
    let versions: Vec<Option<Version>> = versions["list"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|version| Version::parse(version.as_str().unwrap_or_default()).ok())
        .collect();
    for case in cases {
        let tag = text(&case, "in").unwrap_or_default();
        let what = |which: &str| format!("{which} of {tag:?}");
        let version_error = Version::parse(tag).err().map(|error| error.to_string());
        report.check(
            &what("version"),
            version_error.as_deref(),
            text(&case, "version_error"),
        );
        match Constraint::parse(tag) {
            Err(error) => {
                let error = error.to_string();
                report.check(
                    &what("constraint"),
                    Some(error.as_str()),
                    text(&case, "constraint_error"),
                );
            }
            Ok(constraint) => {
                let matches: String = versions
                    .iter()
                    .map(|version| match version {
                        None => 'x',
                        Some(version) if constraint.matches(version) => '1',
                        Some(_) => '0',
                    })
                    .collect();
                report.check(
                    &what("matches"),
                    Some(matches.as_str()),
                    text(&case, "matches"),
                );
            }
        }
    }
    report.finish();
}

#[test]
fn versions_are_ordered_like_masterminds() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/versions.jsonl")) {
        let list = case["list"].as_array().expect("a list");
        let versions: Vec<_> = list
            .iter()
            .map(|version| Version::parse(version.as_str().unwrap_or_default()).ok())
            .collect();
        let mut order = String::new();
        for one in &versions {
            for other in &versions {
                order.push(match (one, other) {
                    (Some(one), Some(other)) => match one.precedence(other) {
                        std::cmp::Ordering::Less => '<',
                        std::cmp::Ordering::Equal => '=',
                        std::cmp::Ordering::Greater => '>',
                    },
                    _ => 'x',
                });
            }
        }
        report.check("order", Some(order.as_str()), text(&case, "order"));
    }
    report.finish();
}
