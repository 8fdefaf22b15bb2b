//! The pages of this repository.

use std::collections::BTreeSet;

use super::{page, sources};
use crate::markdown::file_links;

#[test]
fn every_page_is_in_the_table_of_contents_and_every_link_leads_to_a_page() {
    let files = sources(&crate::workspace_root()).unwrap();
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let summary = text("SUMMARY.md");
    let listed: Vec<String> = file_links(&summary)
        .iter()
        .map(|link| link.path.to_owned())
        .collect();
    let unique: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "{summary}");
    let pages: BTreeSet<&String> = files
        .keys()
        .filter(|name| name.ends_with(".md") && *name != "SUMMARY.md")
        .collect();
    assert_eq!(unique, pages);
    for name in pages {
        let text = text(name);
        for link in file_links(&text) {
            assert!(
                files.contains_key(link.path),
                "{name}:{}: {}",
                link.line,
                link.path
            );
        }
    }
}

#[test]
fn links_between_documents_become_links_between_pages() {
    let documents = ["README.md", "docs/a.md"].map(|path| (path.to_owned(), String::new()));
    let documents = documents.into_iter().collect();
    let text =
        "[a](docs/a.md#x) [i](docs/README.md) [code](xtask/src/lib.rs) ![p](docs/images/p.svg)\n";
    assert_eq!(
        page("README.md", text, &documents),
        "[a](a.md#x) [i](README.md) code ![p](images/p.svg)\n"
    );
    let text = "[r](../README.md) [l](../LICENSE)\n";
    assert_eq!(page("docs/a.md", text, &documents), "[r](README.md) l\n");
}
