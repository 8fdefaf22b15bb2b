//! Checks of lists, and selection from them.

use kiln_krm::check::{ListKind, check_list};
use kiln_krm::kptfile::Kptfile;
use kiln_krm::paths::check_paths;
use kiln_krm::selector::{Overlap, select};
use kiln_yaml::{Document, NodeRef};

use super::{Report, fixture, text};

fn documents(input: &str) -> Vec<Document> {
    kiln_yaml::parse_all(input.as_bytes()).expect("fixtures are valid")
}

#[test]
fn lists_are_checked_like_kpt() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/lists.jsonl")) {
        let input = text(&case, "in").unwrap_or_default();
        let documents = documents(input);
        let nodes = || documents.iter().map(Document::root);
        let krm = check_list(nodes(), ListKind::Output)
            .err()
            .map(|error| error.to_string());
        let recorded = text(&case, "krm")
            .map(|error| format!("output resource list must contain only KRM resources: {error}"));
        report.check(&format!("resources of\n{input}"), krm, recorded);
        let paths = check_paths(nodes()).err().map(|error| error.to_string());
        report.check(
            &format!("paths of\n{input}"),
            paths.as_deref(),
            text(&case, "paths"),
        );
    }
    report.finish();
}

#[test]
fn resources_are_selected_like_kpt() {
    let mut report = Report::default();
    for case in fixture(include_str!("../../fixtures/selects.jsonl")) {
        let documents = documents(text(&case, "in").unwrap_or_default());
        let nodes: Vec<NodeRef<'_>> = documents.iter().map(Document::root).collect();
        let selection = case["list"][0].as_str().unwrap_or_default();
        let function = selection
            .replace("exclusions:", "exclude:")
            .replace('\n', "\n    ");
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline:\n  mutators:\n  - {function}\n    name: x\n"
        );
        let kptfile = kptfile.replace("- {}\n    name", "- name");
        let kptfile = Kptfile::read(kptfile.as_bytes()).expect("a valid Kptfile");
        let function = &kptfile.pipeline.expect("a pipeline").mutators[0];
        let run = |overlap| select(&nodes, &function.selectors, &function.exclusions, overlap);
        let recorded: Vec<usize> =
            serde_json::from_value(case["selected"].clone()).expect("positions");
        report.check(selection, run(Overlap::Repeated), recorded.clone());
        let mut once = recorded;
        once.dedup();
        report.check(selection, run(Overlap::Once), once);
    }
    report.finish();
}
