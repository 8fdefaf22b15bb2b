//! Text of packages and functions, made safe for where it is printed.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Control characters, which could change what a terminal shows, are escaped; so are those that change the direction of
/// text.
pub(super) fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ends_line = character == '\r' && characters.peek() == Some(&'\n');
        match is_unsafe(character) && !ends_line {
            true => {
                let _ = write!(out, "{}", character.escape_unicode());
            }
            false => out.push(character),
        }
    }
    Cow::Owned(out)
}

fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        character => character.is_control(),
    }
}

/// Lines that the runner of a GitHub workflow would take for commands get a mark that it does not know. The runner
/// ignores blanks before `::`, and finds `##[` anywhere in a line.
pub(super) fn without_workflow_commands(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with("::");
    if !text.contains("##[") && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let mark = match is_command(line) {
            true => "| ",
            false => "",
        };
        format!("{mark}{}", line.replace("##[", "# #["))
    });
    Cow::Owned(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::{without_controls, without_workflow_commands};

    #[test]
    fn controls_are_escaped() {
        assert_eq!(without_controls("a\tb\r\nc é\n"), "a\tb\r\nc é\n");
        assert_eq!(
            without_controls("\u{1b}[2J\u{7}a\rb\u{202e}c"),
            "\\u{1b}[2J\\u{7}a\\u{d}b\\u{202e}c"
        );
    }

    #[test]
    fn functions_cannot_command_a_workflow() {
        let text = "Stderr:\n    ::stop-commands::x\n  a ##[error]b\nfine :: c\n";
        let shown = "Stderr:\n|     ::stop-commands::x\n  a # #[error]b\nfine :: c\n";
        assert_eq!(without_workflow_commands(text), shown);
        assert_eq!(without_workflow_commands("a\n b\n"), "a\n b\n");
    }
}
