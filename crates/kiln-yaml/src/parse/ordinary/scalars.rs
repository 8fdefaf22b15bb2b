//! Values: scalars of all styles and flow collections of scalars.

use super::{
    Before, CollectionKind, MAX_WIDTH, OrdinaryReader, TreeBuilder, begins_plain, is_word,
};
use crate::node::Style;
use crate::parse::token::Piece;

/// What to do with the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

/// What ends a run of text in a quoted scalar.
enum QuoteStop {
    /// The closing quote.
    Closing,
    /// Two bytes that stand for a character.
    Escaped(char),
}

/// Where the next quote of this kind is, or the next backslash if that escapes something.
fn find_stop(quote: u8, rest: &[u8]) -> Option<usize> {
    match quote {
        b'\'' => memchr::memchr(b'\'', rest),
        _ => memchr::memchr2(b'"', b'\\', rest),
    }
}

fn quoted_style(quote: u8) -> Style {
    match quote {
        b'\'' => Style::SINGLE_QUOTED,
        _ => Style::DOUBLE_QUOTED,
    }
}

impl<T: TreeBuilder> OrdinaryReader<'_, T> {
    /// What begins at `at` on a line that ends at `end`, behind a key or a dash.
    pub(super) fn value(&mut self, at: usize, end: usize) -> Option<()> {
        match self.text.get(at)? {
            b'#' => None,
            b'|' | b'>' => self.block_scalar(at, end),
            b'{' => self.flow(CollectionKind::Mapping, at, end),
            b'[' => self.flow(CollectionKind::Sequence, at, end),
            b'"' | b'\'' => {
                let Some((text, style, behind)) = self.quoted(at, end) else {
                    return self.folded_quoted(at, end);
                };
                let line = self.rest_of_line(behind, end)?;
                let head = self.head.take();
                self.tree.scalar(text, style, (at, behind), head, line);
                Some(())
            }
            _ => {
                let behind = self.plain_end(at, end)?;
                let line = self.rest_of_line(behind, end)?;
                if line.is_none()
                    && let Some(column) = self.next_column()
                    && self.around.last().is_some_and(|it| column > it.column)
                {
                    return self.folded_plain(at, behind);
                }
                match (self.head.take(), line) {
                    (None, None) => self.tree.span((at, behind)),
                    (head, line) => {
                        let text = Piece::span(at, behind);
                        self.tree
                            .scalar(text, Style::NONE, (at, behind), head, line);
                    }
                }
                Some(())
            }
        }
    }

    /// The column of the next line that is neither blank nor a comment.
    fn next_column(&self) -> Option<usize> {
        let mut start = self.next;
        loop {
            let at = self.skip_spaces(start);
            match self.text.get(at)? {
                b'\n' => start = at + 1,
                b'#' => return None,
                _ => return Some(at - start),
            }
        }
    }

    /// A plain scalar that goes on below its first line, which ends at `behind`.
    fn folded_plain(&mut self, at: usize, behind: usize) -> Option<()> {
        let mut text = self.source.get(at..behind)?.to_owned();
        let mut behind = behind;
        while let Some((from, end)) = self.take_folded_line(&mut text)? {
            let line = self.text.get(from..end)?;
            let is_end = |pair: &[u8]| matches!(pair, b": " | b" #");
            if line.starts_with(b"#") || line.ends_with(b":") || line.windows(2).any(is_end) {
                return None;
            }
            let line = self.source.get(from..end)?.trim_end_matches(' ');
            text.push_str(line);
            behind = from + line.len();
        }
        self.folded_scalar(text, Style::NONE, (at, behind))
    }

    /// A quoted scalar that goes on below its first line, which ends at `end`.
    fn folded_quoted(&mut self, at: usize, end: usize) -> Option<()> {
        let quote = *self.text.get(at)?;
        let mut text = String::new();
        let (mut place, mut end) = (at + 1, end);
        let behind = loop {
            let rest = self.text.get(place..end)?;
            let Some(length) = find_stop(quote, rest) else {
                let rest = self.source.get(place..end)?;
                text.push_str(rest.trim_end_matches(' '));
                (place, end) = self.take_folded_line(&mut text)??;
                continue;
            };
            let stop = place + length;
            match self.quote_stop(stop, end)? {
                QuoteStop::Closing => {
                    text.push_str(self.source.get(place..stop)?);
                    break stop + 1;
                }
                QuoteStop::Escaped(escaped) => {
                    text.push_str(self.source.get(place..stop)?);
                    text.push(escaped);
                    place = stop + 2;
                }
            }
        };
        if self.skip_spaces(behind) < end {
            return None;
        }
        self.folded_scalar(text, quoted_style(quote), (at, behind))
    }

    /// Takes the next line of a scalar that is folded, and adds what the line breaks before it mean. None in the inner
    /// option if the next line is not deeper than the collection around the scalar; then nothing is taken.
    fn take_folded_line(&mut self, text: &mut String) -> Option<Option<(usize, usize)>> {
        let first = self.next;
        let parent = self.around.last()?.column;
        let mut blank_lines = 0;
        loop {
            let line = self.take_line();
            let at = line.map(|(start, _)| self.skip_spaces(start));
            match line.zip(at) {
                Some(((_, end), at)) if at >= end => blank_lines += 1,
                Some(((start, end), at)) if at - start > parent => {
                    if at - start > MAX_WIDTH {
                        return None;
                    }
                    match blank_lines {
                        0 => text.push(' '),
                        lines => text.extend(std::iter::repeat_n('\n', lines)),
                    }
                    return Some(Some((at, end)));
                }
                _ => {
                    self.next = first;
                    return Some(None);
                }
            }
        }
    }

    fn folded_scalar(&mut self, text: String, style: Style, place: (usize, usize)) -> Option<()> {
        self.before = Before::Other;
        let head = self.head.take();
        let text = Piece::Owned(text.into_boxed_str());
        self.tree.scalar(text, style, place, head, None);
        Some(())
    }

    /// The comment behind a value, if there is one; none at all if there is anything else.
    pub(super) fn rest_of_line(&mut self, behind: usize, end: usize) -> Option<Option<Piece>> {
        if behind == end {
            return Some(None);
        }
        let at = self.skip_spaces(behind);
        if at >= end {
            return Some(None);
        }
        let is_comment =
            self.text.get(at) == Some(&b'#') && (1..MAX_WIDTH).contains(&(at - behind));
        self.before = Before::Other;
        is_comment.then(|| Some(Piece::span(at, end)))
    }

    /// Where a plain scalar ends, without the blanks behind it.
    fn plain_end(&self, at: usize, end: usize) -> Option<usize> {
        let line = self.text.get(at..end)?;
        let begins = match line {
            [b'-'] | [b'-', b' ', ..] | [] => false,
            [first, ..] => begins_plain(*first),
        };
        let mut length = line.len();
        for (place, byte) in line.iter().enumerate() {
            if *byte == b':' && matches!(line.get(place + 1), None | Some(b' ')) {
                return None;
            }
            if *byte == b'#' && place > 0 && line.get(place - 1) == Some(&b' ') {
                length = place;
                break;
            }
        }
        let text = line.get(..length)?;
        let blanks = text.iter().rev().take_while(|byte| **byte == b' ').count();
        begins.then_some(at + length - blanks)
    }

    /// A scalar in quotes on one line, and the offset behind it.
    fn quoted(&self, at: usize, end: usize) -> Option<(Piece, Style, usize)> {
        let quote = *self.text.get(at)?;
        let first = at + 1;
        let mut built: Option<String> = None;
        // Where the part begins that is not in `built` yet.
        let mut from = first;
        let mut place = first;
        loop {
            place += find_stop(quote, self.text.get(place..end)?)?;
            let QuoteStop::Escaped(escaped) = self.quote_stop(place, end)? else {
                break;
            };
            let built = built.get_or_insert_default();
            built.push_str(self.source.get(from..place)?);
            built.push(escaped);
            place += 2;
            from = place;
        }
        let text = match built {
            None => Piece::span(first, place),
            Some(mut built) => {
                built.push_str(self.source.get(from..place)?);
                Piece::Owned(built.into_boxed_str())
            }
        };
        Some((text, quoted_style(quote), place + 1))
    }

    /// What a quote or a backslash in a quoted scalar means; none if it is not ordinary.
    fn quote_stop(&self, at: usize, end: usize) -> Option<QuoteStop> {
        let escaped = match (self.text.get(at)?, self.text.get(at + 1..end)?.first()) {
            (b'\'', Some(b'\'')) => '\'',
            (b'\\', Some(b'"')) => '"',
            (b'\\', Some(b'\\')) => '\\',
            (b'\\', Some(b'n')) => '\n',
            (b'\\', Some(b't')) => '\t',
            (b'\\', _) => return None,
            _ => return Some(QuoteStop::Closing),
        };
        Some(QuoteStop::Escaped(escaped))
    }

    /// A flow collection of scalars on one line.
    fn flow(&mut self, kind: CollectionKind, at: usize, end: usize) -> Option<()> {
        let close = match kind {
            CollectionKind::Mapping => b'}',
            CollectionKind::Sequence => b']',
        };
        let head = self.head.take();
        self.tree.open(kind, Style::FLOW, at, head);
        let mut place = self.skip_spaces(at + 1);
        if self.text.get(place) != Some(&close) {
            loop {
                if kind == CollectionKind::Mapping {
                    let colon = self.flow_word(place, end)?;
                    if !self.text.get(colon..end)?.starts_with(b": ") {
                        return None;
                    }
                    place = self.skip_spaces(colon + 1);
                }
                place = self.flow_scalar(place, end)?;
                place = self.skip_spaces(place);
                match self.text.get(place)? {
                    b',' => place = self.skip_spaces(place + 1),
                    byte if *byte == close => break,
                    _ => return None,
                }
            }
        }
        let line = self.rest_of_line(place + 1, end)?;
        self.tree.close(Some(place + 1), line);
        Some(())
    }

    fn flow_scalar(&mut self, at: usize, end: usize) -> Option<usize> {
        if !matches!(self.text.get(at)?, b'"' | b'\'') {
            return self.flow_word(at, end);
        }
        let (text, style, behind) = self.quoted(at, end)?;
        self.tree.scalar(text, style, (at, behind), None, None);
        Some(behind)
    }

    /// Adds a word and returns the offset behind it.
    fn flow_word(&mut self, at: usize, end: usize) -> Option<usize> {
        let rest = self.text.get(at..end)?;
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        if length == 0 || length > MAX_WIDTH || rest.get(..length) == Some(b"-") {
            return None;
        }
        let behind = at + length;
        let text = Piece::span(at, behind);
        self.tree
            .scalar(text, Style::NONE, (at, behind), None, None);
        Some(behind)
    }

    /// A block scalar whose header is at `at`; its text is on the lines below.
    fn block_scalar(&mut self, at: usize, end: usize) -> Option<()> {
        let style = match self.text.get(at)? {
            b'|' => Style::LITERAL,
            _ => Style::FOLDED,
        };
        let (chomp, header_end) = match self.text.get(at + 1..end)?.first() {
            Some(b'-') => (Chomp::Strip, at + 2),
            Some(b'+') => (Chomp::Keep, at + 2),
            _ => (Chomp::Clip, at + 1),
        };
        if self.skip_spaces(header_end) < end || self.next == end {
            return None;
        }
        let (text, behind) = self.block_text(style, chomp)?;
        self.before = Before::Other;
        let head = self.head.take();
        let text = Piece::Owned(text.into_boxed_str());
        self.tree.scalar(text, style, (at, behind), head, None);
        Some(())
    }

    /// The text of a block scalar, whose first line is the next one, and the offset behind it.
    fn block_text(&mut self, style: Style, chomp: Chomp) -> Option<(String, usize)> {
        let parent = self.around.last()?.column;
        let mut column = None;
        let mut text = String::new();
        let mut line_break = "";
        let mut blank_lines = 0;
        let mut line_began_blank = false;
        let behind = loop {
            let here = self.next;
            let Some((start, end)) = self.take_line() else {
                break here;
            };
            let at = self.skip_spaces(start);
            if at >= end {
                // Blanks are text, or change the indentation.
                if start < end {
                    return None;
                }
                blank_lines += 1;
                continue;
            }
            let indent = *column.get_or_insert(at - start);
            if at - start < indent || indent <= parent {
                self.next = here;
                break here;
            }
            if indent > MAX_WIDTH {
                return None;
            }
            let line = self.source.get(start + indent..end)?;
            let begins_blank = line.starts_with(' ');
            let is_folded = style == Style::FOLDED && !line_began_blank && !begins_blank;
            match is_folded && !line_break.is_empty() {
                true if blank_lines == 0 => text.push(' '),
                true => {}
                false => text.push_str(line_break),
            }
            text.extend(std::iter::repeat_n('\n', blank_lines));
            text.push_str(line);
            blank_lines = 0;
            line_began_blank = begins_blank;
            line_break = match self.next > end {
                true => "\n",
                false => "",
            };
        };
        if chomp != Chomp::Strip {
            text.push_str(line_break);
        }
        if chomp == Chomp::Keep {
            text.extend(std::iter::repeat_n('\n', blank_lines));
        }
        Some((text, behind))
    }
}
