//! Which data is written, and which is kept.

use super::{FILE, PackageContext, PackageContextStyle, generate};
use crate::contents::Contents;

const CONTEXT: PackageContext<'_> = PackageContext {
    path: "apps/web",
    repository: "prod",
    namespace: "default",
    deployment: true,
    style: PackageContextStyle::Seed,
};

const PORCH: PackageContext<'_> = PackageContext {
    style: PackageContextStyle::Porch,
    ..CONTEXT
};

fn package(files: &[(&str, &str)]) -> Contents {
    let mut contents = Contents::new();
    for (path, text) in files {
        contents.insert_text(path, text).expect("a good path");
    }
    contents
}

fn kptfile(name: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n")
}

#[track_caller]
fn check(files: &[(&str, &str)], path: &str, expected: &str) {
    check_context(&CONTEXT, files, path, expected);
}

#[track_caller]
fn check_context(context: &PackageContext<'_>, files: &[(&str, &str)], path: &str, expected: &str) {
    let mut contents = package(files);
    generate(&mut contents, context).expect("it can be written");
    let text = String::from_utf8_lossy(contents.bytes(path).expect("the file is there"));
    assert_eq!(text, expected);
    let once = contents.clone();
    generate(&mut contents, context).expect("it can be written again");
    assert_eq!(contents, once, "twice is once");
}

const HEAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n";

#[test]
fn a_package_without_context_gets_one() {
    let data = "data:\n  deployment: \"true\"\n  name: web\n  namespace: default\n  package-path: apps/web\n  repository: prod\n";
    check(
        &[("Kptfile", &kptfile("web"))],
        FILE,
        &format!("{HEAD}{data}"),
    );
}

#[test]
fn other_keys_are_kept() {
    let old = format!("{HEAD}data: # mine\n  name: example # was\n  extra: \"1\"\n");
    let new = format!(
        "{HEAD}data: # mine\n  name: web # was\n  extra: \"1\"\n  deployment: \"true\"\n  namespace: default\n  package-path: apps/web\n  repository: prod\n"
    );
    check(&[("Kptfile", &kptfile("web")), (FILE, &old)], FILE, &new);
    check(
        &[("Kptfile", &kptfile("web")), ("other.yaml", &old)],
        "other.yaml",
        &new,
    );
}

#[test]
fn other_documents_of_the_file_keep_their_bytes() {
    let other = "# other\napiVersion: v1\nkind:   Service\nmetadata: {name:  s}\nspec:\n    ports:\n        - {port:  1}\n";
    let old = format!("{other}---\n{HEAD}data:\n  name: example\n--- # last\n{other}");
    let new = format!(
        "{other}---\n{HEAD}data:\n  name: web\n  deployment: \"true\"\n  namespace: default\n  package-path: apps/web\n  repository: prod\n--- # last\n{other}"
    );
    check(
        &[("Kptfile", &kptfile("web")), ("all.yaml", &old)],
        "all.yaml",
        &new,
    );
}

#[test]
fn subpackages_get_their_own_names() {
    let old = format!("{HEAD}data:\n  name: example\n");
    let new = format!(
        "{HEAD}data:\n  name: db\n  deployment: \"true\"\n  namespace: default\n  package-path: apps/web/db\n  repository: prod\n"
    );
    let files = [
        ("Kptfile", kptfile("web")),
        ("db/Kptfile", kptfile("db")),
        ("db/package-context.yaml", old),
        ("cache/Kptfile", kptfile("cache")),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    check(&files, "db/package-context.yaml", &new);
    let mut contents = package(&files);
    generate(&mut contents, &CONTEXT).expect("it can be written");
    assert!(contents.get("cache/package-context.yaml").is_none());
}

#[test]
fn the_style_of_porch_has_the_path_twice_and_no_other_keys() {
    let new = format!("{HEAD}data:\n  name: apps/web\n  package-path: apps/web\n");
    let kptfile = kptfile("web");
    check_context(&PORCH, &[("Kptfile", &kptfile)], FILE, &new);
    let old = format!(
        "{HEAD}data:\n  name: db # was\n  deployment: \"true\"\n  extra: \"1\"\n  namespace: n\n  package-path: db\n  repository: r\n"
    );
    let new =
        format!("{HEAD}data:\n  name: apps/web # was\n  extra: \"1\"\n  package-path: apps/web\n");
    check_context(&PORCH, &[("Kptfile", &kptfile), (FILE, &old)], FILE, &new);
}

#[test]
fn the_style_of_porch_does_not_change_subpackages() {
    let inside = format!("{HEAD}data:\n  name: example\n");
    let files = [
        ("Kptfile", kptfile("web")),
        ("db/Kptfile", kptfile("db")),
        ("db/package-context.yaml", inside.clone()),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    check_context(&PORCH, &files, "db/package-context.yaml", &inside);
}

#[test]
fn an_invalid_file_is_an_error() {
    let mut contents = package(&[("Kptfile", &kptfile("web")), (FILE, "kptfile.kpt.dev: [")]);
    let error = generate(&mut contents, &CONTEXT).expect_err("it is not YAML");
    let start = "failed to generate deployment context: failed to evaluate function \"builtins/gen-pkg-context\": package-context.yaml: ";
    assert!(error.to_string().starts_with(start), "{error}");
}
