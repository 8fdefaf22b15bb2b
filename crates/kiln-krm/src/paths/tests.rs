//! Default places, and what must hold of any cleaned path.

use proptest::prelude::*;

use super::{base, clean, default_path, directory, generation_directory, join};

#[track_caller]
fn check_default(dir: &str, yaml: &str, expected: &str) {
    let doc = kiln_yaml::parse(yaml).unwrap().unwrap();
    assert_eq!(default_path(dir, doc.root()), expected);
}

#[test]
fn default_paths_name_kind_and_name() {
    check_default(
        "",
        "kind: ConfigMap\nmetadata: {name: a}\n",
        "configmap_a.yaml",
    );
    check_default(
        "",
        "kind: ConfigMap\nmetadata: {name: a, namespace: n}\n",
        "n/configmap_a.yaml",
    );
    check_default(
        "conf",
        "kind: K\nmetadata: {name: a, namespace: n}\n",
        "conf/n/k_a.yaml",
    );
    check_default(".", "kind: K\nmetadata: {name: a}\n", "k_a.yaml");
    check_default("", "kind: K\nmetadata: {name: ../../x}\n", "x.yaml");
    check_default("", "{}", "_.yaml");
}

#[test]
fn functions_generate_beside_their_config() {
    for (path, dir) in [
        ("", ""),
        ("fc.yaml", ""),
        ("conf/fc.yaml", "conf"),
        ("functions/fc.yaml", ""),
        ("a/functions/fc.yaml", "a"),
        ("a/functions/b/fc.yaml", "a/functions/b"),
        ("./conf/../x/fc.yaml", "x"),
    ] {
        assert_eq!(generation_directory(path), dir, "{path}");
    }
}

proptest! {
    #[test]
    fn cleaning_is_done_once(path in "[/.a-c]{0,16}") {
        let cleaned = clean(&path);
        prop_assert_eq!(clean(&cleaned), cleaned.clone());
        prop_assert_eq!(cleaned.starts_with('/'), path.starts_with('/'));
        // Nothing but leading dots leads upwards.
        let rest = cleaned.trim_start_matches("../");
        prop_assert!(rest == ".." || !rest.split('/').any(|part| part == ".."));
    }

    #[test]
    fn directory_and_base_make_the_path(path in "[a-c]{1,3}(/[a-c]{1,3}){0,4}") {
        let (dir, base) = (directory(&path), base(&path).to_owned());
        prop_assert_eq!(join(&[&dir, &base]), path);
    }
}
