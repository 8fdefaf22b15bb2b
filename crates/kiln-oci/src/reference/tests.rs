//! References and their parts.

use super::ImageReference;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[track_caller]
fn check(text: &str, whole: &str) {
    let reference: ImageReference = text.parse().unwrap();
    assert_eq!(reference.to_string(), whole);
    assert_eq!(whole.parse::<ImageReference>().unwrap().to_string(), whole);
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = text.parse::<ImageReference>().unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn names_are_completed_with_dockers_rules() {
    check("nginx", "docker.io/library/nginx:latest");
    check("kpt/set-labels:v1", "docker.io/kpt/set-labels:v1");
    check("index.docker.io/a", "docker.io/library/a:latest");
    check("registry-1.docker.io/a/b", "docker.io/a/b:latest");
    check("gcr.io/kpt-fn/x:v0.1", "gcr.io/kpt-fn/x:v0.1");
    check("localhost/x", "localhost/x:latest");
    check("localhost:5000/x/y", "localhost:5000/x/y:latest");
    check("[::1]:5000/x:1", "[::1]:5000/x:1");
    check("MyHost/x", "MyHost/x:latest");
    check("10.0.0.1/x__y/a.b-c---d", "10.0.0.1/x__y/a.b-c---d:latest");
}

#[test]
fn an_image_id_is_refused() {
    let id = "0123456789abcdef".repeat(4);
    refused(&id, "is not a valid repository");
    refused(&format!("{id}:v1"), "is not a valid repository");
    check(&format!("a.b/{id}"), &format!("a.b/{id}:latest"));
    check(
        &format!("{id}0"),
        &format!("docker.io/library/{id}0:latest"),
    );
}

#[test]
fn a_digest_comes_before_the_tag() {
    check(&format!("a.b/x@{DIGEST}"), &format!("a.b/x@{DIGEST}"));
    let text = format!("a.b:443/x:v1@{DIGEST}");
    let reference: ImageReference = text.parse().unwrap();
    assert_eq!(reference.tag_or_digest(), DIGEST);
    assert_eq!(reference.tag(), Some("v1"));
    let bare = reference.with_digest(DIGEST.parse().unwrap());
    assert_eq!(bare.to_string(), format!("a.b:443/x@{DIGEST}"));
}

#[test]
fn the_invalid_part_is_named() {
    refused("", "\"\" is not a valid repository");
    refused("a.b/Upper", "\"Upper\" is not a valid repository");
    refused("a.b/x//y", "\"x//y\" is not a valid repository");
    refused("a.b/x/../y", "not a valid repository");
    refused("a.b/x._y", "not a valid repository");
    refused("a.b/x-", "not a valid repository");
    refused("a.b/x:", "\"\" is not a valid tag");
    refused("a.b/x:-v", "\"-v\" is not a valid tag");
    refused("-a.b/x", "\"-a.b\" is not a valid registry host");
    refused("a.b:99999/x", "not a valid registry host");
    refused("a.b:+80/x", "not a valid registry host");
    refused("[::g]/x", "not a valid registry host");
    refused("a b/x", "not a valid repository");
    refused("a.b/x@", "image reference");
    refused("a.b/x@sha256:12", "image reference");
    refused(
        &format!("a.b/{}", "x".repeat(300)),
        "not a valid repository",
    );
    refused(&format!("a.b/x:{}", "x".repeat(129)), "not a valid tag");
}

#[test]
fn digests_are_checked() {
    use crate::{Digest, DigestError};
    let empty: Digest = DIGEST.parse().unwrap();
    assert_eq!(empty, Digest::of(b""));
    assert!(empty.matches(b"") && !empty.matches(b"x"));
    let long = format!("sha512:{}", "0".repeat(128)).parse::<Digest>();
    assert!(!long.unwrap().matches(b""));
    assert_eq!(
        "md5:00".parse::<Digest>(),
        Err(DigestError::Algorithm("md5".to_owned()))
    );
    let upper = DIGEST.replace("e3b0", "E3B0");
    assert!(matches!(
        upper.parse::<Digest>(),
        Err(DigestError::Encoding(..))
    ));
}
