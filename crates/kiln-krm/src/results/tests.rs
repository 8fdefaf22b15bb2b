//! How lists of results are written.

use super::{FunctionResult, FunctionResultList, ResultItem, Severity};

#[test]
fn an_empty_list_has_no_items() {
    assert_eq!(
        FunctionResultList::new().to_yaml(),
        "apiVersion: kpt.dev/v1\nkind: FunctionResultList\nmetadata:\n  name: fnresults\nexitCode: 0\n"
    );
}

#[test]
fn a_failed_function_is_written_with_its_words() {
    let mut list = FunctionResultList::new();
    list.exit_code = 1;
    list.items.push(FunctionResult {
        exec: "sed -e 's/a/b/'".to_owned(),
        stderr: "no\nway".to_owned(),
        exit_code: -1,
        ..FunctionResult::default()
    });
    assert_eq!(
        list.to_yaml(),
        "apiVersion: kpt.dev/v1\nkind: FunctionResultList\nmetadata:\n  name: fnresults\nexitCode: 1\nitems:\n  - exec: sed -e 's/a/b/'\n    stderr: |-\n      no\n      way\n    exitCode: -1\n"
    );
}

#[test]
fn severities_that_mean_something_are_known() {
    let severity = |text: &str| {
        let item = ResultItem {
            severity: text.to_owned(),
            ..ResultItem::default()
        };
        item.known_severity()
    };
    assert_eq!(severity(""), Some(Severity::Info));
    assert_eq!(severity("info"), Some(Severity::Info));
    assert_eq!(severity("warning"), Some(Severity::Warning));
    assert_eq!(severity("error"), Some(Severity::Error));
    assert_eq!(severity("Error"), None);
}
