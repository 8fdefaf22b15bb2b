//! Tests of the module above.

use super::*;
use crate::resource::Resource;

const BOTH: [&str; 4] = [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX];

fn resource(annotations: &[(&str, &str)]) -> Resource {
    let document = kiln_yaml::parse("kind: A\n").unwrap().unwrap();
    let mut resource = Resource::new(document);
    for (key, value) in annotations {
        resource.set_annotation(key, value).unwrap();
    }
    resource
}

/// Runs a "function" between preparing and reconciling one resource.
fn around(
    before: &[(&str, &str)],
    function: impl Fn(&mut Resource),
) -> Result<Vec<(String, String)>, FamilyError> {
    let mut list = vec![resource(before)];
    let snapshot = prepare(&mut list)?;
    list.iter_mut().for_each(function);
    reconcile(&mut list, &snapshot)?;
    let pairs = list[0].annotations();
    Ok(pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

fn set(key: &'static str, value: &'static str) -> impl Fn(&mut Resource) {
    move |resource| resource.set_annotation(key, value).unwrap()
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

#[test]
fn a_change_in_one_family_follows_in_the_other() {
    let before = [(PATH, "a"), (LEGACY_PATH, "a")];
    let after = pairs([(PATH, "b"), (LEGACY_PATH, "b")]);
    assert_eq!(around(&before, set(PATH, "b")).unwrap(), after);
    assert_eq!(around(&before, set(LEGACY_PATH, "b")).unwrap(), after);
    let before = [(INDEX, "0"), (LEGACY_INDEX, "0")];
    let after = pairs([(INDEX, "3"), (LEGACY_INDEX, "3")]);
    assert_eq!(around(&before, set(LEGACY_INDEX, "3")).unwrap(), after);
}

#[test]
fn different_changes_in_both_are_a_mismatch() {
    let error = around(&[(PATH, "a"), (LEGACY_PATH, "a")], |resource| {
        set(PATH, "b")(resource);
        set(LEGACY_PATH, "c")(resource);
    });
    let message = "resource input to function has mismatched legacy and internal path annotations";
    assert_eq!(error.unwrap_err().to_string(), message);
    let error = prepare(&mut [resource(&[(INDEX, "1"), (LEGACY_INDEX, "2")])]);
    assert_eq!(error.unwrap_err(), FamilyError::Mismatch("index"));
    let error = prepare(&mut [resource(&[(ID, "1"), (LEGACY_ID, "2")])]);
    assert_eq!(error.unwrap_err(), FamilyError::Mismatch("id"));
}

#[test]
fn the_output_uses_the_family_of_the_input() {
    let nothing = |_: &mut Resource| {};
    assert_eq!(
        around(&[(PATH, "a")], nothing).unwrap(),
        pairs([(PATH, "a")])
    );
    assert_eq!(
        around(&[(LEGACY_PATH, "a")], nothing).unwrap(),
        pairs([(LEGACY_PATH, "a")])
    );
    let after = around(&[(LEGACY_PATH, "a")], set(PATH, "b")).unwrap();
    assert_eq!(after, pairs([(LEGACY_PATH, "b")]));
    // Without any input both are written.
    let mut generated = [resource(&[(PATH, "a")])];
    reconcile(&mut generated, &Snapshot::default()).unwrap();
    assert_eq!(generated[0].annotation(LEGACY_PATH), Some("a"));
}

#[test]
fn one_list_uses_one_family() {
    let mut list = [
        resource(&[(PATH, "a")]),
        resource(&[]),
        resource(&[(LEGACY_PATH, "b")]),
    ];
    let snapshot = prepare(&mut list).unwrap();
    let error = reconcile(&mut list, &snapshot).unwrap_err();
    let message = "the annotation formatting in the input resources is not consistent";
    assert_eq!(error.to_string(), message);
    // One that uses both is not one that uses either.
    let mut list = [
        resource(&[(PATH, "a"), (LEGACY_PATH, "a")]),
        resource(&[(PATH, "b")]),
    ];
    assert_eq!(
        prepare(&mut list).unwrap().families(),
        Err(FamilyError::Inconsistent)
    );
}

#[test]
fn preparing_numbers_and_completes() {
    let mut list = [
        resource(&[]),
        resource(&[(LEGACY_PATH, "a"), (LEGACY_ID, "7")]),
    ];
    prepare(&mut list).unwrap();
    assert_eq!(list[0].annotation(MIGRATION_ID), Some("0"));
    assert_eq!(list[1].annotation(MIGRATION_ID), Some("1"));
    assert_eq!(list[1].annotation(PATH), Some("a"));
    assert_eq!(list[1].annotation(ID), Some("7"));
}

#[test]
fn every_key_about_the_place_is_cleared() {
    let mut resource = resource(&BOTH.map(|key| (key, "x")));
    resource.set_annotation(SEQINDENT, WIDE).unwrap();
    resource
        .clear_annotations(reader_keys(Dialect::Current))
        .unwrap();
    assert!(resource.root().get("metadata").is_none());
}
