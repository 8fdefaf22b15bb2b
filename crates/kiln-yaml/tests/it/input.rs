//! What may come in: encodings, depth, problems and how they are shown.

use kiln_yaml::{SequenceStyle, parse, parse_all, parse_first, parse_until_error, to_string};

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = std::iter::once(0xFEFF);
    mark.chain(text.encode_utf16()).flat_map(unit).collect()
}

#[test]
fn utf16_reads_like_utf8() {
    let text = "# ü\na: \"\u{1F600}\" # c\nb:\n- é\n";
    let wanted = to_string(&parse(text).unwrap().unwrap(), SequenceStyle::Compact);
    for bytes in [utf16(text, u16::to_le_bytes), utf16(text, u16::to_be_bytes)] {
        let doc = parse_first(&bytes).unwrap().unwrap();
        assert_eq!(to_string(&doc, SequenceStyle::Compact), wanted);
    }
}

#[test]
fn broken_utf16_is_refused() {
    let mut bytes = utf16("a: b\n", u16::to_le_bytes);
    bytes.push(0);
    let error = parse_all(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "yaml: incomplete UTF-16 character");
    let lone = [0xFF, 0xFE, 0x61, 0x00, 0x00, 0xDC];
    let error = parse_all(&lone).unwrap_err();
    assert_eq!(error.to_string(), "yaml: unexpected low surrogate area");
}

/// On a stack far smaller than any program's, so that recursion anywhere would show.
#[test]
fn ten_thousand_levels_and_no_more() {
    let work = || {
        for (open, close) in [("[", "]"), ("{a: ", "}")] {
            let nested = |depth: usize| format!("{}{}\n", open.repeat(depth), close.repeat(depth));
            let doc = parse(&nested(10_000)).unwrap().unwrap();
            let copy = kiln_yaml::Document::from_node(doc.root());
            assert!(doc.root().value_eq(copy.root()));
            assert!(to_string(&copy, SequenceStyle::Wide).len() > 20_000);
            let error = parse(&nested(10_001)).unwrap_err();
            assert_eq!(error.message(), "exceeded max depth of 10000");
        }
        let block = |depth: usize| format!("{}x\n", "- ".repeat(depth));
        assert!(parse(&block(10_000)).is_ok());
        assert!(parse(&block(10_001)).is_err());
    };
    std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_problem_is_shown_where_it_is() {
    let error = parse("a: 1\nb: 2\n  c: 3\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "yaml: line 3: mapping values are not allowed in this context"
    );
    assert_eq!(
        error.report("dir/file.yaml", 10),
        "dir/file.yaml:13:4: mapping values are not allowed in this context\n\
         13 |   c: 3\n   \
         |    ^"
    );
}

#[test]
fn a_long_line_is_cut_around_the_problem() {
    let text = format!("a: [{}\u{1B}x", "b, ".repeat(1000));
    let error = parse_all(text.as_bytes()).unwrap_err();
    let report = error.report("f", 0);
    assert!(
        report.lines().all(|line| line.chars().count() < 200),
        "{report}"
    );
    let error = parse(&format!("a: {}: c\n", "\t\u{85}".repeat(3))).unwrap_err();
    assert!(!error.report("f", 0).contains('\u{85}'));
}

#[test]
fn documents_before_a_problem_are_kept() {
    let (documents, error) = parse_until_error(b"a: 1\n---\nb: 2\n--- [\n");
    assert_eq!(documents.len(), 2);
    assert!(error.is_some());
}

#[test]
fn a_document_knows_its_own_text() {
    let documents = parse_all(b"# h\na: 1\n---\nb: 2\n").unwrap();
    let texts: Vec<&str> = documents.iter().map(|doc| doc.source_text()).collect();
    assert_eq!(texts, ["# h\na: 1\n", "---\nb: 2\n"]);
    assert!(documents.iter().all(|doc| doc.is_unchanged()));
    let span = documents[0].root().get("a").and_then(|node| node.span());
    assert_eq!(span, Some(7..8));
}
