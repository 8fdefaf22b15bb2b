//! Tests of the module above.

use super::*;

fn read(text: &str) -> Result<Vec<Resource>, ReadError> {
    read_file(
        "d/f.yaml",
        text.as_bytes().to_vec(),
        &FileOptions::default(),
    )
}

#[track_caller]
fn check_bodies(text: &str, pieces: &[(&str, &str)]) {
    let resources = read(text).unwrap();
    let found: Vec<_> = resources
        .iter()
        .map(|resource| {
            let origin = resource.origin().unwrap();
            let text = |bytes| std::str::from_utf8(bytes).unwrap();
            (text(origin.lead()), text(origin.body()))
        })
        .collect();
    assert_eq!(found, pieces);
    if let Some(first) = resources.first() {
        let file = first.origin().unwrap().file();
        let mut whole = file.preamble().to_vec();
        for (lead, body) in pieces {
            whole.extend(lead.bytes().chain(body.bytes()));
        }
        whole.extend(file.tail());
        assert_eq!(
            String::from_utf8(whole).unwrap(),
            text,
            "the pieces are the file"
        );
    }
}

#[test]
fn a_file_is_cut_at_lines_of_dashes() {
    check_bodies("a: 1\n---\nb: 2\n", &[("", "a: 1\n"), ("---\n", "b: 2\n")]);
    check_bodies(
        "a: 1\n--- # c\nb: 2",
        &[("", "a: 1\n"), ("--- # c\n", "b: 2")],
    );
    check_bodies(
        "a: 1\r\n---\r\nb: 2\r\n",
        &[("", "a: 1\r\n"), ("---\r\n", "b: 2\r\n")],
    );
    check_bodies(
        "a: |\n  x\n---\nb: 2\n",
        &[("", "a: |\n  x\n"), ("---\n", "b: 2\n")],
    );
}

#[test]
fn what_is_empty_lies_between() {
    check_bodies("---\na: 1\n", &[("", "a: 1\n")]);
    check_bodies("# licence\n---\na: 1\n---\n", &[("", "a: 1\n")]);
    check_bodies(
        "a: 1\n---\n# nothing\n---\nnull\n---\n---\nb: 2\n---\n# end\n",
        &[
            ("", "a: 1\n"),
            ("---\n# nothing\n---\nnull\n---\n---\n", "b: 2\n"),
        ],
    );
    check_bodies("\u{feff}---\na: 1\n", &[("", "a: 1\n")]);
    check_bodies(
        "a: 1\n---\n\u{feff}b: 2\n",
        &[("", "a: 1\n"), ("---\n\u{feff}", "b: 2\n")],
    );
    check_bodies("", &[]);
    check_bodies("# only\n", &[]);
}

#[test]
fn only_kept_documents_are_counted() {
    let resources = read("# x\n---\na: 1\n---\n~\n---\nb: 1\n").unwrap();
    let index: Vec<_> = resources
        .iter()
        .map(|resource| resource.file_place())
        .collect();
    assert_eq!(index, [("d/f.yaml", "0"), ("d/f.yaml", "1")]);
}

#[test]
fn separators_with_content_are_refused() {
    for (text, message) in [
        (
            "a: 1\n--- foo\nb: 1\n",
            "invalid document separator: --- foo",
        ),
        ("a: 1\n---- \nb: 1\n", "invalid document separator: ----"),
        (
            "a: 1\r\n--- |\r\nb: 1\n",
            "invalid document separator: --- |",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message);
    }
    // Without a line behind it, it separates nothing, and the first document is all that counts.
    assert_eq!(read("a: 1\n--- foo").unwrap().len(), 1);
}

#[test]
fn the_older_reader_knows_bare_separators_only() {
    let options = FileOptions {
        dialect: Dialect::Legacy,
        ..FileOptions::default()
    };
    let read = |text: &str| read_file("f.yaml", text.as_bytes().to_vec(), &options);
    assert_eq!(read("a: 1\n---\nb: 1\n--- # c\nc: 1\n").unwrap().len(), 2);
    assert_eq!(read("a: 1\r\n---\r\nb: 1\n").unwrap().len(), 2);
    let resource = read("a: 1\n").unwrap().pop().unwrap();
    let annotations: Vec<_> = resource.annotations().collect();
    assert_eq!(
        annotations,
        [
            ("config.kubernetes.io/index", "0"),
            ("config.kubernetes.io/path", "f.yaml")
        ]
    );
}

