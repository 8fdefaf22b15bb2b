//! Which hosts a local page answers.

use http::header::HOST;
use http::{HeaderMap, HeaderValue};

use super::{common_headers, names_this_machine};

#[test]
fn a_local_page_answers_no_name_of_another_site() {
    let check = |host: Option<&'static str>| {
        let host = host.map(|host| (HOST, HeaderValue::from_static(host)));
        names_this_machine(&HeaderMap::from_iter(host))
    };
    for host in [
        "localhost",
        "LocalHost:9447",
        "127.0.0.1",
        "127.0.0.1:9447",
        "[::1]",
        "[::1]:9447",
    ] {
        assert!(check(Some(host)), "{host}");
    }
    for host in [
        "example.org",
        "example.org:9447",
        "localhost.example.org",
        "127.0.0.1.example.org:9447",
        "",
    ] {
        assert!(!check(Some(host)), "{host}");
    }
    assert!(!check(None));
}

#[test]
fn all_headers_of_pages_are_valid() {
    assert_eq!(common_headers().len(), 4);
}
