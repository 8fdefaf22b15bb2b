//! Reading recorded answers and reporting where ours differ.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The cases of one file of `tests/fixtures`.
pub(crate) fn load(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("fixtures are part of the repository");
    let cases: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a fixture line is JSON"))
        .collect();
    assert!(!cases.is_empty(), "{name} has no cases");
    cases
}

/// A text field; `None` if it is missing or no text (not UTF-8, or an error).
pub(crate) fn text<'a>(case: &'a Value, field: &str) -> Option<&'a str> {
    case.get(field)?.as_str()
}

/// Collects differences, so that one run shows all of them.
#[derive(Default)]
pub(crate) struct Report {
    checked: usize,
    failed: usize,
    text: String,
}

impl Report {
    pub(crate) fn check(&mut self, id: &str, what: &str, input: &str, ours: &str, wanted: &str) {
        self.checked += 1;
        if ours != wanted {
            self.failed += 1;
            if self.failed <= 20 {
                let _ = writeln!(
                    self.text,
                    "== {id}: {what}\n-- input\n{input}\n-- wanted\n{wanted:?}\n-- ours\n{ours:?}"
                );
            }
        }
    }

    #[track_caller]
    pub(crate) fn finish(self, at_least: usize) {
        assert!(
            self.failed == 0,
            "{} of {} differ\n{}",
            self.failed,
            self.checked,
            self.text
        );
        assert!(
            self.checked >= at_least,
            "only {} checked, expected {at_least}",
            self.checked
        );
    }
}
