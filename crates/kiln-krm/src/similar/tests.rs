//! Which names are similar.

use super::similar_name;

#[track_caller]
fn check(name: &str, known: &[&str], expected: Option<&str>) {
    assert_eq!(
        similar_name(name, known.iter().copied()),
        expected,
        "{name}"
    );
}

#[test]
fn the_most_similar_name_is_found() {
    let functions = ["set-annotations", "set-labels", "set-namespace", "starlark"];
    check("set-label", &functions, Some("set-labels"));
    check("set-lables", &functions, Some("set-labels"));
    check("SetLabels", &functions, Some("set-labels"));
    check("setnamespace", &functions, Some("set-namespace"));
    check("set-lab", &functions, Some("set-labels"));
    check("starlrak", &functions, Some("starlark"));
    check("kubeconform", &functions, None);
    check("x", &functions, None);
    check("", &functions, None);
}

#[test]
fn versions_kinds_and_fields_are_names_too() {
    check("0.4.1", &["v0.4.0", "v0.4.1"], Some("v0.4.1"));
    check("Deploymnt", &["Service", "Deployment"], Some("Deployment"));
    check("deployment", &["Service", "Deployment"], Some("Deployment"));
    check("mutator", &["mutators", "validators"], Some("mutators"));
}

#[test]
fn a_very_long_name_is_not_compared() {
    let long = "a".repeat(100_000);
    check(&long, &["a"], None);
}
