//! Tables of documents: a row outside of a table, which would be shown as plain text, and files that the tables of
//! `ARCHITECTURE.md` name and that no longer exist.

use super::Violation;
use super::tree::Tree;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Where the paths of `ARCHITECTURE.md` begin.
const STARTS: [&str; 3] = ["", "crates/", "crates/kiln/src/"];

/// Checks all documents.
pub(super) fn check(tree: &Tree, violations: &mut Vec<Violation>) {
    for (path, text) in &tree.files {
        if path.ends_with(".md") {
            check_rows(path, text, violations);
        }
    }
    if let Some(text) = tree.files.get(ARCHITECTURE) {
        check_paths(text, tree, violations);
    }
}

/// A table begins with its header and a line of dashes, and ends with the first line that is not a row.
fn check_rows(path: &str, text: &str, violations: &mut Vec<Violation>) {
    let mut is_fenced = false;
    let mut columns = None;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        is_fenced ^= line.trim_start().starts_with("```");
        if is_fenced || !line.starts_with('|') {
            columns = None;
            continue;
        }
        let found = column_count(line);
        let problem = match columns {
            Some(count) if count == found => None,
            Some(count) => Some(format!("a row of {found} columns in a table of {count}")),
            None => {
                columns = Some(found);
                let next = lines.peek().is_some_and(|(_, next)| is_rule(next));
                (!next).then(|| "a row outside of a table: a blank line ends a table".to_owned())
            }
        };
        violations.extend(problem.map(|message| Violation::line(path, index + 1, message)));
    }
}

fn column_count(row: &str) -> usize {
    let row = row.replace("\\|", "");
    let row = row.trim_end();
    row.strip_suffix('|').unwrap_or(row).matches('|').count()
}

/// Whether a line separates the header of a table from its rows.
fn is_rule(line: &str) -> bool {
    line.starts_with("|-") && line.chars().all(|c| "|-: ".contains(c))
}

/// The code spans of rows that look like paths.
fn check_paths(text: &str, tree: &Tree, violations: &mut Vec<Violation>) {
    let Some(tracked) = &tree.tracked else {
        return;
    };
    let exists = |path: &str| {
        let below = format!("{}/", path.trim_end_matches('/'));
        tracked.contains(path) || tracked.iter().any(|known| known.starts_with(&below))
    };
    let rows = text.lines().enumerate();
    for (index, row) in rows.filter(|(_, line)| line.starts_with('|')) {
        for path in row
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| is_path(span))
        {
            if !STARTS.iter().any(|start| exists(&format!("{start}{path}"))) {
                let message = format!("there is no {path}; name the file that has this now");
                violations.push(Violation::line(ARCHITECTURE, index + 1, message));
            }
        }
    }
}

fn is_path(span: &str) -> bool {
    span.contains('/')
        && span
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}
