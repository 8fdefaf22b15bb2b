//! Previews of changes that are not written.

use std::fmt::Write;

use anyhow::Result;
use kiln_krm::package::{FileAction, FileChange, FileSource};
use similar::TextDiff;

use super::changes::{self, Made};
use crate::ui::Ui;

/// Prints the changes as a diff, in colours on a terminal.
pub(crate) fn show(ui: &Ui, files: &dyn FileSource, changes: &[FileChange]) -> Result<()> {
    let mut text = String::new();
    for change in changes {
        text.push_str(&diff(files, change));
    }
    print_diff(ui, text)?;
    changes::report(ui, changes, Made::No);
    Ok(())
}

/// Prints a diff, in colours on a terminal.
pub(crate) fn print_diff(ui: &Ui, mut text: String) -> Result<()> {
    if ui.colours_data() {
        text = coloured(&text);
    }
    ui.write_data(text.as_bytes())
}

fn diff(files: &dyn FileSource, change: &FileChange) -> String {
    let old = files.read(&change.path).ok();
    let new = match &change.action {
        FileAction::Write(content) => Some(content.as_slice()),
        FileAction::Delete => None,
    };
    let name = |prefix: &str, exists: bool| match exists {
        true => format!("{prefix}/{}", change.path),
        false => "/dev/null".to_owned(),
    };
    let old_name = name("a", old.is_some());
    let new_name = name("b", new.is_some());
    let old = String::from_utf8_lossy(old.as_deref().unwrap_or_default()).into_owned();
    let new = String::from_utf8_lossy(new.unwrap_or_default()).into_owned();
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .header(&old_name, &new_name)
        .to_string()
}

fn coloured(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len());
    for line in diff.lines() {
        // Files must not send control characters to the terminal.
        let line: String = line
            .chars()
            .map(|c| {
                if c.is_control() && c != '\t' {
                    '\u{fffd}'
                } else {
                    c
                }
            })
            .collect();
        let colour = match line.get(..1) {
            _ if line.starts_with("+++") || line.starts_with("---") => "1",
            Some("+") => "32",
            Some("-") => "31",
            Some("@") => "36",
            _ => "0",
        };
        let _ = writeln!(out, "\x1b[{colour}m{line}\x1b[0m");
    }
    out
}
