//! A list is written as by one thread, however many there are.

use std::num::NonZeroUsize;

use kiln_krm::read::read_input;
use kiln_krm::{Dialect, Resource, Wrapper, write_list, write_list_on};
use kiln_yaml::Slot;
use proptest::prelude::*;

use crate::shared::yaml_pairs;

#[track_caller]
fn check(items: &[Resource]) {
    let wrapper = Wrapper::resource_list(Dialect::Current);
    let expected = write_list(&wrapper, items, None, None);
    for threads in [2, 3, 5] {
        let threads = NonZeroUsize::new(threads).expect("not zero");
        let written = write_list_on(threads, &wrapper, items, None, None);
        assert!(written == expected, "{threads} threads");
    }
}

fn read(text: &[u8]) -> Vec<Resource> {
    read_input(text.to_vec(), Dialect::Current).map_or_else(|_| Vec::new(), |list| list.items)
}

#[test]
fn recorded_documents() {
    let mut items = Vec::new();
    for set in ["real", "edge", "suite"] {
        for case in yaml_pairs(set) {
            items.extend(read(&case.input));
        }
    }
    for items in items.chunks(400) {
        check(items);
    }
}

/// An item of a list that begins and ends in one of the ways that could matter to its neighbours.
fn item() -> impl Strategy<Value = String> {
    let above = prop_oneof![3 => Just(""), 1 => Just("# above\n"), 1 => Just("# set off\n\n")];
    let line = prop_oneof![3 => Just(""), 1 => Just(" # beside")];
    let last = prop_oneof![
        3 => Just("x: 1"),
        1 => Just("x:\n  - 1\n  - 2"),
        1 => Just("x: |\n    text\n\n\n"),
        1 => Just("x: {}"),
        1 => Just("x: [a,\n    b]"),
        1 => Just("x:"),
        1 => Just("x:\n    y: >-\n      folded\n      text"),
    ];
    let below = prop_oneof![
        2 => Just(""),
        1 => Just("\n# below"),
        1 => Just("\n  # below"),
        1 => Just("\n\n  # far below\n"),
        1 => Just("\n    # below and indented"),
    ];
    (above, line, last, below).prop_map(|(above, line, last, below)| {
        format!("{above}- kind: K\n  metadata:{line}\n    name: n\n  {last}{line}{below}\n")
    })
}

/// A comment at a place where no text has it, but where a function may put it: at the item itself or its last child.
type Mark = Option<(bool, Slot)>;

fn mark() -> impl Strategy<Value = Mark> {
    let slot = prop_oneof![Just(Slot::Head), Just(Slot::Line), Just(Slot::Foot)];
    proptest::option::of((any::<bool>(), slot))
}

fn put(resource: &mut Resource, mark: Mark) {
    let Some((at_top, slot)) = mark else { return };
    let root = resource.root();
    let node = match root.children().last() {
        Some(last) if !at_top => last.id(),
        _ => root.id(),
    };
    resource.document_mut().set_comment(node, slot, "# put");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn items_with_comments_everywhere(
        items in proptest::collection::vec((item(), mark()), 130..400),
    ) {
        let (items, marks): (Vec<String>, Vec<Mark>) = items.into_iter().unzip();
        let head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
        let list = format!("{head}{}", items.concat());
        let mut read = read(list.as_bytes());
        prop_assert_eq!(read.len(), items.len());
        for (resource, mark) in read.iter_mut().zip(marks) {
            put(resource, mark);
        }
        check(&read);
    }
}
