//! Patterns for file paths, as in bmatcuk's doublestar: `*`, `**`, `?`, `[a-z]`, `{a,b}`.
//!
//! `**` is any number of directories if it stands alone between slashes, and `*` anywhere else. A pattern is
//! translated to a regular expression, so that matching takes linear time.

use regex::Regex;

use crate::budget::may_compile;

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("syntax error in pattern")]
pub(super) struct BadPattern;

/// A pattern. An invalid one is reported when it is used.
pub(super) struct Glob(Result<Regex, BadPattern>);

impl Glob {
    pub(super) fn new(pattern: &str) -> Glob {
        if !may_compile(pattern) {
            return Glob(Err(BadPattern));
        }
        let chars: Vec<char> = pattern.chars().collect();
        let regex = expression(&chars).and_then(|expression| {
            let expression = format!(r"(?s)\A(?:{expression})\z");
            let mut builder = regex::RegexBuilder::new(&expression);
            builder.nest_limit(10_000).build().map_err(|_| BadPattern)
        });
        Glob(regex)
    }

    pub(super) fn matches(&self, path: &str) -> Result<bool, BadPattern> {
        match &self.0 {
            Ok(regex) => Ok(regex.is_match(path)),
            Err(bad) => Err(*bad),
        }
    }
}

fn expression(pattern: &[char]) -> Result<String, BadPattern> {
    let mut out = String::new();
    let mut depth = 0;
    let mut is_segment_start = true;
    let mut at = 0;
    while let Some(&c) = pattern.get(at) {
        let rest = pattern.get(at..).unwrap_or_default();
        let was_segment_start = std::mem::take(&mut is_segment_start);
        at += 1;
        match c {
            '/' if is_end(rest, "/**", depth) => {
                out.push_str("(?:/.*)?");
                at += 2;
            }
            '/' if is_end(rest, "/**/", depth) => {
                out.push_str("(?:/(?:[^/]*/)*)?");
                at += 3;
            }
            '*' if was_segment_start && is_end(rest, "**", depth) => {
                out.push_str(".*");
                at += 1;
            }
            '*' if was_segment_start && rest.starts_with(&['*', '*', '/']) => {
                out.push_str("(?:[^/]*/)*");
                is_segment_start = true;
                at += 2;
            }
            '*' => {
                out.push_str("[^/]*");
                if rest.get(1) == Some(&'*') {
                    at += 1;
                }
            }
            '?' => out.push_str("[^/]"),
            '[' => at += class(rest, &mut out)?,
            '{' => {
                out.push_str("(?:");
                depth += 1;
                is_segment_start = true;
            }
            '}' if depth == 0 => return Err(BadPattern),
            '}' => {
                out.push(')');
                depth -= 1;
            }
            ',' if depth > 0 => {
                out.push('|');
                is_segment_start = true;
            }
            '\\' => {
                let escaped = rest.get(1).ok_or(BadPattern)?;
                push_literal(&mut out, *escaped);
                at += 1;
                is_segment_start = *escaped == '/';
            }
            c => {
                push_literal(&mut out, c);
                is_segment_start = c == '/';
            }
        }
    }
    match depth {
        0 => Ok(out),
        _ => Err(BadPattern),
    }
}

/// Whether the pattern ends with this text here. An alternative ends where its group ends, if nothing follows it.
fn is_end(rest: &[char], text: &str, depth: usize) -> bool {
    let mut rest = rest.iter();
    if !text.chars().all(|c| rest.next() == Some(&c)) {
        return false;
    }
    let mut open = depth;
    let mut is_other_alternative = false;
    for c in rest {
        match c {
            '}' if open > 0 => {
                open -= 1;
                is_other_alternative = false;
            }
            ',' if open > 0 => is_other_alternative = true,
            // Alternatives with nested groups are not examined.
            _ if is_other_alternative && !matches!(c, '{' | '\\' | '[') => {}
            _ => return false,
        }
    }
    open == 0
}

/// A class of characters; returns how many characters it takes after the bracket.
fn class(pattern: &[char], out: &mut String) -> Result<usize, BadPattern> {
    let mut at = 1;
    out.push('[');
    if matches!(pattern.get(at), Some('!' | '^')) {
        out.push('^');
        at += 1;
    }
    if matches!(pattern.get(at), None | Some(']')) {
        return Err(BadPattern);
    }
    let mut last: Option<char> = None;
    let next = |at: &mut usize| {
        let mut c = pattern.get(*at).copied();
        if c == Some('\\') {
            *at += 1;
            c = pattern.get(*at).copied();
        }
        *at += 1;
        c.ok_or(BadPattern)
    };
    loop {
        match (pattern.get(at), last) {
            (None, _) => return Err(BadPattern),
            (Some(']'), _) => break,
            (Some('-'), Some(low)) if pattern.get(at + 1).is_some_and(|c| *c != ']') => {
                at += 1;
                let high = next(&mut at)?;
                if low <= high {
                    push_range(out, low, high);
                }
                last = None;
            }
            _ => {
                let c = next(&mut at)?;
                push_range(out, c, c);
                last = Some(c);
            }
        }
    }
    out.push(']');
    Ok(at)
}

fn push_range(out: &mut String, low: char, high: char) {
    let (low, high) = (u32::from(low), u32::from(high));
    out.push_str(&format!(r"\x{{{low:x}}}-\x{{{high:x}}}"));
}

fn push_literal(out: &mut String, c: char) {
    out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}