#[test]
fn malformed_documents_say_where() {
    let error = read("a: 1\n---\nb: 1\nc: [\n").unwrap_err();
    let ReadError::Malformed { lines_before, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*lines_before, 2);
    assert!(
        error
            .to_string()
            .starts_with("MalformedYAMLError: yaml: line "),
        "{error}"
    );
}

#[test]
fn annotations_come_sorted_behind_those_that_are_there() {
    let options = FileOptions {
        package_path: Some("/p"),
        ..FileOptions::default()
    };
    let text =
        b"metadata:\n  annotations:\n    x: y\n    internal.config.kubernetes.io/path: mine\n";
    let resource = read_file("f.yaml", text.to_vec(), &options)
        .unwrap()
        .pop()
        .unwrap();
    let annotations: Vec<_> = resource.annotations().collect();
    assert_eq!(
        annotations,
        [
            ("x", "y"),
            ("internal.config.kubernetes.io/path", "f.yaml"),
            ("config.kubernetes.io/path", "f.yaml"),
            ("config.kubernetes.io/index", "0"),
            ("internal.config.kubernetes.io/index", "0"),
            ("internal.config.kubernetes.io/package-path", "/p"),
            ("internal.config.kubernetes.io/seqindent", "compact"),
        ]
    );
}

#[test]
fn the_style_is_guessed_from_lines() {
    for (text, style) in [
        ("a:\n- b\n", SequenceStyle::Compact),
        ("a:\n  - b\n", SequenceStyle::Wide),
        ("a:\n    - b\nc:\n  - d\n", SequenceStyle::Wide),
        ("a: # c\n  # d\n  - b\n", SequenceStyle::Wide),
        ("a:b:\n  - b\n", SequenceStyle::Compact),
        ("a: x\n  - b\nc:\n  - d\n", SequenceStyle::Wide),
        ("a: |\n  x:\n    - b\n", SequenceStyle::Wide),
        ("a:\n\n  - b\n", SequenceStyle::Compact),
        ("- a\n- b:\n    - c\n", SequenceStyle::Compact),
        ("- b:\n  - c\n", SequenceStyle::Wide),
        ("a:  \n  - b\n", SequenceStyle::Wide),
        ("a:\n  -\n", SequenceStyle::Compact),
        ("", SequenceStyle::Compact),
    ] {
        assert_eq!(seqindent::guess(text.as_bytes()), style, "{text:?}");
    }
}

#[test]
fn lists_are_unwrapped_only_where_they_are_alone() {
    let input = |text: &str| read_input(text.as_bytes().to_vec(), Dialect::Current).unwrap();
    let list = input(
        "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nfunctionConfig: {a: b}\nitems:\n- x: 1\n- y: 2\nresults: []\n",
    );
    assert_eq!(
        list.wrapper.unwrap().api_version,
        "config.kubernetes.io/v1beta1"
    );
    assert_eq!(list.items.len(), 2);
    assert!(list.function_config.is_some() && list.results.is_some());
    assert_eq!(list.items[0].annotations().count(), 0);

    let list = input("kind: List\nitems: []\n---\n");
    assert!(list.wrapper.is_none());
    assert_eq!(list.items.len(), 1);
    assert!(input("kind: List\n").wrapper.is_none());
    assert!(input("kind: List\nitems: []\n").items.is_empty());
    assert!(input("").items.is_empty());
    assert_eq!(read("kind: List\nitems: []\n").unwrap().len(), 1);
}

#[test]
fn what_a_function_wrote_gets_an_index_and_no_style() {
    let list = read_function_output(b"a: 1\n".to_vec(), Dialect::Current).unwrap();
    let keys: Vec<_> = list.items[0].annotations().map(|(key, _)| key).collect();
    assert_eq!(keys, [LEGACY_INDEX, INDEX]);
    assert!(read_function_output(b"[1]\n".to_vec(), Dialect::Current).is_err());
    assert!(read_input(b"[1]\n".to_vec(), Dialect::Current).is_ok());
}

#[test]
fn wide_text_and_depth_are_no_problem() {
    let utf16: Vec<u8> = "\u{feff}a: 1\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        read_file("f.yaml", utf16, &FileOptions::default())
            .unwrap()
            .len(),
        1
    );
    let deep = format!("a: {}{}\n", "[".repeat(9_000), "]".repeat(9_000));
    assert_eq!(read(&deep).unwrap().len(), 1);
}

#[track_caller]
fn check_refused(answer: &str, wanted: &str) {
    for dialect in [Dialect::Current, Dialect::Legacy] {
        let error = read_answer(answer.as_bytes().to_vec(), dialect).expect_err(answer);
        assert_eq!(error.to_string(), wanted, "{answer:?}");
    }
}

