//! The proxy of a URL.

use super::*;

fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, ProxyError> {
    Proxies::from_variables(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[track_caller]
fn check(variables: &[(&str, &str)], url: &str, expected: Option<&str>) {
    let proxies = proxies(variables).unwrap();
    let origin = UrlOrigin::of(&url.parse().unwrap());
    let proxy = proxies.for_origin(&origin).map(ToString::to_string);
    assert_eq!(proxy.as_deref(), expected, "{url} with {variables:?}");
}

#[test]
fn each_scheme_has_its_own_proxy() {
    let both = [
        ("HTTPS_PROXY", "http://s:3128"),
        ("http_proxy", "p.test:81/"),
    ];
    check(&both, "https://r.test/v2/", Some("s:3128"));
    check(&both, "http://r.test/v2/", Some("p.test:81"));
    check(&[("HTTP_PROXY", "http://p")], "https://r.test/v2/", None);
    check(
        &[("HTTP_PROXY", "http://p")],
        "http://r.test/v2/",
        Some("p:80"),
    );
    // Lower-case variables come first, and empty ones count as not set.
    let twice = [("https_proxy", "a:1"), ("HTTPS_PROXY", "b:2")];
    check(&twice, "https://r.test/v2/", Some("a:1"));
    check(
        &[("https_proxy", ""), ("HTTPS_PROXY", "b:2")],
        "https://r.test",
        Some("b:2"),
    );
    for here in [
        "https://localhost:5000",
        "https://127.0.0.1:5000",
        "https://[::1]:5000",
    ] {
        check(&twice, here, None);
    }
}

#[test]
fn no_proxy_hosts_get_no_proxy() {
    let with = |list: &'static str| [("HTTPS_PROXY", "p:1"), ("NO_PROXY", list)];
    for (list, url, is_direct) in [
        ("*", "https://r.test", true),
        ("r.test", "https://r.test", true),
        ("r.test", "https://a.r.test", true),
        ("r.test", "https://ar.test", false),
        (".r.test", "https://a.r.test", true),
        (".r.test", "https://r.test", false),
        ("*.r.test", "https://a.r.test", true),
        (" other , R.TEST ", "https://r.test", true),
        ("r.test:5000", "https://r.test:5000", true),
        ("r.test:5000", "https://r.test", false),
        ("10.0.0.1", "https://10.0.0.1:5000", true),
        ("10.0.0.1:5000", "https://10.0.0.1", false),
        ("10.0.0.0/8", "https://10.213.0.2:5000", true),
        ("10.0.0.0/8", "https://11.0.0.1", false),
        ("0.0.0.0/0", "https://11.0.0.1", true),
        ("fd00::/8", "https://[fd00::1]:5000", true),
        ("fd00::/8", "https://[fe00::1]", false),
        ("10.0.0.0/99,,:x", "https://10.0.0.1", false),
    ] {
        let expected = (!is_direct).then_some("p:1");
        check(&with(list), url, expected);
    }
}

#[test]
fn credentials_are_sent_but_not_displayed() {
    let proxies = proxies(&[("HTTPS_PROXY", "http://me:p%40ss@p.test:3128")]).unwrap();
    let proxy = proxies.https.as_ref().unwrap();
    // "me:p@ss"
    assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
    assert!(!format!("{proxies:?}").contains("bWU6"), "{proxies:?}");
}

#[test]
fn unsupported_proxies_are_reported() {
    for value in [
        "socks5://p:1",
        "https://p:1",
        "http://",
        "http://p:1/path",
        "a b",
    ] {
        let error = proxies(&[("HTTPS_PROXY", value)]).unwrap_err();
        assert_eq!(error.variable, "HTTPS_PROXY", "{value}");
    }
}
