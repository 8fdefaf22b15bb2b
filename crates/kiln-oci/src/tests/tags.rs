//! Lists of tags.

use super::store::reference;
use super::world::{Reply, Seen, World};
use crate::{RegistryError, RegistryOptions};

async fn tags(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> TagsAsked {
    let world = World::default();
    world.add("r.test:443", answer);
    world.add("elsewhere.test:443", |_| Reply::new(200).body("{}"));
    let registry = world.registry(RegistryOptions::default());
    let tags = registry.tags(&reference("r.test/a/b:v1")).await;
    (tags, world.asked())
}

type TagsAsked = (Result<Vec<String>, RegistryError>, Vec<String>);

#[tokio::test(start_paused = true)]
async fn all_pages_are_read() {
    let (tags, asked) = tags(|seen: &Seen| match seen.target.as_str() {
        "/v2/a/b/tags/list" => Reply::new(200)
            // Somewhere else is not asked, whatever the registry says.
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
        asked,
        [
            "GET r.test:443/v2/a/b/tags/list",
            "GET r.test:443/v2/a/b/tags/list?last=v1&n=1"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn none_nonsense_and_no_end() {
    let (none, _) = tags(|_| Reply::new(200).body(r#"{"name":"a/b","tags":null}"#)).await;
    assert!(none.unwrap().is_empty());
    let (missing, _) = tags(|_| Reply::new(404)).await;
    assert!(matches!(missing, Err(RegistryError::NotFound { .. })));
    let (nonsense, _) = tags(|_| Reply::new(200).body("[]x")).await;
    assert!(matches!(nonsense, Err(RegistryError::Protocol { .. })));
    let (endless, asked) = tags(|_| {
        Reply::new(200)
            .with("link", "</v2/a/b/tags/list?last=x>; rel=\"next\"")
            .body(r#"{"tags":["x"]}"#)
    })
    .await;
    assert!(matches!(endless, Err(RegistryError::Protocol { .. })));
    assert_eq!(asked.len(), 1000);
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
        let (tags, asked) = tags(move |seen: &Seen| {
            let reply = Reply::new(200).body(r#"{"tags":["x"]}"#);
            match seen.target.contains('?') {
                true => reply,
                false => headers
                    .iter()
                    .fold(reply, |reply, link| reply.with("link", link)),
            }
        })
        .await;
        assert_eq!(tags.unwrap(), ["x", "x"]);
        assert_eq!(asked[1], "GET r.test:443/v2/a/b/tags/list?last=v1");
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
async fn there_are_only_so_many_tags() {
    let page = format!(r#"{{"tags":["{}"]}}"#, "x".repeat(3 << 20));
    let (tags, asked) = tags(move |_| {
        Reply::new(200)
            .with("link", "</v2/a/b/tags/list?last=x>; rel=next")
            .body(page.clone())
    })
    .await;
    assert!(matches!(tags, Err(RegistryError::TooLarge { .. })));
    assert!(asked.len() < 20);
}
