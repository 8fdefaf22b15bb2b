//! Links of documents.

use super::{file_links, resolve};

#[test]
fn links_lead_to_files_and_are_not_in_code() {
    let text = "See [a](a.md), [b `c`](../b.md#part).\n\n    [no](x.md)\n```\n[no](y.md)\n```\n[web](https://example.com) [here](#part)\n| [d](d/) |\n";
    let links = file_links(text);
    let found: Vec<_> = links
        .iter()
        .map(|link| (link.line, link.label, link.path, link.fragment))
        .collect();
    assert_eq!(
        found,
        [
            (1, "a", "a.md", ""),
            (1, "b `c`", "../b.md", "#part"),
            (8, "d", "d/", ""),
        ]
    );
    assert_eq!(&text[links[1].range.clone()], "[b `c`](../b.md#part)");
}

#[test]
fn paths_are_resolved_from_their_document() {
    let path = |document, path| resolve(document, path);
    assert_eq!(path("docs/a.md", "b.md").as_deref(), Some("docs/b.md"));
    assert_eq!(path("docs/a.md", "../b.md").as_deref(), Some("b.md"));
    assert_eq!(path("a.md", "docs/").as_deref(), Some("docs"));
    assert_eq!(path("a.md", "../b.md"), None);
}
