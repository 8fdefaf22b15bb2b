//! The order in which kpt's SDK writes items.

use kiln_krm::Resource;

use super::text;

/// Sorts by `apiVersion kind namespace name`, as one text.
pub(crate) fn sort_items(items: &mut [Resource]) {
    let key = |resource: &Resource| {
        let root = resource.root();
        let paths: [&[&str]; 4] = [
            &["apiVersion"],
            &["kind"],
            &["metadata", "namespace"],
            &["metadata", "name"],
        ];
        paths.map(|path| text(root, path)).join(" ")
    };
    items.sort_by_cached_key(key);
}
