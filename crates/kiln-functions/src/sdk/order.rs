//! The order in which kpt's SDK writes items.

use kiln_krm::Resource;

/// Sorts by `apiVersion kind namespace name`, as one text.
pub(super) fn sort_as_go(items: &mut Vec<Resource>) {
    let key = |resource: &Resource| {
        let meta = resource.meta();
        [meta.api_version, meta.kind, meta.namespace, meta.name].join(" ")
    };
    items.sort_by_cached_key(key);
}
