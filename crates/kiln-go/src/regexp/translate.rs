//! Translates Go's syntax to that of the `regex` crate, in one pass.

use super::class::{class, perl_class, unicode_class};
use super::escape::{escape, literal};
use super::{GoRegexp, MAX_NESTING, RegexpError};

/// Go's limit of repetitions, with nested ones multiplied.
const MAX_REPEAT: u32 = 1000;

pub(super) fn translate(expression: &str) -> Result<GoRegexp, RegexpError> {
    let mut translation = Translation::default();
    let mut rest = expression;
    // The text after the last repetition operator, if that came just before.
    let mut last_repeat: Option<&str> = None;
    while let Some(first) = rest.chars().next() {
        let before = rest;
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        let mut repeat = None;
        rest = match first {
            '(' if after.starts_with('?') => translation.open_special(rest)?,
            '(' => {
                translation.open_group(expression)?;
                after
            }
            '|' => {
                translation.out.push('|');
                translation.atom = None;
                after
            }
            ')' => {
                translation.close(expression)?;
                after
            }
            '^' | '$' | '.' => {
                translation.push(&first.to_string());
                after
            }
            '[' => {
                let (text, after) = class(rest)?;
                translation.push(&text);
                after
            }
            '*' | '+' | '?' | '{' => match Repeat::parse(rest)? {
                Some((operator, after)) => {
                    let after = translation.repeat(&operator, before, after, last_repeat)?;
                    repeat = Some(before);
                    after
                }
                None => {
                    translation.push(&literal('{'));
                    after
                }
            },
            '\\' => translation.escaped(rest)?,
            other => {
                translation.push(&literal(other));
                after
            }
        };
        last_repeat = repeat;
    }
    match translation.open.is_empty() {
        true => Ok(GoRegexp {
            source: expression.to_owned(),
            translation: translation.out,
            groups: translation.groups,
            names: translation.names,
        }),
        false => Err(RegexpError::new("missing closing )", expression)),
    }
}

#[derive(Default)]
struct Translation {
    out: String,
    /// What a repetition operator would repeat.
    atom: Option<Atom>,
    open: Vec<Group>,
    /// The largest weight in the open group.
    heaviest: u32,
    /// How many groups capture.
    groups: usize,
    names: Vec<(String, usize)>,
}

#[derive(Clone, Copy)]
struct Atom {
    start: usize,
    end: usize,
    /// How often its content is repeated.
    weight: u32,
}

struct Group {
    start: usize,
    heaviest: u32,
}

impl Translation {
    fn push(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        let end = self.out.len();
        self.atom = Some(Atom {
            start,
            end,
            weight: 1,
        });
    }

    fn open(&mut self, text: &str, expression: &str) -> Result<(), RegexpError> {
        if self.open.len() >= MAX_NESTING {
            return Err(RegexpError::new("expression nests too deeply", expression));
        }
        self.open.push(Group {
            start: self.out.len(),
            heaviest: std::mem::take(&mut self.heaviest),
        });
        self.out.push_str(text);
        self.atom = None;
        Ok(())
    }

    /// Opens a group that captures.
    fn open_group(&mut self, expression: &str) -> Result<(), RegexpError> {
        self.groups += 1;
        self.open("(", expression)
    }

    fn close(&mut self, expression: &str) -> Result<(), RegexpError> {
        let Some(group) = self.open.pop() else {
            return Err(RegexpError::new("unexpected )", expression));
        };
        self.out.push(')');
        let weight = self.heaviest.max(1);
        self.heaviest = self.heaviest.max(group.heaviest);
        let (start, end) = (group.start, self.out.len());
        self.atom = Some(Atom { start, end, weight });
        Ok(())
    }