#[test]
fn an_answer_of_nothing_is_refused() {
    check_refused("", "it printed nothing instead of a ResourceList");
    check_refused("\n", r#"it printed "\n" instead of a ResourceList"#);
    check_refused("# c\n", r##"it printed "# c\n" instead of a ResourceList"##);
    check_refused("---\n", r#"it printed "---\n" instead of a ResourceList"#);
    check_refused(
        "---\n---\n",
        r#"it printed "---\n---\n" instead of a ResourceList"#,
    );
    check_refused("null\n", r#"it printed "null\n" instead of a ResourceList"#);
    let long = format!("# {}", "c".repeat(1000));
    let shown = format!("\"# {}\"... (1002 bytes)", "c".repeat(58));
    check_refused(
        &long,
        &format!("it printed {shown} instead of a ResourceList"),
    );
}

#[test]
fn an_answer_that_is_more_or_less_than_one_list_is_refused() {
    let list = "kind: ResourceList\nitems: []\n";
    check_refused(
        "kind: ResourceList\n",
        "it printed a ResourceList without items",
    );
    check_refused(
        "kind: ResourceList\nresults: []\n",
        "it printed a ResourceList without items",
    );
    for (answer, count) in [
        (format!("{list}---\n{list}"), 2),
        (format!("{list}---\n# c\n"), 2),
        (format!("kind: A\n---\n{list}---\nkind: B\n"), 3),
    ] {
        let wanted =
            format!("it printed a ResourceList as one of {count} documents instead of one alone");
        check_refused(&answer, &wanted);
    }
    check_refused(
        &format!("{list}items: [{{a: b}}]\n"),
        "it printed a ResourceList that has items more than once",
    );
}

/// Text below a document without a separator is not lost in silence.
#[test]
fn more_than_a_document_is_refused() {
    let object = "{\"kind\": \"A\"}\n";
    for (text, line) in [
        (format!("{object}{object}"), 2),
        (format!("{object}done\n"), 2),
        ("kind: A\n...\nkind: B\n".to_owned(), 3),
        (format!("kind: A\n---\n{object}\n{object}"), 3),
        // Separators are lines that end with a line feed.
        ("kind: A\r---\rkind: B\r".to_owned(), 3),
    ] {
        let options = FileOptions {
            trailing_text: TrailingText::Refused,
            ..FileOptions::default()
        };
        let error = read_file("f.yaml", text.clone().into_bytes(), &options).expect_err(&text);
        let ReadError::Malformed { error, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(error.position().line, line, "{text:?}");
        let input = text.clone().into_bytes();
        assert!(read_input_with(input, Dialect::Current, TrailingText::Refused).is_err());
        assert!(read_answer(text.into_bytes(), Dialect::Current).is_err());
    }
    // As kpt reads it.
    let first = read(&format!("{object}{object}"));
    assert_eq!(first.map(|all| all.len()), Ok(1));
    for text in [
        "kind: A\n...\n# c\n",
        "kind: A\n...\n",
        "{\"kind\": \"A\"}\n# c\n",
    ] {
        let options = FileOptions {
            trailing_text: TrailingText::Refused,
            ..FileOptions::default()
        };
        let all = read_file("f.yaml", text.as_bytes().to_vec(), &options);
        assert_eq!(all.map(|all| all.len()), Ok(1), "{text:?}");
    }
}

#[test]
fn an_answer_without_a_list_of_items_is_refused() {
    for kind in ["ResourceList", "List"] {
        let cases = [
            ("", "null"),
            ("null", "null"),
            ("{}", "a mapping"),
            ("{a: b}", "a mapping"),
            ("''", "a scalar"),
            ("abc", "a scalar"),
            ("*a", "an alias"),
        ];
        for (items, found) in cases {
            let answer =
                format!("kind: {kind}\nfunctionConfig: {{a: &a [{{b: c}}]}}\nitems: {items}\n");
            let wanted = format!("it printed a {kind} whose items are {found} instead of a list");
            check_refused(&answer, &wanted);
        }
    }
}

#[test]
fn a_list_of_no_items_is_an_answer() {
    let answers = [
        "kind: ResourceList\nitems: []\n",
        "kind: ResourceList\nfunctionConfig: {}\n",
        "---\nkind: List\nitems: []\n",
        "{\"kind\": \"ResourceList\", \"items\": []}",
    ];
    for answer in answers {
        let list = read_answer(answer.as_bytes().to_vec(), Dialect::Current).unwrap();
        assert!(list.items.is_empty(), "{answer:?}");
    }
}
