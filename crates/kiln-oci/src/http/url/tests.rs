//! Locations, origins and query parameters.

use super::{UrlOrigin, percent_encode, resolve_location, with_query_parameter};

#[track_caller]
fn check(location: &str, expected: Option<&str>) {
    let base = "https://a.b:5000/v2/x/blobs/uploads/".parse().unwrap();
    let url = resolve_location(&base, location).map(|url| url.to_string());
    assert_eq!(url.as_deref(), expected);
}

#[test]
fn locations_are_resolved() {
    check("https://c.d/x?y=z#f", Some("https://c.d/x?y=z"));
    check("/v2/u?s=1", Some("https://a.b:5000/v2/u?s=1"));
    check(
        "uuid?s=1",
        Some("https://a.b:5000/v2/x/blobs/uploads/uuid?s=1"),
    );
    check("//c.d/x", Some("https://c.d/x"));
    check("", None);
    check("ftp://c.d/x", None);
    check("https:///x", None);
    check("https://u:p@c.d/x", None);
    check("https://[::1/x", None);
    check("/with space", None);
}

#[test]
fn origins_differ_by_scheme_host_and_port() {
    let origin = |url: &str| UrlOrigin::of(&url.parse().unwrap());
    assert_eq!(origin("https://A.b/x"), origin("https://a.b:443/y"));
    assert_ne!(origin("https://a.b/x"), origin("https://a.b:444/x"));
    assert_ne!(origin("https://a.b/x"), origin("http://a.b:443/x"));
    assert_eq!(origin("http://[::1]:5/").host(), "::1");
    assert!(origin("http://[::1]:5/").is_private());
    assert!(origin("http://127.1.2.3/").is_private());
    assert!(origin("http://LocalHost/").is_private());
    assert!(origin("http://10.1.2.3:5000/").is_private());
    assert!(origin("http://172.31.0.1/").is_private());
    assert!(origin("http://registry.local:5000/").is_private());
    assert!(origin("http://registry.localhost/").is_private());
    assert!(!origin("http://localhost.evil/").is_private());
    assert!(!origin("http://local/").is_private());
    assert!(!origin("http://172.32.0.1/").is_private());
    assert!(!origin("http://10.1.2.3.evil/").is_private());
}

#[test]
fn parameters_are_encoded() {
    assert_eq!(
        percent_encode("repository:a/b:pull,push"),
        "repository%3Aa%2Fb%3Apull%2Cpush"
    );
    assert_eq!(
        with_query_parameter("https://a/t", "s", "x y"),
        "https://a/t?s=x%20y"
    );
    assert_eq!(
        with_query_parameter("https://a/t?q=1", "s", "ü"),
        "https://a/t?q=1&s=%C3%BC"
    );
    assert_eq!(
        with_query_parameter("https://a/t?", "s", "1"),
        "https://a/t?s=1"
    );
}
