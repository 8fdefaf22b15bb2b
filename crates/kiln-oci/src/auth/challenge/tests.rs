//! Challenges of real registries.

use http::{HeaderMap, HeaderValue, header};

use super::Challenge;

#[track_caller]
fn check(values: &[&str], expected: Option<(&str, &str, &str)>) {
    let mut headers = HeaderMap::new();
    for value in values {
        let value = HeaderValue::from_str(value).unwrap();
        headers.append(header::WWW_AUTHENTICATE, value);
    }
    let expected = expected.map(|(realm, service, scope)| match realm {
        "basic" => Challenge::Basic,
        realm => Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.to_owned(),
            scope: scope.to_owned(),
        },
    });
    assert_eq!(Challenge::best(&headers), expected);
}

#[test]
fn challenges_are_parsed() {
    check(
        &[
            r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push",error="x""#,
        ],
        Some((
            "https://auth.docker.io/token",
            "registry.docker.io",
            "repository:a/b:pull,push",
        )),
    );
    check(
        &["BEARER Realm = \"https://a/t\" , Service=s"],
        Some(("https://a/t", "s", "")),
    );
    check(
        &[r#"Bearer realm="https://a/\"t",service="a,b""#],
        Some(("https://a/\"t", "a,b", "")),
    );
    check(&["Basic realm=\"x\""], Some(("basic", "", "")));
    check(&["Basic"], Some(("basic", "", "")));
    check(
        &["Basic realm=x, Bearer realm=\"https://a/t\""],
        Some(("https://a/t", "", "")),
    );
    check(
        &["Basic realm=x", "Bearer realm=https://a/t"],
        Some(("https://a/t", "", "")),
    );
    check(&["Negotiate, Basic realm=x"], Some(("basic", "", "")));
}

#[test]
fn invalid_challenges_are_ignored() {
    check(&[], None);
    check(&[""], None);
    check(&["Bearer"], None);
    check(&["Bearer service=x"], None);
    check(&["Digest realm=x"], None);
    check(&["realm=\"x"], None);
    check(&[",,, ="], None);
}
