//! Trees of packages.

use kiln_krm::package::MemoryFiles;

use super::super::PkgRules;
use super::package_tree;

fn resource(kind: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

/// A file of each path: a resource for a YAML file or a Kptfile, else a text.
fn files(paths: &[&str]) -> MemoryFiles {
    let text = |path: &str| match path.rsplit('/').next().unwrap_or_default() {
        "Kptfile" => resource("Kptfile", "p"),
        name if name.ends_with(".yaml") => resource("A", name.trim_end_matches(".yaml")),
        name if name.ends_with(".json") => {
            r#"{"apiVersion": "v1", "kind": "J", "metadata": {"name": "j"}}"#.to_owned()
        }
        _ => "text\n".to_owned(),
    };
    paths.iter().map(|path| (*path, text(path))).collect()
}

#[track_caller]
fn check(paths: &[&str], rules: PkgRules, expected: &str) {
    let tree = package_tree(&files(paths), "top", rules).expect("it can be read");
    assert_eq!(tree, expected, "{paths:?} {rules:?}");
}

#[test]
fn trees_of_both_rules() {
    let both = |paths: &[&str], expected: &str| {
        check(paths, PkgRules::Kiln, expected);
        check(paths, PkgRules::Kpt, expected);
    };
    both(&["a.yaml"], "top\n└── [a.yaml]  A a\n");
    both(
        &["Kptfile", "a.yaml", "b.txt"],
        "Package \"top\"\n├── [Kptfile]  Kptfile p\n├── [a.yaml]  A a\n└── b.txt\n",
    );
    both(
        &["Kptfile", "s/Kptfile", "s/k/a.yaml", "z/b.yaml"],
        "Package \"top\"\n├── [Kptfile]  Kptfile p\n├── Package \"s\"\n│   ├── [Kptfile]  Kptfile p\n│   └── k\n│       └── [a.yaml]  A a\n└── z\n    └── [b.yaml]  A b\n",
    );
    // A directory without resources of its own has no branch.
    both(
        &["a.yaml", "x/y/b.yaml"],
        "top\n├── [a.yaml]  A a\n└── y\n    └── [b.yaml]  A b\n",
    );
    // Its files are at the nearest branch.
    both(
        &["a.yaml", "d/e/n.txt", "d/m.txt"],
        "top\n├── [a.yaml]  A a\n├── d/e/n.txt\n└── d/m.txt\n",
    );
    both(
        &["a.yaml", "k/b.yaml", "k/x/n.txt"],
        "top\n├── [a.yaml]  A a\n└── k\n    ├── [b.yaml]  A b\n    └── x/n.txt\n",
    );
    both(&["a.yaml", ".h/n.txt", ".x"], "top\n└── [a.yaml]  A a\n");
}

#[test]
fn where_kiln_shows_more() {
    // Without a resource at the top, kpt loses the files there; without any, everything.
    let paths = ["e/a.yaml", "t.txt"];
    check(&paths, PkgRules::Kpt, "top\n└── e\n    └── [a.yaml]  A a\n");
    check(
        &paths,
        PkgRules::Kiln,
        "top\n├── t.txt\n└── e\n    └── [a.yaml]  A a\n",
    );
    check(&["t.txt"], PkgRules::Kpt, "");
    check(&["t.txt"], PkgRules::Kiln, "top\n└── t.txt\n");
    // Whole names count, not their beginnings.
    let paths = ["a/x.yaml", "ab/y.yaml"];
    let kpt = "top\n└── a\n    ├── [x.yaml]  A x\n    └── ab\n        └── [y.yaml]  A y\n";
    check(&paths, PkgRules::Kpt, kpt);
    let kiln = "top\n├── a\n│   └── [x.yaml]  A x\n└── ab\n    └── [y.yaml]  A y\n";
    check(&paths, PkgRules::Kiln, kiln);
    check(
        &["a.yaml", "j.json"],
        PkgRules::Kpt,
        "top\n├── [a.yaml]  A a\n└── j.json\n",
    );
    check(
        &["a.yaml", "j.json"],
        PkgRules::Kiln,
        "top\n├── [a.yaml]  A a\n└── [j.json]  J j\n",
    );
}

#[test]
fn resources_of_a_file_are_sorted() {
    let text = [
        "apiVersion: v1\nkind: B\nmetadata: {name: b, namespace: z}\n",
        "apiVersion: v1\nkind: B\nmetadata: {name: b}\n",
        "apiVersion: v1\nkind: A\nmetadata: {name: b}\n",
        "a: 1\n",
    ];
    let files: MemoryFiles = [("f.yaml", text.join("---\n"))].into_iter().collect();
    let tree = package_tree(&files, "top", PkgRules::Kpt).expect("it can be read");
    assert_eq!(
        tree,
        "top\n├── [f.yaml]  A b\n├── [f.yaml]  B b\n└── [f.yaml]  B z/b\n"
    );
}
