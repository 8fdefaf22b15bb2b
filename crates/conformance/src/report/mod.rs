//! The output of a run: failing cases with a diff, a table per set, totals.
//!
//! Independent of what is compared: every suite passes names, texts and counts.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use similar::{ChangeTag, TextDiff};

/// Maximum number of lines of a diff, unless everything is requested.
const DIFF_LINES: usize = 40;
/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// Number of checks that passed and failed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Tally {
    pub(crate) fn count(&mut self, passed: bool) {
        match passed {
            true => self.passed += 1,
            false => self.failed += 1,
        }
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The tallies of a set by what was checked.
#[derive(Default)]
pub(crate) struct Table {
    rows: BTreeMap<String, Tally>,
}

impl Table {
    pub(crate) fn count(&mut self, row: &str, passed: bool) {
        self.rows.entry(row.to_owned()).or_default().count(passed);
    }

    pub(crate) fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.rows.values() {
            total.add(*tally);
        }
        total
    }

    pub(crate) fn write(&self, title: &str, out: &mut dyn Write) -> io::Result<()> {
        let width = self.rows.keys().map(|row| row.len()).max().unwrap_or(0);
        let width = width.max(title.len());
        writeln!(out, "{title:width$}  {:>8}  {:>8}", "passed", "failed")?;
        for (row, tally) in &self.rows {
            writeln!(
                out,
                "{row:width$}  {:>8}  {:>8}",
                tally.passed, tally.failed
            )?;
        }
        writeln!(out)
    }
}

/// A line-by-line diff, `-` expected and `+` actual, with invisible characters made visible.
pub(crate) fn diff(wanted: &str, got: &str, all_lines: bool) -> String {
    let diff = TextDiff::from_lines(wanted, got);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            lines.push("    ...".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, place) = match change.tag() {
                ChangeTag::Delete => ('-', change.old_index()),
                ChangeTag::Insert => ('+', change.new_index()),
                ChangeTag::Equal => (' ', change.old_index()),
            };
            let place = place.map_or(0, |index| index + 1);
            lines.push(format!("    {place:>4} {sign}{}", visible(change.value())));
        }
    }
    if !all_lines && lines.len() > DIFF_LINES {
        let more = lines.len() - DIFF_LINES;
        lines.truncate(DIFF_LINES);
        lines.push(format!("    ... {more} more lines (-v shows all)"));
    }
    lines.join("\n")
}

/// A text with line numbers and invisible characters made visible.
pub(crate) fn numbered(text: &str) -> String {
    let line = |(index, line)| format!("    {:>4} |{}", index + 1, visible(line));
    let lines: Vec<String> = text.split_inclusive('\n').enumerate().map(line).collect();
    lines.join("\n")
}

/// One line with its end made visible if it is not a plain line feed, and escapes for invisible characters.
fn visible(line: &str) -> String {
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, ""),
        None => (line, " (no newline)"),
    };
    let kept = body.trim_end_matches(' ').len();
    let mut out = String::with_capacity(body.len() + end.len());
    for (at, c) in body.char_indices() {
        match c {
            ' ' if at >= kept => out.push('\u{b7}'),
            ' '..='~' => out.push(c),
            '\t' => out.push_str("\\t"),
            c if c.is_alphanumeric() => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out.push_str(end);
    out
}

#[cfg(test)]
mod tests;
