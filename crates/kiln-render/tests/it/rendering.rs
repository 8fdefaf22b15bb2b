//! What a render does when all goes well.

use kiln_render::RenderCompat;

use crate::setup::{config_map, kptfile, pass, rendered, replace};

#[test]
fn packages_below_come_first_and_the_root_sees_all() {
    let pipeline = "pipeline:\n  mutators:\n  - exec: pass\n";
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: replace\n");
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &root),
            ("b/Kptfile", &kptfile("b", pipeline)),
            ("b/x.yaml", &config_map("x", "old")),
            ("a/Kptfile", &kptfile("a", "")),
            ("a/y.yaml", &config_map("y", "other")),
        ],
        &[("pass", pass), ("replace", replace)],
    );
    let expected = [
        "package root/a",
        "package root/b",
        "run pass",
        "pass pass",
        "done",
        "package root",
        "run replace",
        "pass replace",
        "done",
    ];
    assert_eq!(after.log, expected);
    assert_eq!(after.changed, ["Kptfile", "b/x.yaml"]);
    assert!(after.file("b/x.yaml").contains("x: new"));
    assert!(after.file("b/x.yaml").contains("# data"));
    assert_eq!((after.rendered.functions, after.rendered.packages), (2, 3));
}

#[test]
fn what_no_function_changed_keeps_its_bytes() {
    let text = "# about\n\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n    text: >\n      folded\n      text\n";
    let root = kptfile(
        "r",
        "pipeline:\n  mutators:\n  - exec: pass\n  - exec: pass\n",
    );
    let files = [("Kptfile", root.as_str()), ("a.yaml", text)];
    let after = rendered(RenderCompat::Kiln, &files, &[("pass", pass)]);
    assert_eq!(after.changed, ["Kptfile"]);
    assert!(after.file("Kptfile").contains("name: r # mine"));
    assert!(after.file("Kptfile").contains("status: \"True\""));
    let after = rendered(RenderCompat::Kpt, &files, &[("pass", pass)]);
    assert_eq!(after.changed, ["Kptfile", "a.yaml"]);
    assert!(!after.file("Kptfile").contains("# mine"));
}

#[test]
fn a_second_render_changes_nothing() {
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: replace\n");
    let files = [
        ("Kptfile", root.as_str()),
        (
            "a.yaml",
            "apiVersion: v1\nkind: K\nmetadata:\n  name: old\n",
        ),
    ];
    let first = rendered(RenderCompat::Kiln, &files, &[("replace", replace)]);
    let files: Vec<(&str, &str)> = first
        .files
        .iter()
        .map(|(path, content)| (path.as_str(), content.as_str()))
        .collect();
    let second = rendered(RenderCompat::Kiln, &files, &[("replace", replace)]);
    assert_eq!(second.changed, [""; 0]);
}

#[test]
fn a_selection_goes_back_to_its_place() {
    let pipeline = "pipeline:\n  mutators:\n  - exec: replace\n    selectors:\n    - name: b\n";
    let all = ["a", "b", "c"].map(|name| config_map(name, "old"));
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &kptfile("r", pipeline)),
            ("all.yaml", &all.join("---\n")),
        ],
        &[("replace", replace)],
    );
    assert!(after.log.contains(&"run replace on 1".to_owned()));
    let expected = all
        .join("---\n")
        .replacen("old", "?", 1)
        .replacen("old", "new", 1);
    let values = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("data"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        values(after.file("all.yaml")),
        values(&expected.replace('?', "old"))
    );
}

#[test]
fn what_a_function_generates_and_deletes() {
    fn generate(_: &str) -> (i32, String, &'static str) {
        let answer = "kind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: s\n    namespace: n\n";
        (0, answer.to_owned(), "")
    }
    let pipeline =
        "pipeline:\n  mutators:\n  - exec: generate\n    exclude:\n    - kind: Kptfile\n";
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &kptfile("r", pipeline)),
            ("a.yaml", &config_map("a", "old")),
        ],
        &[("generate", generate)],
    );
    assert_eq!(after.changed, ["Kptfile", "a.yaml", "n/secret_s.yaml"]);
    assert_eq!(after.file("a.yaml"), "");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  namespace: n\n";
    assert_eq!(after.file("n/secret_s.yaml"), secret);
}

#[test]
fn the_package_context_can_be_generated() {
    let pipeline = "pipeline:\n  mutators:\n  - image: builtins/gen-pkg-context\n";
    let after = rendered(
        RenderCompat::Kiln,
        &[("Kptfile", &kptfile("r", pipeline))],
        &[],
    );
    let expected = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: r\n";
    assert_eq!(after.file("package-context.yaml"), expected);
    let after = rendered(
        RenderCompat::Kpt,
        &[("Kptfile", &kptfile("r", pipeline))],
        &[],
    );
    assert_eq!(
        after.message(),
        "Error: function \"builtins/gen-pkg-context:latest\" not found "
    );
}

#[test]
fn validators_change_nothing() {
    let pipeline = "pipeline:\n  validators:\n  - exec: replace\n";
    let after = rendered(
        RenderCompat::Kiln,
        &[
            ("Kptfile", &kptfile("r", pipeline)),
            ("a.yaml", &config_map("a", "old")),
        ],
        &[("replace", replace)],
    );
    assert_eq!(after.changed, ["Kptfile"]);
}
