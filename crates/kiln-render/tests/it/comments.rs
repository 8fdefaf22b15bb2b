//! Documents that no function changes keep their bytes, wherever their comments stand and however the function reads and
//! writes its list.

use std::time::Duration;

use kiln_krm::package::MemoryFiles;
use kiln_krm::read::read_function_output;
use kiln_krm::{Dialect, Resource, ResourceList, Wrapper, write_list};
use kiln_render::{Jobs, RenderCompat};
use kiln_runtime::{
    CancelToken, Evaluator, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, Runner, Target,
};
use proptest::prelude::*;

use crate::properties::config;
use crate::setup::{After, RenderSetup, kptfile};

/// How a function reads its list and writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// As text, as `cat` and `sed` do.
    Text,
    /// As the functions that are written in Go do: parsed and encoded.
    Encoded,
    /// As native functions do: as trees.
    Trees,
    /// As libraries do that keep values only: nulls and anchors are spelled in their own way.
    Values,
}

const WAYS: [(&str, Way); 4] = [
    ("values", Way::Values),
    ("text", Way::Text),
    ("encoded", Way::Encoded),
    ("trees", Way::Trees),
];

/// Writes `new` for the value `old` of the resources that have it.
struct Function(Way);

impl Runner for Function {
    fn run(&self, input: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        let changed = || input.wire().replace("value: old", "value: new");
        let output = match self.0 {
            Way::Text => Output::Wire(changed().into()),
            Way::Values => {
                let respelled = changed().replace(": ~", ": null");
                Output::Wire(respelled.replace("&unused ", "").into())
            }
            Way::Encoded => {
                let list = read_function_output(changed().into_bytes(), Dialect::Current);
                let list = list.expect("a list");
                let wrapper = list.wrapper.expect("a wrapper");
                let text = write_list(&wrapper, &list.items, None, None);
                Output::Wire(text.into())
            }
            Way::Trees => Output::List(ResourceList {
                wrapper: Some(Wrapper::resource_list(Dialect::Current)),
                items: input.items().iter().map(changed_item).collect(),
                ..ResourceList::default()
            }),
        };
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output,
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

fn changed_item(resource: &Resource) -> Resource {
    let mut item = resource.to_item();
    let value = item.root().get_path(&["data", "value"]);
    if let Some(value) = value.filter(|value| value.value() == "old") {
        let id = value.id();
        item.document_mut().set_value(id, "new");
    }
    item
}

struct Functions;

impl Evaluator for Functions {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Exec(name) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let found = WAYS.into_iter().find(|(known, _)| known == name);
        let (_, way) = found.ok_or_else(|| FindError::not_found(function))?;
        Ok(Found::blocking(Function(way)))
    }
}

fn render(ways: &[Way], content: &str) -> After {
    let name = |way: &Way| {
        WAYS.iter()
            .find(|(_, known)| known == way)
            .expect("known")
            .0
    };
    let steps = ways.iter().map(|way| format!("  - exec: {}\n", name(way)));
    let pipeline = format!("pipeline:\n  mutators:\n{}", steps.collect::<String>());
    let mut files = MemoryFiles::new();
    files.insert("Kptfile", kptfile("root", &pipeline));
    files.insert("all.yaml", content);
    let setup = RenderSetup {
        compat: RenderCompat::Kiln,
        jobs: Jobs::ONE,
        evaluator: &Functions,
        cancel: CancelToken::new(),
    };
    setup.render(files)
}

/// Renders and expects the file to differ in the value only, and a second render to change nothing.
#[track_caller]
fn check(content: &str) {
    let expected = content.replace("value: old", "value: new");
    for (_, way) in WAYS {
        for ways in [&[way][..], &[way, way]] {
            let after = render(ways, content);
            assert_eq!(after.file("all.yaml"), expected, "{ways:?}");
            let again = render(ways, after.file("all.yaml"));
            assert_eq!(
                again.file("all.yaml"),
                expected,
                "a second render, {ways:?}"
            );
        }
    }
}

const OTHER: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\ndata:\n  value: old\n";

fn with(line: &str, foot: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: y{line}\n{foot}")
}

#[test]
fn the_last_comment_of_a_document_stays_one() {
    for spaces in ["", " # line", "  # line", "   # line"] {
        for foot in [
            "# foot\n",
            "\n# foot\n",
            "# one\n# two\n",
            "# one\n\n# two\n",
            "  # inner\n",
        ] {
            let document = with(spaces, foot);
            check(&document);
            check(&format!("{document}---\n{OTHER}"));
            check(&format!("{OTHER}---\n{document}"));
            check(&format!(
                "{document}---\n{}",
                document.replace("name: a", "name: b")
            ));
        }
    }
}

#[test]
fn another_spelling_of_a_value_is_no_change() {
    let document = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    for spelled in [
        "empty: ~\nlist:\n- a: ~ # why\n",
        "number: &unused 1\nlist: &unused\n- a\n",
    ] {
        check(&format!("{document}{spelled}"));
        check(&format!("{OTHER}---\n{document}{spelled}"));
    }
}

/// A part of a document: text without comments, and text with a comment that has a number.
fn part(plain: &'static str, commented: &'static [&'static str]) -> BoxedStrategy<String> {
    let commented: Vec<String> = commented.iter().map(|text| (*text).to_owned()).collect();
    prop_oneof![
        2 => Just(plain.to_owned()),
        3 => prop::sample::select(commented),
    ]
    .boxed()
}

fn document() -> impl Strategy<Value = String> {
    let head = part(
        "",
        &[
            "# head\n",
            "# licence\n\n",
            "# licence\n\n# head\n",
            "\n",
            "\n# head\n\n",
        ],
    );
    let kind = part(
        "kind: ConfigMap\n",
        &[
            "kind: ConfigMap # kind\n",
            "# kind\nkind: ConfigMap\n",
            "kind: ConfigMap\n# behind kind\n",
            "kind: ConfigMap\n\n# behind kind\n\n",
        ],
    );
    let meta = part(
        "metadata:\n  name: NAME\n",
        &[
            "metadata: # meta\n  name: NAME\n",
            "metadata:\n  # name\n  name: NAME   # name\n",
            "metadata:\n  name: NAME\n  # below\n",
            "metadata:\n  annotations:\n    # a\n    a: b  # b\n    # c\n  name: NAME\n",
            "metadata:\n  annotations: {}\n  name: NAME\n  # below\n",
        ],
    );
    let list = part(
        "",
        &[
            "list:\n- a # a\n- b\n",
            "list:\n# first\n- a\n# second\n- b\n# end\n",
            "list:\n  # first\n  - a:  b\n    # inner\n  - b\n  # end\n",
            "list: [a, b] # flow\n",
            "list:\n- a:\n  # x\n  b: c\n\n# after\n",
        ],
    );
    let data = part(
        "data:\n  value: VALUE\n",
        &[
            "data: # data\n  value: VALUE\n",
            "data:\n  value: VALUE # line\n",
            "data:\n  value: VALUE  # line\n",
            "data:\n  value: VALUE   # line\n",
            "# data\ndata:\n  # value\n  value: VALUE\n",
            "data:\n\n  value: VALUE\n  # below\n",
            "data:\n  text: |\n    # no comment\n    a\n  value: VALUE\n",
            "data:\n  value: VALUE\n  text: |\n    a\n    # no comment\n",
        ],
    );
    let foot = part(
        "",
        &[
            "# foot\n",
            "\n# foot\n",
            "\n\n# foot\n\n",
            "# foot\n# more\n",
            "# foot\n\n# more\n",
            "  # foot\n",
            "  # foot\n# more\n",
            "\n",
        ],
    );
    let value = prop_oneof![Just("old"), Just("same")];
    (head, kind, meta, list, data, foot, value).prop_map(
        |(head, kind, meta, list, data, foot, value)| {
            let text = format!("{head}apiVersion: v1\n{kind}{meta}{list}{data}{foot}");
            text.replace("VALUE", value)
        },
    )
}

/// A file of several documents. Every comment has a number, or all are the same.
fn file() -> impl Strategy<Value = String> {
    let separator = prop::sample::select(vec![
        "---\n",
        "--- # separator\n",
        "---\n\n",
        "---\n# only a comment\n---\n",
        "---\n---\n",
    ]);
    let documents = prop::collection::vec((document(), separator), 1..4);
    let start = prop::sample::select(vec!["", "", "---\n", "# only a comment\n---\n", "\u{feff}"]);
    let end = prop::sample::select(vec![
        "\n",
        "\n",
        "",
        "\n\n",
        "\n---\n",
        "\n---\n# the end\n",
    ]);
    let line_break = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    (documents, start, end, line_break, any::<bool>()).prop_map(
        |(documents, start, end, line_break, is_numbered)| {
            let mut text = start.to_owned();
            for (number, (document, separator)) in documents.iter().enumerate() {
                if number > 0 {
                    text.push_str(separator);
                }
                text.push_str(&document.replace("NAME", &format!("n{number}")));
            }
            text.truncate(text.trim_end_matches('\n').len());
            text.push_str(end);
            if is_numbered {
                text = numbered(&text);
            }
            text.replace('\n', line_break)
        },
    )
}

/// The same text with a number in each comment.
fn numbered(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split("# ").enumerate() {
        if number > 0 {
            out.push_str(&format!("# {number} "));
        }
        out.push_str(part);
    }
    out
}

/// The bodies of the documents that hold a value.
fn with_value<'a>(text: &'a str, value: &str) -> Vec<&'a str> {
    let documents = text.split("\n---");
    let is_wanted = |document: &&str| document.contains(&format!("value: {value}"));
    documents.filter(is_wanted).collect()
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_document_that_did_not_change_keeps_its_bytes(
        content in file(),
        ways in prop::collection::vec(prop::sample::select(vec![Way::Text, Way::Encoded, Way::Trees]), 1..4),
    ) {
        let after = render(&ways, &content);
        prop_assert_eq!(after.rendered.error.as_ref(), None);
        let rendered = after.file("all.yaml");
        if content.contains("value: old") {
            prop_assert_eq!(with_value(rendered, "same"), with_value(&content, "same"), "{}", rendered);
        } else {
            prop_assert_eq!(rendered, &content);
        }
        let again = render(&ways, rendered);
        prop_assert_eq!(again.file("all.yaml"), rendered);
        prop_assert_eq!(again.changed.iter().filter(|path| *path == "all.yaml").count(), 0);
        for comment in content.lines().filter_map(|line| line.split_once("# ")) {
            let comment = format!("# {}", comment.1);
            let count = |text: &str| text.matches(&comment).count();
            prop_assert_eq!(count(rendered), count(&content), "{}\n{}", comment, rendered);
        }
    }
}
