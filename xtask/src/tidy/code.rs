//! Rust text with comments and literals blanked out, and the paths that occur in it.
//!
//! Not a parser: enough to distinguish `std::fs` in code from `std::fs` in a sentence, and to resolve
//! `use std::{fs, io}`.

/// A copy with the same lines, in which comments and literals are spaces.
pub(super) fn code_only(text: &str) -> String {
    blank(text, Kept::Code)
}

/// A copy with the same lines, in which literals are spaces.
pub(super) fn code_and_comments(text: &str) -> String {
    blank(text, Kept::CodeAndComments)
}

/// A copy with the same lines, in which comments are spaces.
pub(super) fn code_and_literals(text: &str) -> String {
    blank(text, Kept::CodeAndLiterals)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Code,
    CodeAndComments,
    CodeAndLiterals,
}

fn blank(text: &str, kept: Kept) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => quoted(rest),
            'r' | 'b' | 'c' if !is_word(previous) => prefixed_literal(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if length == 0 {
            out.push(c);
            previous = c;
            rest = &rest[c.len_utf8()..];
        } else {
            let (blanked, after) = rest.split_at(length);
            let is_kept = match kept {
                Kept::Code => false,
                Kept::CodeAndComments => c == '/',
                Kept::CodeAndLiterals => c != '/',
            };
            if is_kept {
                out.push_str(blanked);
            } else {
                out.extend(blanked.chars().map(|c| if c == '\n' { c } else { ' ' }));
            }
            previous = ' ';
            rest = after;
        }
    }
    out
}

/// Code, as [`code_only`] returns it, in which inline modules for tests are blank lines.
pub(super) fn without_test_modules(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        let (before, attributed) = rest.split_at(at);
        out.push_str(before);
        let length = inline_module(attributed).unwrap_or(1);
        let (module, after) = attributed.split_at(length);
        out.extend(module.matches('\n'));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The length of the module in braces that follows the attribute at the beginning of `code`.
fn inline_module(code: &str) -> Option<usize> {
    let open = code
        .find(['{', ';'])
        .filter(|at| code[*at..].starts_with('{'))?;
    let mut words = code[..open].split_whitespace().rev();
    words.nth(1).filter(|word| *word == "mod")?;
    let mut depth = 0;
    let braces = code.match_indices(['{', '}']).find(|(_, brace)| {
        depth += if *brace == "{" { 1 } else { -1 };
        depth == 0
    });
    braces.map(|(at, _)| at + 1)
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of the literal `"…"` that `text` begins with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `r#"…"#`, `b"…"`, `br"…"`, `c"…"`, `b'x'`; zero if `text` does not begin with one.
fn prefixed_literal(text: &str) -> usize {
    let after_prefix = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - after_prefix.len();
    if prefix > 1 {
        return 0;
    }
    if prefix == 1 && after_prefix.starts_with('"') {
        return prefix + quoted(after_prefix);
    }
    if prefix == 1 && after_prefix.starts_with('\'') {
        return prefix + character(after_prefix);
    }
    let Some(raw) = after_prefix.strip_prefix('r') else {
        return 0;
    };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    if !raw[hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = prefix + 1 + hashes + 1;
    text[body..]
        .find(&end)
        .map_or(text.len(), |at| body + at + end.len())
}

/// The length of `'x'`; zero for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => {
            let end = chars.find(|(_, c)| *c == '\'');
            end.map_or(text.len(), |(at, _)| at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// All paths like `std::fs::read` in code, with their lines; those of `use` with their braces resolved.
pub(super) fn paths(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut tokens = Tokens {
        code,
        at: 0,
        line: 1,
    };
    while let Some(token) = tokens.next() {
        if token.text == "use" {
            use_tree(&mut tokens, &mut found);
        } else if is_name(token.text) {
            let line = token.line;
            let path = path_from(token.text, &mut tokens);
            if path.contains("::") {
                found.push((line, path));
            }
        }
    }
    found
}

fn path_from(first: &str, tokens: &mut Tokens<'_>) -> String {
    let mut path = first.to_owned();
    loop {
        let mark = (tokens.at, tokens.line);
        let separator = tokens.next().is_some_and(|token| token.text == "::");
        let name = tokens.next().filter(|token| is_name(token.text));
        match name {
            Some(name) if separator => {
                path.push_str("::");
                path.push_str(name.text);
            }
            _ => {
                (tokens.at, tokens.line) = mark;
                return path;
            }
        }
    }
}

/// Resolves `use a::{b, c::{d, e}};` up to its semicolon.
fn use_tree(tokens: &mut Tokens<'_>, found: &mut Vec<(usize, String)>) {
    let mut outer: Vec<String> = Vec::new();
    let mut path = String::new();
    let mut line = 0;
    let flush = |path: &str, line: usize, found: &mut Vec<(usize, String)>| {
        if path.contains("::") && !path.ends_with("::") {
            found.push((line, path.to_owned()));
        }
    };
    while let Some(token) = tokens.next() {
        match token.text {
            ";" => break,
            "{" => outer.push(path.clone()),
            "}" => {
                flush(&path, line, found);
                path = String::new();
                outer.pop();
            }
            "," => {
                flush(&path, line, found);
                path = outer.last().cloned().unwrap_or_default();
            }
            // The next token is a new name for the path, not part of it.
            "as" => {
                tokens.next();
            }
            // `use std::env::{self}` is `use std::env`.
            "self" if path.ends_with("::") => path.truncate(path.len() - 2),
            text => {
                path.push_str(text);
                line = token.line;
            }
        }
    }
    flush(&path, line, found);
}

struct Token<'a> {
    text: &'a str,
    line: usize,
}

struct Tokens<'a> {
    code: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.code[self.at..];
        let start = rest.find(|c: char| !c.is_whitespace())?;
        self.line += rest[..start].matches('\n').count();
        let rest = &rest[start..];
        let first = rest.chars().next()?;
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        self.at += start + length;
        Some(Token {
            text: &rest[..length],
            line: self.line,
        })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
