//! Addresses and their meaning.

use super::*;

#[track_caller]
fn check(text: &str, uri: &str) {
    let address: Address = text.parse().unwrap();
    assert_eq!(address.uri(address.is_https()), uri);
}

#[test]
fn what_users_and_porch_write() {
    check("runner.example:9445", "http://runner.example:9445");
    check(
        "dns:///function-runner.porch-system:9445",
        "http://function-runner.porch-system:9445",
    );
    check("http://10.0.0.1:80/", "http://10.0.0.1:80");
    check("https://runner:443", "https://runner:443");
    check("[::1]:9445", "http://[::1]:9445");
    check(":9445", "http://localhost:9445");
    check("unix:/run/runner.sock", "unix:/run/runner.sock");
    check("unix:///run/runner.sock", "unix:/run/runner.sock");
}

#[test]
fn invalid_addresses() {
    for text in [
        "",
        "runner",
        "runner:",
        "runner:http",
        "runner:0",
        "runner:70000",
        "::1:9445",
        "unix:",
        "a b:1",
        "ftp://runner:21/x",
        "user@runner:1",
        "https://",
    ] {
        let parsed = text.parse::<Address>();
        assert!(parsed.is_err(), "{text:?} gives {parsed:?}");
    }
    let error = "runner".parse::<Address>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"runner\" is not the address of a runner; it is HOST:PORT, https://HOST:PORT or unix:PATH"
    );
}

#[test]
fn what_stays_on_this_machine() {
    for text in ["localhost:1", "127.0.0.9:1", "[::1]:1", ":1", "unix:/x"] {
        assert!(text.parse::<Address>().unwrap().is_local(), "{text}");
    }
    for text in ["runner:1", "10.0.0.1:1", "https://localhost.example:1"] {
        assert!(!text.parse::<Address>().unwrap().is_local(), "{text}");
    }
}
