//! Properties of the merge of any three packages.

use proptest::prelude::*;
use proptest::strategy::Strategy as Generator;

use super::{merge_with, package, text};
use crate::contents::Contents;
use crate::task::Strategy;

/// A field with its value, and whether there is a comment above it and line_comment it.
#[derive(Clone, Debug)]
struct Field {
    value: Value,
    above: bool,
    line_comment: bool,
}

#[derive(Clone, Debug)]
enum Value {
    Number(u8),
    Text(&'static str),
    Null,
    List(Vec<u8>),
    Map(Vec<(&'static str, u8)>),
    Containers(Vec<(&'static str, u8)>),
}

const NAMES: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

type Resource = Vec<(&'static str, Field)>;

fn value() -> impl Generator<Value = Value> {
    let names = || proptest::sample::subsequence(&NAMES[..4], 0..4);
    let pairs = move || (names(), proptest::collection::vec(0..3u8, 4));
    let zip = |(names, numbers): (Vec<&'static str>, Vec<u8>)| names.into_iter().zip(numbers);
    prop_oneof![
        (0..4u8).prop_map(Value::Number),
        proptest::sample::select(&["x", "y y", "true", ""][..]).prop_map(Value::Text),
        Just(Value::Null),
        proptest::collection::vec(0..3u8, 0..3).prop_map(Value::List),
        pairs().prop_map(move |pairs| Value::Map(zip(pairs).collect())),
        pairs().prop_map(move |pairs| Value::Containers(zip(pairs).collect())),
    ]
}

fn resource() -> impl Generator<Value = Resource> {
    let field =
        (value(), any::<bool>(), any::<bool>()).prop_map(|(value, above, line_comment)| Field {
            value,
            above,
            line_comment,
        });
    let names = proptest::sample::subsequence(&NAMES[..], 1..6);
    (names, proptest::collection::vec(field, 6))
        .prop_map(|(names, fields)| names.into_iter().zip(fields).collect())
}

/// Up to three resources in two files.
fn any_package() -> impl Generator<Value = Vec<Option<Resource>>> {
    proptest::collection::vec(proptest::option::weighted(0.8, resource()), 3)
}

fn write(side: &str, resources: &[Option<Resource>]) -> Contents {
    let mut files = [String::new(), String::new()];
    for (number, resource) in resources.iter().enumerate() {
        let Some(resource) = resource else {
            continue;
        };
        let file = &mut files[number % 2];
        if !file.is_empty() {
            file.push_str("---\n");
        }
        *file += &format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: r{number}\nspec:\n  fixed: 1\n"
        );
        for (name, field) in resource {
            if field.above {
                *file += &format!("  # {side} above {name} of {number}\n");
            }
            let line_comment = match field.line_comment {
                true => format!(" # {side} line_comment {name} of {number}"),
                false => String::new(),
            };
            *file += &field_text(name, &field.value, &line_comment);
        }
    }
    let [one, other] = &files;
    let files = [("one.yaml", one.as_str()), ("other.yaml", other.as_str())];
    let files: Vec<_> = files
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect();
    package(&files)
}

fn field_text(name: &str, value: &Value, line_comment: &str) -> String {
    let lines =
        |name: &str, lines: Vec<String>| format!("  {name}:{line_comment}\n{}", lines.concat());
    match value {
        Value::Number(number) => format!("  {name}: {number}{line_comment}\n"),
        Value::Text(text) => format!("  {name}: '{text}'{line_comment}\n"),
        Value::Null => format!("  {name}: null{line_comment}\n"),
        Value::List(items) if !items.is_empty() => lines(
            name,
            items.iter().map(|item| format!("  - {item}\n")).collect(),
        ),
        Value::Map(fields) if !fields.is_empty() => {
            let field = |(key, value): &(&str, u8)| format!("    {key}: {value}\n");
            lines(name, fields.iter().map(field).collect())
        }
        Value::Containers(items) if !items.is_empty() && name == "alpha" => {
            let item = |(key, value): &(&str, u8)| format!("  - name: {key}\n    tty: {value}\n");
            lines("containers", items.iter().map(item).collect())
        }
        _ => format!("  {name}: []{line_comment}\n"),
    }
}

fn merged(origin: &Contents, updated: &Contents, local: &Contents) -> super::Merged {
    merge_with(Strategy::ResourceMerge, origin, updated, local).expect("a merge")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn without_upstream_changes_nothing_changes(base in any_package(), local in any_package()) {
        let (base, local) = (write("base", &base), write("local", &local));
        let merged = merged(&base, &base, &local);
        prop_assert_eq!(merged.contents, local);
        prop_assert_eq!(merged.conflicts, vec![]);
    }

    #[test]
    fn without_local_changes_the_upstream_is_taken(base in any_package(), updated in any_package()) {
        let (base, updated) = (write("base", &base), write("updated", &updated));
        let merged = merged(&base, &updated, &base);
        prop_assert_eq!(merged.conflicts, vec![]);
        for path in ["one.yaml", "other.yaml"] {
            let (ours, theirs) = (text(&merged.contents, path), text(&updated, path));
            let mut documents = [ours, theirs].map(|text| {
                text.split("---\n").map(str::to_owned).collect::<Vec<String>>()
            });
            // New resources follow existing ones.
            documents.iter_mut().for_each(|documents| documents.sort());
            let [ours, theirs] = documents;
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn any_three_packages_can_be_merged(
        base in any_package(),
        updated in any_package(),
        local in any_package(),
    ) {
        let sides = [("base", base), ("updated", updated), ("local", local)];
        let [origin, updated, local] = sides.map(|(side, resources)| write(side, &resources));
        let first = merged(&origin, &updated, &local);
        prop_assert_eq!(&first, &merged(&origin, &updated, &local));
        for (path, _) in first.contents.iter() {
            let text = text(&first.contents, path.as_str());
            prop_assert!(kiln_yaml::parse_all(text.as_bytes()).is_ok(), "{}", text);
        }
        // Merging again changes nothing.
        let again = merged(&updated, &updated, &first.contents);
        prop_assert_eq!(again.contents, first.contents);
    }

    #[test]
    fn comments_of_fields_that_stay_are_never_lost(
        base in any_package(),
        updated in any_package(),
        local in any_package(),
    ) {
        // The same fields on all sides, so that none is removed with its comments.
        let like_base = |values: &[Option<Resource>]| -> Vec<Option<Resource>> {
            let pairs = base.iter().zip(values);
            pairs.map(|(base, values)| {
                let base = base.as_ref()?;
                let values = values.as_ref().unwrap_or(base);
                let fields = base.iter().zip(values.iter().cycle());
                let mut taken: Resource = fields
                    .map(|((name, _), (_, field))| (*name, field.clone()))
                    .collect();
                for (_, field) in &mut taken {
                    if !matches!(field.value, Value::Number(_) | Value::Text(_)) {
                        field.value = Value::Number(9);
                    }
                }
                Some(taken)
            })
            .collect()
        };
        let origin = write("base", &like_base(&base));
        let (updated, local) = (
            write("updated", &like_base(&updated)),
            write("local", &like_base(&local)),
        );
        let merged = merged(&origin, &updated, &local);
        for path in ["one.yaml", "other.yaml"] {
            let ours = text(&merged.contents, path);
            for (_, comment) in text(&local, path).lines().filter_map(|line| line.split_once("# ")) {
                prop_assert!(ours.contains(comment), "{comment} is lost in\n{ours}");
            }
        }
    }
}
