//! Which resources a function touched, as reports show it.

use kiln_render::RenderCompat;

use crate::setup::{Body, kptfile, rendered};

fn thing(group: &str, namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: {group}/v1\nkind: Thing\nmetadata:\n  name: {name}\n  namespace: {namespace}\nspec: 1\n"
    )
}

/// Runs a function on things, each given as group, namespace and name.
#[track_caller]
fn check(things: &[[&str; 3]], function: Body, expected: &[&str]) {
    let root = kptfile("r", "pipeline:\n  mutators:\n  - exec: function\n");
    let things = things.iter().enumerate();
    let things: Vec<(String, String)> = things
        .map(|(index, [group, namespace, name])| {
            (format!("{index}.yaml"), thing(group, namespace, name))
        })
        .collect();
    let files = things.iter().map(|(path, text)| (&**path, &**text));
    let files: Vec<(&str, &str)> = [("Kptfile", &*root)].into_iter().chain(files).collect();
    let after = rendered(RenderCompat::Kiln, &files, &[("function", function)]);
    assert_eq!(after.message(), "");
    assert_eq!(after.touched, [expected]);
}

/// The list without the items that contain a text.
fn without(input: &str, text: &str) -> (i32, String, &'static str) {
    let items = input.split("\n- ").filter(|item| !item.contains(text));
    let items: Vec<&str> = items.collect();
    (0, items.join("\n- ") + "\n", "")
}

#[test]
fn a_removed_resource_is_touched_if_another_has_its_name() {
    check(
        &[["g", "a", "x"], ["g", "b", "x"]],
        |input| without(input, "namespace: b\n"),
        &["g b/x"],
    );
    check(
        &[["g", "a", "x"], ["h", "a", "x"]],
        |input| without(input, "apiVersion: g/v1\n"),
        &["g a/x"],
    );
}

#[test]
fn a_resource_that_moves_is_not_removed() {
    check(
        &[["g", "a", "x"], ["g", "b", "x"]],
        |input| (0, input.replace("namespace: b\n", "namespace: c\n"), ""),
        &["g c/x"],
    );
    check(
        &[["g", "a", "x"], ["g", "b", "y"]],
        |input| {
            (
                0,
                input.replace("apiVersion: g/v1\n", "apiVersion: h/v1\n"),
                "",
            )
        },
        &["h a/x", "h b/y"],
    );
}

#[test]
fn one_that_moves_stands_for_one_input() {
    check(
        &[["g", "a", "x"], ["g", "b", "x"]],
        |input| {
            let (code, output, stderr) = without(input, "namespace: b\n");
            (
                code,
                output.replace("namespace: a\n", "namespace: c\n"),
                stderr,
            )
        },
        &["g c/x", "g b/x"],
    );
}
