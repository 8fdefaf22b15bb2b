//! Ways to lay out the same resources: comments, blank lines, indentation, line breaks.

use crate::differential::Random;

/// A file with comments above, behind and below lines, and blank lines.
pub(super) fn with_comments(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut text_indent = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        // Inside of a text in several lines there are no comments.
        if text_indent.is_some_and(|outer| indent > outer || line.trim().is_empty()) {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        text_indent = None;
        if random.one_in(30) {
            // A comment that stands apart from what follows: a foot comment, or a head comment of the document.
            let indent = [indent, 0, indent + 2][random.below(3)];
            out.push_str(&format!("{}# apart {number}\n\n", " ".repeat(indent)));
        }
        if random.one_in(12) {
            let indent = " ".repeat(indent);
            out.push_str(&format!("{indent}# above {number}\n"));
            if random.one_in(4) {
                out.push_str(&format!("{indent}#\n{indent}#more {number}\n"));
            }
        }
        if random.one_in(25) && number > 0 {
            out.push('\n');
        }
        out.push_str(line);
        let value = line.split(" #").next().unwrap_or_default().trim_end();
        let is_text = value.ends_with(['|', '>', '-', '+', '2']) && value.contains(": ");
        if is_text {
            text_indent = Some(indent);
        } else if random.one_in(12)
            && !line.contains('#')
            && !line.starts_with("---")
            && !line.is_empty()
        {
            out.push_str(&format!("{}# behind {number}", random.pick(&[" ", "  "])));
        }
        out.push('\n');
    }
    out
}

/// The same file in one of the forms that editors and tools leave.
pub(super) fn reformatted(text: &str, random: &mut Random) -> String {
    match random.below(16) {
        0 | 1 => text.replace('\n', "\r\n"),
        2 => text.trim_end().to_owned(),
        3 | 4 => with_wide_indentation(text),
        5 => with_indented_lists(text),
        6 => format!("{text}\n\n"),
        7 if !text.starts_with('%') => format!("---\n{text}"),
        8 => format!("{}\n...\n", text.trim_end()),
        9 => format!("\u{feff}{text}"),
        _ => text.to_owned(),
    }
}

/// Four columns a level instead of two.
fn with_wide_indentation(text: &str) -> String {
    let widened = text.lines().map(|line| {
        let content = line.trim_start_matches(' ');
        let indent = " ".repeat(2 * (line.len() - content.len()));
        match content.strip_prefix("- ") {
            Some(item) => format!("{indent}-   {item}\n"),
            None => format!("{indent}{content}\n"),
        }
    });
    widened.collect()
}

/// Lists in the old column of their key are moved to the right, the first list of each document only.
fn with_indented_lists(text: &str) -> String {
    let mut out = String::new();
    let mut list: Option<usize> = None;
    let mut is_done = false;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        is_done &= !line.starts_with("---");
        let is_in_list = list.is_some_and(|column| {
            content.is_empty() || indent > column || indent == column && content.starts_with('-')
        });
        if list.is_some() && !is_in_list {
            list = None;
            is_done = true;
        }
        if list.is_none() && !is_done && content.starts_with("- ") {
            list = Some(indent);
        }
        let added = if list.is_some() && !content.is_empty() {
            "  "
        } else {
            ""
        };
        out.push_str(&format!("{added}{line}\n"));
    }
    out
}
