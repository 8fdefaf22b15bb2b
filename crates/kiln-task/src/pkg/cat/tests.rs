//! Files as they are printed.

use kiln_krm::package::MemoryFiles;

use super::super::PkgRules;
use super::{CatError, CatOptions, CatStyle, cat};

fn options(rules: PkgRules) -> CatOptions {
    CatOptions {
        format: true,
        annotate: false,
        strip_comments: false,
        recurse: true,
        styles: Vec::new(),
        rules,
    }
}

fn files(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().map(|(path, text)| (*path, *text)).collect()
}

#[track_caller]
fn check(all: &[(&str, &str)], expected: &str) {
    for rules in [PkgRules::Kiln, PkgRules::Kpt] {
        let text = cat(&files(all), None, &options(rules)).expect("it can be printed");
        assert_eq!(text, expected, "{rules:?}");
    }
}

const CONFIG_MAP: &str = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  namespace: n\n  name: a\n";
const FORMATTED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: n\n";

#[test]
fn files_are_printed_in_the_order_of_their_names() {
    check(&[], "");
    check(&[("a.txt", "")], "\n");
    check(&[("b.txt", "b"), ("a.txt", "a\n")], "a\n---\nb\n");
    check(&[("c.yaml", CONFIG_MAP)], FORMATTED);
    check(
        &[
            ("d/x.txt", "x\n"),
            ("e.txt", "e\n"),
            ("B.txt", "B\n"),
            (".h", "h\n"),
        ],
        "h\n---\nB\n---\nx\n---\ne\n",
    );
    // Sub-packages come after the package, whatever their names are.
    check(
        &[
            ("a/Kptfile", "kind: Kptfile\n"),
            ("a/x.txt", "x\n"),
            ("b.txt", "b\n"),
        ],
        "b\n---\nkind: Kptfile\n---\nx\n",
    );
    check(&[("empty.yaml", ""), ("x.txt", "x\n")], "x\n");
    check(&[("two.yaml", "a: 1\n---\nb: 2\n")], "a: 1\n---\nb: 2\n");
}

#[test]
fn options_change_the_resources() {
    let all = files(&[
        ("c.yaml", "kind: A # k\napiVersion: v1\n"),
        ("s/Kptfile", "a: 1\n"),
    ]);
    let print = |options: &CatOptions| cat(&all, None, options).expect("it can be printed");
    let base = options(PkgRules::Kpt);
    let unformatted = CatOptions {
        format: false,
        recurse: false,
        ..base.clone()
    };
    assert_eq!(print(&unformatted), "kind: A # k\napiVersion: v1\n");
    let stripped = CatOptions {
        strip_comments: true,
        recurse: false,
        ..base.clone()
    };
    assert_eq!(print(&stripped), "apiVersion: v1\nkind: A\n");
    let annotated = CatOptions {
        annotate: true,
        recurse: false,
        ..base.clone()
    };
    assert!(print(&annotated).contains("config.kubernetes.io/path: 'c.yaml'"));
    let flow = |rules| CatOptions {
        styles: vec![CatStyle::Flow],
        recurse: false,
        rules,
        ..base.clone()
    };
    let refused = cat(&all, None, &flow(PkgRules::Kiln));
    assert!(matches!(refused, Err(CatError::CommentsInFlow { .. })));
    let plain = CatOptions {
        strip_comments: true,
        ..flow(PkgRules::Kiln)
    };
    assert_eq!(print(&plain), "{apiVersion: v1, kind: A}\n");
}

#[test]
fn one_file_and_invalid_ones() {
    let all = files(&[
        ("d/c.yaml", CONFIG_MAP),
        ("d/j.json", "{\"a\": 1}"),
        ("l.yaml", "- 1\n"),
    ]);
    let one = |file: &str, rules| cat(&all, Some(file), &options(rules));
    assert_eq!(
        one("d/c.yaml", PkgRules::Kpt).expect("it is one"),
        FORMATTED
    );
    assert_eq!(one("d/j.json", PkgRules::Kpt).expect("it is one"), "");
    assert_eq!(
        one("d/j.json", PkgRules::Kiln).expect("it is one"),
        "{\"a\": 1}\n"
    );
    assert_eq!(one("l.yaml", PkgRules::Kiln).expect("it is one"), "- 1\n");
    assert!(matches!(
        one("l.yaml", PkgRules::Kpt),
        Err(CatError::Sequence { .. })
    ));
    let bad = files(&[("x/b.yaml", "a: b: c\n")]);
    let error = cat(&bad, None, &options(PkgRules::Kpt)).expect_err("it is not YAML");
    assert!(matches!(&error, CatError::Read { inner_path, .. } if inner_path == "x/b.yaml"));
}
