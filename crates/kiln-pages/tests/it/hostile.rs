//! Names and messages come from packages and functions. None of them may become markup or leave its format.

use kiln_pages::report::{ReportFormat, ReportInput, ReportModel, annotations, build};

use crate::page::{check_structure, parse, selector};
use crate::sample::{DEPLOYMENT, changed, input, set_image, validate};

const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "\" onload=\"alert(1)",
    "</script><img src=x onerror=alert(1)>",
    "]]><x>&amp;",
    "\u{202e}evil\u{0}\u{7}",
    "a|b`c`\n# heading\n\n[x](https://example.org)",
    "::error file=x::y",
    "../../etc/passwd?x#y z",
];

fn hostile_run(name: &str) -> ReportModel {
    let mut step = set_image();
    step.function = name.to_owned();
    step.package = name.to_owned();
    step.touched[0].id.name = name.to_owned();
    step.touched[0].file = name.to_owned();
    let mut failed = validate();
    failed.function = name.to_owned();
    failed.result.stderr = name.to_owned();
    failed.result.results[0].message = name.to_owned();
    failed.result.results[0].file.as_mut().unwrap().path = name.to_owned();
    let new = format!("{DEPLOYMENT}  # {name}\n");
    build(ReportInput {
        package: name.to_owned(),
        directory: name.to_owned(),
        command: vec![name.to_owned()],
        steps: vec![step, failed],
        files: vec![changed(name, DEPLOYMENT, &new), changed("b.yaml", "", name)],
        ..input()
    })
}

#[test]
fn hostile_names_are_only_text() {
    for name in HOSTILE {
        let model = hostile_run(name);
        check_structure(&model);
        let page = parse(&model);
        assert_eq!(
            page.select(&selector("img, iframe, object, embed, link"))
                .count(),
            0
        );
    }
}

#[test]
fn hidden_characters_are_shown() {
    let model = hostile_run("\u{202e}evil\u{0}\u{7}");
    assert_eq!(model.package, "\\u{202e}evil\\u{0}\\u{7}");
}

#[test]
fn xml_and_json_stay_valid() {
    for name in HOSTILE {
        let model = hostile_run(name);
        for format in [
            ReportFormat::Sarif,
            ReportFormat::TraceEvents,
            ReportFormat::Data,
        ] {
            serde_json::from_str::<serde_json::Value>(&format.write(&model)).unwrap();
        }
        let xml = ReportFormat::Junit.write(&model);
        assert!(!xml.contains("<x>") && !xml.contains("<script") && !xml.contains('\u{0}'));
    }
}

#[test]
fn markdown_has_no_links_and_no_html() {
    for name in HOSTILE {
        let text = ReportFormat::Markdown.write(&hostile_run(name));
        assert!(
            !text.contains("<script") && !text.contains("<img"),
            "{text}"
        );
        assert!(
            !text.contains("\n# heading") && !text.contains(" [x]("),
            "{text}"
        );
    }
}

#[test]
fn markdown_has_no_address_that_readers_turn_into_a_link() {
    let name = "https://a.example/ HTTP://b WWW.c.example d@e.example @user";
    let text = ReportFormat::Markdown
        .write(&hostile_run(name))
        .to_lowercase();
    for link in ["://", "www.", "d@e", "@user"] {
        assert!(!text.contains(link), "{link}: {text}");
    }
    assert!(text.contains("https:<!-- -->//a.example/"), "{text}");
}

#[test]
fn sarif_has_no_placeholder_and_no_link() {
    let name = r"see [x](1), [y\](2), {0} and a[0]";
    let sarif = ReportFormat::Sarif.write(&hostile_run(name));
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let message = &sarif["runs"][0]["results"][0]["message"]["text"];
    let message = message.as_str().unwrap();
    assert!(
        message.contains(r": see [x] (1), [y\] (2), {{0}} and a[0]"),
        "{message}"
    );
}

#[test]
fn long_names_and_many_rows_are_bounded() {
    let mut step = set_image();
    step.function = "x".repeat(10_000);
    let steps = std::iter::repeat_with(|| {
        let mut step = set_image();
        step.function = "x".repeat(1_000);
        step
    });
    let model = build(ReportInput {
        steps: steps.take(2_000).collect(),
        ..input()
    });
    let markdown = ReportFormat::Markdown.write(&model);
    assert!(markdown.len() < 1 << 20, "{} bytes", markdown.len());
    assert!(markdown.contains("… and 1900 more."));
}

#[test]
fn paths_that_look_alike_have_their_own_anchors() {
    // Written without an end, the numbers of both characters are e33.
    let paths = ["\u{e3}3.yaml", "\u{e33}.yaml"];
    let model = build(ReportInput {
        files: Vec::from(paths.map(|path| changed(path, "a: 1\n", "a: 2\n"))),
        ..input()
    });
    check_structure(&model);
}

/// 400 KB of text that every format has to escape.
fn large_text() -> String {
    "<&|%".repeat(100_000)
}

fn large_run() -> ReportModel {
    let text = large_text();
    let mut failed = validate();
    failed.function = text.clone();
    failed.result.stderr = text.clone();
    let item = &mut failed.result.results[0];
    item.message = text.clone();
    item.field.as_mut().unwrap().proposed_value = text.clone();
    let service = |value: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  a: \"{value}\"\n")
    };
    build(ReportInput {
        steps: vec![failed, set_image()],
        files: vec![changed("a.yaml", &service(&text), &service("small"))],
        ..input()
    })
}

#[test]
fn large_values_are_cut_where_people_read() {
    let model = large_run();
    assert_eq!(model.steps[0].results[0].message, large_text());
    assert!(model.review[0].before.len() < 2_000);
    let html = ReportFormat::Html.write(&model);
    assert!(html.len() <= 20 << 20, "{} bytes", html.len());
    let markdown = ReportFormat::Markdown.write(&model);
    assert!(markdown.len() < 1 << 20, "{} bytes", markdown.len());
    for line in annotations(&model).lines() {
        assert!(line.len() < 20_000, "{} bytes", line.len());
    }
}

#[test]
fn a_summary_that_would_be_too_large_ends_with_a_whole_line() {
    let text = "&".repeat(1_000);
    let steps = std::iter::repeat_with(|| {
        let mut step = validate();
        step.function = text.clone();
        step.package = text.clone();
        let item = &mut step.result.results[0];
        item.message = text.clone();
        item.file.as_mut().unwrap().path = text.clone();
        item.field.as_mut().unwrap().proposed_value = text.clone();
        step
    });
    let model = build(ReportInput {
        steps: steps.take(120).collect(),
        ..input()
    });
    let markdown = ReportFormat::Markdown.write(&model);
    assert!(markdown.len() < 1 << 20, "{} bytes", markdown.len());
    let last = markdown.lines().next_back();
    assert_eq!(
        last,
        Some("_This summary is not complete, because it would be too large._")
    );
}
