//! The structure of the page, read by an HTML parser.

use std::collections::BTreeSet;

use kiln_pages::report::{ReportFormat, ReportInput, ReportModel, SecretValues, Verdict, build};
use scraper::{Html, Selector};

use crate::sample::{changed, failed_run, input};

#[test]
fn page_of_a_failed_run_is_well_formed() {
    check_structure(&failed_run());
}

#[test]
fn page_of_an_empty_run_is_well_formed() {
    check_structure(&build(input()));
}

#[test]
fn problems_come_first() {
    let page = parse(&failed_run());
    let first = page.select(&selector("main section")).next().unwrap();
    assert_eq!(first.value().attr("id"), Some("problems"));
}

#[test]
fn the_page_contains_its_data() {
    let model = failed_run();
    let page = parse(&model);
    let data = page.select(&selector("script#data")).next().unwrap();
    assert_eq!(data.value().attr("type"), Some("application/json"));
    let read: ReportModel = serde_json::from_str(&data.text().collect::<String>()).unwrap();
    assert_eq!(read, model);
}

#[test]
fn pages_are_small() {
    let page = ReportFormat::Html.write(&build(ReportInput { ..input() }));
    assert!(page.len() < 10_000, "{} bytes", page.len());
}

#[test]
fn a_page_that_is_cut_has_the_numbers_of_the_whole_report() {
    let value = "x".repeat(1_000);
    let files = (0..21_000).map(|number| {
        let text = format!("kind: A\nmetadata:\n  name: {value}\n");
        changed(&format!("{number}.yaml"), "", &text)
    });
    let model = build(ReportInput {
        verdict: Verdict::Differs,
        files: files.collect(),
        ..input()
    });
    let html = ReportFormat::Html.write(&model);
    assert!(html.contains("This page is not complete"));
    for text in [
        "<h1>Differs: rendering would change 21000 files</h1>",
        "<dt>files changed</dt><dd>21000</dd>",
        "<dt>lines</dt><dd>+63000 −0</dd>",
        "Changes (+63000 −0)",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn files_that_differ_only_in_a_secret_have_one_anchor() {
    let mut secrets = SecretValues::default();
    secrets.add_file(b"kind: Secret\nstringData: {a: value-one, b: value-two}\n");
    let paths = ["value-one.yaml", "value-two.yaml"];
    check_structure(&build(ReportInput {
        files: paths.map(|path| changed(path, "a: 1\n", "a: 2\n")).into(),
        secrets,
        ..input()
    }));
}

pub(crate) fn parse(model: &ReportModel) -> Html {
    Html::parse_document(&ReportFormat::Html.write(model))
}

pub(crate) fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

/// A page that leads to no other.
#[track_caller]
pub(crate) fn check_structure(model: &ReportModel) {
    let others = check_html(&parse(model));
    assert_eq!(others, Vec::<String>::new(), "links leave the page");
}

/// Unique ids, links that lead somewhere, headings in order, tables with headers, no script. Returns the links to other pages.
#[track_caller]
pub(crate) fn check_html(page: &Html) -> Vec<String> {
    assert_eq!(page.errors, Vec::<std::borrow::Cow<'_, str>>::new());
    let attributes = |name: &'static str| {
        let elements: Vec<String> = page
            .select(&selector(&format!("[{name}]")))
            .filter_map(|element| element.value().attr(name).map(str::to_owned))
            .collect();
        elements
    };
    let ids = attributes("id");
    let unique: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len(), "ids repeat: {ids:?}");
    let (inside, others): (Vec<String>, Vec<String>) = attributes("href")
        .into_iter()
        .partition(|link| link.starts_with('#'));
    for link in inside {
        let target = link.trim_start_matches('#');
        assert!(ids.iter().any(|id| id == target), "{link} leads nowhere");
    }
    assert_eq!(attributes("src"), Vec::<String>::new());
    assert_eq!(attributes("onload"), Vec::<String>::new());
    let script = selector("script:not([type='application/json'])");
    assert_eq!(page.select(&script).count(), 0);
    let mut level = 0;
    for heading in page.select(&selector("h1, h2, h3, h4")) {
        let next = heading.value().name()[1..].parse::<usize>().unwrap();
        assert!(next <= level + 1, "h{next} follows h{level}");
        level = next;
    }
    for table in page.select(&selector("table")) {
        let headers = table.select(&selector("thead th[scope=col]")).count();
        for row in table.select(&selector("tbody tr")) {
            let cells = row.select(&selector("td, th")).count();
            assert_eq!(cells, headers, "a row has other columns than the head");
        }
    }
    others
}
