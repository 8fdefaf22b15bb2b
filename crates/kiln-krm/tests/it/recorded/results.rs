//! What functions report.

use kiln_krm::results::{FunctionResult, FunctionResultList, read_results};

use super::{Report, fixture, text};

#[test]
fn results_are_read_and_written_like_kpt() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/results.jsonl")) {
        let input = text(&case, "in").unwrap_or_default();
        let what = format!("results of\n{input}");
        let parsed = kiln_yaml::parse(input);
        let doc = match parsed {
            Ok(doc) => doc.expect("a document"),
            Err(error) => {
                let error = error.to_string();
                report.check(&what, Some(error.as_str()), text(&case, "parse_error"));
                continue;
            }
        };
        let node = doc.root().get("results").expect("results");
        let read = read_results(node);
        // Where the original crashes we must not.
        if text(&case, "panic").is_some() {
            report.check(&what, read.is_ok(), true);
            continue;
        }
        match read {
            Err(error) => report.check(
                &what,
                Some(error.to_string().as_str()),
                text(&case, "error"),
            ),
            Ok(items) => {
                report.check(&what, None, text(&case, "error"));
                let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
                let recorded = serde_json::from_value(case["lines"].clone()).unwrap_or_default();
                report.check(&what, lines, recorded);
                let mut list = FunctionResultList::new();
                list.items.push(FunctionResult {
                    results: items,
                    ..FunctionResult::default()
                });
                report.check(&what, Some(list.to_yaml().as_str()), text(&case, "yaml"));
            }
        }
    }
    report.finish();
}