    /// `(?P<name>`, `(?i)`, `(?i:` and the like.
    fn open_special<'t>(&mut self, text: &'t str) -> Result<&'t str, RegexpError> {
        let name_start = if text.len() > 4 && text.starts_with("(?P<") {
            Some(4)
        } else if text.len() > 3 && text.starts_with("(?<") {
            Some(3)
        } else {
            None
        };
        if let Some(start) = name_start {
            let end = text.find('>');
            let Some(end) = end else {
                return Err(RegexpError::new("invalid named capture", text));
            };
            let name = text.get(start..end).unwrap_or_default();
            let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let (capture, rest) = text.split_at(end + 1);
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(RegexpError::new("invalid named capture", capture));
            }
            self.open_group(text)?;
            self.names.push((name.to_owned(), self.groups));
            return Ok(rest);
        }
        let mut flags = text.char_indices().skip(2);
        let (mut is_negative, mut saw_flag) = (false, false);
        let mut end = text.len();
        for (at, c) in flags.by_ref() {
            end = at + c.len_utf8();
            match c {
                'i' | 'm' | 's' | 'U' => saw_flag = true,
                '-' if !is_negative => (is_negative, saw_flag) = (true, false),
                ':' | ')' if !is_negative || saw_flag => {
                    let (flags, rest) = text.split_at(end);
                    match (c, flags) {
                        (':', flags) => self.open(flags, text)?,
                        // It has no effect, and must not separate an atom from its repetition.
                        (_, "(?)") => {}
                        (_, flags) => self.out.push_str(flags),
                    }
                    return Ok(rest);
                }
                _ => break,
            }
        }
        let shown = text.get(..end).unwrap_or(text);
        Err(RegexpError::new(
            "invalid or unsupported Perl syntax",
            shown,
        ))
    }

    fn repeat<'t>(
        &mut self,
        operator: &Repeat,
        before: &'t str,
        after: &'t str,
        last_repeat: Option<&str>,
    ) -> Result<&'t str, RegexpError> {
        let (lazy, after) = match after.strip_prefix('?') {
            Some(after) => ("?", after),
            None => ("", after),
        };
        let until = |text: &str| {
            let shown = text.get(..text.len().saturating_sub(after.len()));
            shown.unwrap_or(text).to_owned()
        };
        if let Some(last) = last_repeat {
            let what = "invalid nested repetition operator";
            return Err(RegexpError::new(what, &until(last)));
        }
        let Some(atom) = self.atom else {
            let what = "missing argument to repetition operator";
            return Err(RegexpError::new(what, &until(before)));
        };
        let weight = atom.weight.saturating_mul(operator.weight());
        if weight > MAX_REPEAT && operator.weight() >= 2 {
            return Err(RegexpError::new("invalid repeat count", &until(before)));
        }
        self.heaviest = self.heaviest.max(weight);
        self.out
            .insert_str(atom.end, &format!("){}{lazy}", operator.text()));
        self.out.insert_str(atom.start, "(?:");
        let end = atom.end + "(?:)".len() + operator.text().len() + lazy.len();
        let start = atom.start;
        self.atom = Some(Atom { start, end, weight });
        Ok(after)
    }

    fn escaped<'t>(&mut self, text: &'t str) -> Result<&'t str, RegexpError> {
        let second = text.chars().nth(1);
        let after = text
            .get(1 + second.map_or(0, char::len_utf8)..)
            .unwrap_or_default();
        match second {
            Some('A') => self.push(r"\A"),
            Some('z') => self.push(r"\z"),
            Some('b') => self.push(r"(?-u:\b)"),
            Some('B') => self.push(r"(?-u:\B)"),
            Some('C') => return Err(RegexpError::new("invalid escape sequence", r"\C")),
            Some('Q') => {
                let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
                for c in quoted.chars() {
                    self.push(&literal(c));
                }
                return Ok(after);
            }
            Some('p' | 'P') => {
                let (class, after) = unicode_class(text)?;
                self.push(&class);
                return Ok(after);
            }
            Some(c) if perl_class(c).is_some() => {
                self.push(perl_class(c).unwrap_or_default());
            }
            _ => {
                let (c, after) = escape(text)?;
                self.push(&super::escape::code_point(c));
                return Ok(after);
            }
        }
        Ok(after)
    }
}

enum Repeat {
    Simple(char),
    Counted {
        min: u32,
        max: Option<u32>,
        text: String,
    },
}

impl Repeat {
    /// The operator at the start of a text and the rest; `None` if `{` is only a brace.
    fn parse(text: &str) -> Result<Option<(Repeat, &str)>, RegexpError> {
        let mut chars = text.chars();
        match chars.next() {
            Some(c @ ('*' | '+' | '?')) => Ok(Some((Repeat::Simple(c), chars.as_str()))),
            _ => {
                let Some((counts, after)) = chars.as_str().split_once('}') else {
                    return Ok(None);
                };
                let (min, max) = match counts.split_once(',') {
                    None => (counts, Some(counts)),
                    Some((min, "")) => (min, None),
                    Some((min, max)) => (min, Some(max)),
                };
                if !is_count(min) || !max.is_none_or(is_count) {
                    return Ok(None);
                }
                let number = |text: &str| text.parse().ok().filter(|n| *n <= MAX_REPEAT);
                let shown = text.get(..counts.len() + 2).unwrap_or(text);
                let refused = || RegexpError::new("invalid repeat count", shown);
                let min: u32 = number(min).ok_or_else(refused)?;
                let max = match max {
                    None => None,
                    Some(max) => Some(number(max).filter(|max| *max >= min).ok_or_else(refused)?),
                };
                let text = shown.to_owned();
                Ok(Some((Repeat::Counted { min, max, text }, after)))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Repeat::Simple(c) => c.to_string(),
            Repeat::Counted { text, .. } => text.clone(),
        }
    }

    fn weight(&self) -> u32 {
        match self {
            Repeat::Simple(_) => 1,
            Repeat::Counted { min, max, .. } => max.unwrap_or(*min).max(1),
        }
    }
}

/// Digits without a leading zero.
fn is_count(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text == "0" || !text.starts_with('0'))
}
