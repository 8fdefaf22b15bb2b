//! Lists of tags.

use super::fixtures::reference;
use super::network::{ReceivedRequest, Reply, TestNetwork};
use crate::{RegistryError, RegistryOptions};

async fn tags(respond: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> TagsResult {
    let network = TestNetwork::default();
    network.add("r.test:443", respond);
    network.add("elsewhere.test:443", |_| Reply::new(200).body("{}"));
    let registry = network.registry(RegistryOptions::default());
    let tags = registry.tags(&reference("r.test/a/b:v1")).await;
    (tags, network.requests())
}

type TagsResult = (Result<Vec<String>, RegistryError>, Vec<String>);

#[tokio::test(start_paused = true)]
async fn all_pages_are_read() {
    let (tags, requests) = tags(|request: &ReceivedRequest| match request.target.as_str() {
        "/v2/a/b/tags/list" => Reply::new(200)
            // The host of the link is ignored.
            .with(
                "link",
                "<https://elsewhere.test/v2/a/b/tags/list?last=v1&n=1>; rel=\"next\"",
            )
            .body(r#"{"name":"a/b","tags":["v1"]}"#),
        _ => Reply::new(200).body(r#"{"name":"a/b","tags":["v2","latest"]}"#),
    })
    .await;
    assert_eq!(tags.unwrap(), ["v1", "v2", "latest"]);
    assert_eq!(
        requests,
        [
            "GET r.test:443/v2/a/b/tags/list",
            "GET r.test:443/v2/a/b/tags/list?last=v1&n=1"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn empty_missing_invalid_and_endless_lists() {
    let (none, _) = tags(|_| Reply::new(200).body(r#"{"name":"a/b","tags":null}"#)).await;
    assert!(none.unwrap().is_empty());
    let (missing, _) = tags(|_| Reply::new(404)).await;
    assert!(matches!(missing, Err(RegistryError::NotFound { .. })));
    let (nonsense, _) = tags(|_| Reply::new(200).body("[]x")).await;
    assert!(matches!(nonsense, Err(RegistryError::Protocol { .. })));
    let (endless, requests) = tags(|_| {
        Reply::new(200)
            .with("link", "</v2/a/b/tags/list?last=x>; rel=\"next\"")
            .body(r#"{"tags":["x"]}"#)
    })
    .await;
    assert!(matches!(endless, Err(RegistryError::Protocol { .. })));
    assert_eq!(requests.len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn the_next_page_is_found_among_other_links() {
    const LINKS: &[&[&str]] = &[
        &["</v2/a/b/tags/list?first>; rel=\"prev\", </v2/a/b/tags/list?last=v1>; rel=\"next\""],
        &[
            "</v2/a/b/tags/list?first>; rel=prev",
            "</v2/a/b/tags/list?last=v1>; Rel=next",
        ],
        &["</v2/a/b/tags/list?last=v1>; title=\"x\"; rel=\"last next\""],
    ];
    for headers in LINKS {
        let (tags, requests) = tags(move |request: &ReceivedRequest| {
            let reply = Reply::new(200).body(r#"{"tags":["x"]}"#);
            match request.target.contains('?') {
                true => reply,
                false => headers
                    .iter()
                    .fold(reply, |reply, link| reply.with("link", link)),
            }
        })
        .await;
        assert_eq!(tags.unwrap(), ["x", "x"]);
        assert_eq!(requests[1], "GET r.test:443/v2/a/b/tags/list?last=v1");
    }
    for link in [
        "</v2/a/b/tags/list?last=v1>; rel=prev; title=\"rel=next\"",
        "no link",
        "<?>",
    ] {
        let (tags, _) = tags(|_| Reply::new(200).with("link", link).body("{}")).await;
        assert!(tags.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn the_size_of_the_list_is_limited() {
    let page = format!(r#"{{"tags":["{}"]}}"#, "x".repeat(3 << 20));
    let (tags, requests) = tags(move |_| {
        Reply::new(200)
            .with("link", "</v2/a/b/tags/list?last=x>; rel=next")
            .body(page.clone())
    })
    .await;
    assert!(matches!(tags, Err(RegistryError::TooLarge { .. })));
    assert!(requests.len() < 20);
}
