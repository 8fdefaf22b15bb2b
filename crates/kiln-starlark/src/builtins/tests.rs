//! Tables must be sorted, otherwise lookups fail.

use super::{Method, bytes, dict, list, set, string, universe};

#[test]
fn tables_are_sorted() {
    let tables: [&[Method]; 6] = [
        universe::FUNCTIONS,
        string::METHODS,
        bytes::METHODS,
        list::METHODS,
        dict::METHODS,
        set::METHODS,
    ];
    for table in tables {
        let names: Vec<_> = table.iter().map(|method| method.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
