//! Generating, judging and reducing packages, without the tools.

use std::collections::BTreeMap;

use super::functions::{NAMES, OriginalFunction, RandomStep};
use super::generate::Generator;
use super::judge::{Difference, PackageCheck, comments, has_repeated_key};
use super::known::Known;
use super::package::Package;
use super::shrink::cut_down;
use crate::differential::Random;

fn generator() -> Generator {
    let functions = NAMES.map(|name| OriginalFunction {
        name,
        tag: "v1".to_owned(),
    });
    Generator::new(&[], &functions).expect("a generator")
}

#[test]
fn a_seed_always_makes_the_same_package_and_seeds_make_all_kinds() {
    let generator = generator();
    let package = |seed| generator.package(&mut Random::new(seed));
    assert_eq!(package(7), package(7));
    let packages: Vec<Package> = (0..600).map(package).collect();
    let has = |text: &str| {
        let mut files = packages.iter().flat_map(|package| package.files.values());
        files.any(|file| file.contains(text))
    };
    for text in [
        "\r\n",
        "# Copyright",
        "&common",
        ">-\n",
        "{\"apiVersion\"",
        "# above",
        "# behind",
    ] {
        assert!(has(text), "no package has {text:?}");
    }
    for name in NAMES {
        let mut steps = packages.iter().flat_map(|package| &package.pipeline);
        let is_used = steps.any(|step| step.function.name == name);
        assert!(is_used, "no package has {name}");
    }
}

#[test]
fn a_kptfile_names_functions_by_their_images() {
    let function = OriginalFunction::of_program("set-namespace@v0.4.5").expect("a known function");
    let step = RandomStep::random(&function, 0, &mut Random::new(1));
    let image = step.yaml();
    let start = "    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5\n      configMap:\n";
    assert!(image.starts_with(start), "{image}");
}

#[test]
fn packages_are_cut_down_to_what_fails() {
    let mut package = generator().package(&mut Random::new(3));
    package
        .files
        .insert("a.yaml".to_owned(), "a: 1\nb: 2\nbad: 3\nc: 4\n".to_owned());
    let small = cut_down(&package, 1000, |package| {
        Ok(package.files.values().any(|text| text.contains("bad")))
    });
    let small = small.expect("it can be cut down");
    assert!(small.pipeline.is_empty());
    let files = BTreeMap::from([("a.yaml".to_owned(), "bad: 3\n".to_owned())]);
    assert_eq!(small.files, files);
}

#[track_caller]
fn check_comments(input: &str, kpt: &str, kiln: &str, expected: Option<&str>) {
    let files = |text: &str| BTreeMap::from([("a.yaml".to_owned(), text.to_owned())]);
    let found = comments(&files(input), &files(kpt), &files(kiln));
    let found = found.map(|difference| difference.text);
    assert_eq!(found.as_deref(), expected);
}

#[test]
fn comments_are_neither_lost_nor_doubled() {
    check_comments("a: 1 # x\n", "a: 2 # x\n", "# x\na: 2\n", None);
    check_comments(
        "a: 1 # x\n",
        "a: 2 # x\n",
        "a: 2\n",
        Some("the comment \"x\" is lost: 1 times in the input, 1 with kpt, 0 with kiln"),
    );
    check_comments(
        "# x\na: 1\n",
        "# x\na: 2\n",
        "# x\n# x\na: 2\n",
        Some("the comment \"x\" is doubled: 1 times in the input, 1 with kpt, 2 with kiln"),
    );
    // Comments that kpt loses may be lost, and those that it adds may be added.
    check_comments("# x\na: 1\n", "a: 2 # y\n", "a: 2\n", None);
}

#[test]
fn what_kpt_doubles_elsewhere_is_not_lost() {
    let files = |a: &str, b: &str| {
        let pairs = [("a.yaml", a), ("b.yaml", b)];
        BTreeMap::from(pairs.map(|(path, text)| (path.to_owned(), text.to_owned())))
    };
    let input = files("a: 1\n# x\n", "b: 1\n# x\n");
    let (kpt, kiln) = (files("a: 1\n# x\n# x\n", ""), files("a: 1\n# x\n", ""));
    assert!(comments(&input, &kpt, &kiln).is_none());
}

#[test]
fn repeated_keys_are_found_at_any_depth() {
    assert!(has_repeated_key("a: 1\n---\nb:\n- c: 1\n  c: 2\n"));
    assert!(!has_repeated_key("a: 1\n---\na:\n- c: 1\n- c: 2\n"));
}

#[test]
fn known_differences_have_a_reason() {
    let list = "gaps:\n- check: lines\n  function: starlark\n  pattern: moved to \\S+\n  reason: because\n";
    let known = Known::parse(list.as_bytes()).expect("a list");
    let starlark = OriginalFunction::of_program("starlark@v0.5.5").expect("a known function");
    let mut package = Package {
        head: String::new(),
        files: BTreeMap::new(),
        pipeline: vec![RandomStep::random(&starlark, 0, &mut Random::new(1))],
    };
    let difference = |check, text: &str| Difference {
        check,
        text: text.to_owned(),
    };
    let moved = difference(PackageCheck::Lines, "it moved to b.yaml");
    assert_eq!(known.reason(&package, &moved), Some("because"));
    let other = difference(PackageCheck::Lines, "it stays");
    assert_eq!(known.reason(&package, &other), None);
    assert_eq!(
        known.reason(&package, &difference(PackageCheck::Values, "moved to b")),
        None
    );
    package.pipeline.clear();
    assert_eq!(known.reason(&package, &moved), None);
    assert!(
        Known::parse(b"gaps:\n- check: lines\n  pattern: x\n").is_err(),
        "no reason"
    );
}
