//! Pairs by what items say, by name and by place.

use super::pair_items;
use crate::parse;

/// The pairs as places, in the order of the changed list.
#[track_caller]
fn check(from: &str, to: &str, expected: &[(usize, usize)]) {
    let [from, to] = [from, to].map(|text| parse(text).expect("YAML").expect("a document"));
    let pairs = pair_items(from.root(), to.root());
    let places: Vec<(usize, usize)> = pairs
        .iter()
        .map(|(old, new)| {
            let before = from.root().items().position(|item| item.id() == old.id());
            let after = to.root().items().position(|item| item.id() == *new);
            (before.expect("an item"), after.expect("an item"))
        })
        .collect();
    assert_eq!(places, expected);
}

#[test]
fn an_item_inserted_first_is_new() {
    check("[a, b]", "[new, a, b]", &[(0, 1), (1, 2)]);
    check(
        "[{name: a, x: 1}, {name: b}]",
        "[{name: new}, {x: 2, name: a}, {name: b}]",
        &[(0, 1), (1, 2)],
    );
    check("[{x: 1, y: 2}]", "[{x: 0}, {y: 2, x: 1}]", &[(0, 1)]);
    check("[[a], [b]]", "[[new], [a], [b]]", &[(0, 1), (1, 2)]);
}

#[test]
fn items_are_found_where_they_moved_to() {
    check("[a, b, a]", "[b, a, a]", &[(1, 0), (0, 1), (2, 2)]);
    check("[{name: a}, {name: b}]", "[{name: b}]", &[(1, 0)]);
}

#[test]
fn a_changed_collection_is_known_by_its_place() {
    check("[{x: 1}, {x: 2}]", "[{x: 3}, {x: 2}]", &[(0, 0), (1, 1)]);
    check(
        "[{name: a}, {name: b}]",
        "[{name: c}, {name: b}]",
        &[(0, 0), (1, 1)],
    );
    check(
        "[{x: 1}, {x: 2}]",
        "[{x: 2}, {x: 3}, {x: 4}]",
        &[(1, 0), (0, 1)],
    );
}

#[test]
fn the_spelling_of_numbers_and_nulls_does_not_count() {
    check(
        "[1.50, 0x1F, 1e3]",
        "[1.5, 31, 1000]",
        &[(0, 0), (1, 1), (2, 2)],
    );
    check("[{name: ~, x: 1}]", "[new, {name: null, x: 1}]", &[(0, 1)]);
    check("[a, '1']", "[b, 1]", &[]);
}

#[test]
fn another_text_or_another_name_is_another_item() {
    check("[a, b]", "[c, b]", &[(1, 1)]);
    check("[{name: a}]", "[{name: b}, {name: c}]", &[]);
}
