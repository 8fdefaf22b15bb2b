//! Spellings of images and of rules.

use super::*;

#[track_caller]
fn same(repository: &str, images: &[&str]) {
    for image in images {
        assert_eq!(canonical_image(image).unwrap().repository, repository);
    }
}

#[test]
fn all_spellings_of_an_image_are_one() {
    same(
        "docker.io/library/nginx",
        &[
            "nginx",
            "nginx:v1",
            "library/nginx",
            "docker.io/nginx",
            "docker.io/library/nginx:v1",
            "index.docker.io/nginx",
            "registry-1.docker.io/library/nginx",
            "DOCKER.IO/nginx",
            "Index.Docker.io/library/nginx",
            "docker.io:443/nginx",
            "index.docker.io:443/nginx",
            "docker.io:0443/library/nginx",
        ],
    );
    same(
        "ghcr.io/team/fn",
        &[
            "ghcr.io/team/fn",
            "GHCR.io/team/fn:v1",
            "ghcr.io:443/team/fn",
            "ghcr.io:80/team/fn",
            "ghcr.io/team/fn@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ],
    );
    same(
        "[::1]:5000/x",
        &["[::1]:5000/x", "[0:0:0:0:0:0:0:1]:5000/x"],
    );
    same(
        "localhost:5000/x",
        &["localhost:5000/x", "LOCALHOST:05000/x"],
    );
}

#[test]
fn texts_that_are_not_images_have_no_spelling() {
    let id = "0123456789abcdef".repeat(4);
    for text in [
        "",
        "ghcr.io/Team/fn",
        "ghcr.io./x",
        "ghcr.io//x",
        "ghcr.io/../x",
        &id,
        " ghcr.io/x",
    ] {
        assert!(canonical_image(text).is_err(), "{text}");
    }
}

#[test]
fn the_whole_reference_keeps_tag_and_digest() {
    let image = canonical_image("GHCR.io/x:v1").unwrap();
    assert_eq!(
        (image.reference.as_str(), image.has_digest),
        ("ghcr.io/x:v1", false)
    );
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let image = canonical_image(&format!("nginx@{digest}")).unwrap();
    assert_eq!(image.reference, format!("docker.io/library/nginx@{digest}"));
    assert!(image.has_digest);
}

#[track_caller]
fn check(rule: &str, matching: &[&str], others: &[&str]) {
    let scope = RuleScope::parse(rule).unwrap();
    let matches = |image: &str| scope.matches(&canonical_image(image).unwrap().repository);
    for image in matching {
        assert!(matches(image), "{rule} {image}");
    }
    for image in others {
        assert!(!matches(image), "{rule} {image}");
    }
}

#[test]
fn rules_match_whole_components() {
    check("*", &["nginx", "ghcr.io/x"], &[]);
    check(
        "ghcr.io/",
        &["ghcr.io/x", "ghcr.io:443/x/y"],
        &["ghcr.io.evil.com/x", "ghcr.io:5000/x"],
    );
    check(
        "ghcr.io/team/",
        &["ghcr.io/team/a", "ghcr.io/team/a/b"],
        &["ghcr.io/team", "ghcr.io/team-2/a"],
    );
    check(
        "ghcr.io/team",
        &["ghcr.io/team:v1", "GHCR.IO/team"],
        &["ghcr.io/team/a"],
    );
    check("docker.io/", &["nginx", "a/b"], &["quay.io/a/b"]);
    check(
        "index.docker.io/kpt/",
        &["kpt/x", "docker.io/kpt/x"],
        &["kpt", "library/kpt"],
    );
    check(
        "docker.io/nginx",
        &["nginx", "library/nginx"],
        &["other/nginx"],
    );
    check("docker.io/library/", &["nginx"], &["a/nginx"]);
    check("localhost:5000/", &["localhost:5000/x"], &["localhost/x"]);
}

#[test]
fn invalid_rules_are_refused() {
    let error = |text| RuleScope::parse(text).unwrap_err();
    for text in ["", "nginx", "team/fn", "team/", "/", "/x", "ghcr.io"] {
        assert_eq!(error(text), ScopeError::NoRegistry, "{text}");
    }
    for text in ["ghcr.io/*", "**", "ghcr.io/x*/"] {
        assert_eq!(error(text), ScopeError::Star, "{text}");
    }
    for text in [
        "ghcr.io/x:v1",
        "ghcr.io/x@sha256:12",
        "ghcr.io/x@/",
        "ghcr.io/x:",
    ] {
        assert_eq!(error(text), ScopeError::TagOrDigest, "{text}");
    }
    for text in [
        "ghcr.io//",
        "ghcr.io/../x",
        "ghcr.io/X",
        "ghcr.io:x/y",
        "ghcr.io/x/ ",
        "ghcr.io./",
    ] {
        assert!(matches!(error(text), ScopeError::Reference(_)), "{text}");
    }
}
