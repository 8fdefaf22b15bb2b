//! The vocabulary against what the Go libraries behind kpt answered: each line of a fixture is a question and its answer.

mod images;
mod kptfiles;
mod lists;
mod pipelines;
mod results;
mod text;

use serde_json::Value;

/// The lines of a fixture.
fn fixture(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("fixtures are JSON lines"))
        .collect()
}

/// A field of a fixture's line; none if it is absent.
fn text<'a>(case: &'a Value, key: &str) -> Option<&'a str> {
    case.get(key).and_then(Value::as_str)
}

/// Collects what differs, so that one run shows all of it.
#[derive(Default)]
struct Report {
    checked: usize,
    failures: Vec<String>,
}

impl Report {
    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: T, recorded: T) {
        self.checked += 1;
        if ours != recorded {
            self.failures.push(format!(
                "{what}\n    ours:     {ours:?}\n    recorded: {recorded:?}"
            ));
        }
    }

    #[track_caller]
    fn finish(self) {
        let count = self.failures.len();
        let shown = self.failures.iter().take(20).cloned().collect::<Vec<_>>();
        assert!(self.checked > 0, "nothing was checked");
        assert!(
            count == 0,
            "{count} of {} differ:\n{}",
            self.checked,
            shown.join("\n")
        );
    }
}
