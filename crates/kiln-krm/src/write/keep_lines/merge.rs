//! The merge of three texts by lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::align::align;
use super::indent::{Indentation, is_comment};

/// Three texts in lines, and which lines correspond.
pub(super) struct Texts<'a> {
    original: Vec<&'a str>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// For each line of `old`: the same line of the original, spaces aside.
    in_original: Vec<Option<usize>>,
    /// For each line of `old`: the same line of `new`.
    in_new: Vec<Option<usize>>,
}

/// How many lines are looked at to find out how those that follow are indented.
const LOOK_AHEAD: usize = 64;

/// What happens to blank lines that are only missing from the new text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLines {
    Stay,
    /// They go, as other lines do.
    LikeOthers,
}

/// Lines of the old text that one of the others has otherwise.
struct LineChange {
    old: Range<usize>,
    lines: Range<usize>,
    side: Side,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    New,
    Original,
}

impl<'a> Texts<'a> {
    pub(super) fn new(original: &'a str, old: &'a str, new: &'a str) -> Texts<'a> {
        let [original, old, new] =
            [original, old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let spaceless =
            |lines: &[&'a str]| lines.iter().map(|line| squeezed(line)).collect::<Vec<_>>();
        Texts {
            in_original: places(old.len(), align(&spaceless(&old), &spaceless(&original))),
            in_new: places(old.len(), align(&old, &new)),
            original,
            old,
            new,
        }
    }

    /// The original with what is new.
    pub(super) fn merged(&self, line_break: &str, blank_lines: BlankLines) -> String {
        let mut changes = self.changes(blank_lines);
        changes.sort_by_key(|change| (change.old.start, change.old.end, change.side));
        let mut out = Out {
            text: String::new(),
            indentation: Indentation::default(),
            line_break,
        };
        let mut at = 0;
        let mut changes = changes.into_iter().peekable();
        while let Some(first) = changes.next() {
            self.write_unchanged(at..first.old.start, &mut out);
            let mut group = vec![first];
            let mut end = group.first().map_or(0, |change| change.old.end);
            // What overlaps belongs together; what only touches does not.
            while let Some(next) = changes.next_if(|next| next.old.start < end) {
                end = end.max(next.old.end);
                group.push(next);
            }
            self.write_group(&group, end, &mut out);
            at = end;
        }
        self.write_unchanged(at..self.old.len(), &mut out);
        out.text
    }

    fn changes(&self, blank_lines: BlankLines) -> Vec<LineChange> {
        let is_change = |change: &LineChange| {
            let old = self.old.get(change.old.clone()).unwrap_or_default();
            let new = self.new.get(change.lines.clone()).unwrap_or_default();
            blank_lines == BlankLines::LikeOthers || !is_same_but_blank(old, new)
        };
        let mut new = changes(&self.in_new, self.new.len(), Side::New);
        new.retain(is_change);
        let mut original = changes(&self.in_original, self.original.len(), Side::Original);
        self.remove_spare_blank_lines(&mut original, &new);
        original.append(&mut new);
        original
    }

    /// The blank lines behind a block go with the block if there are others in front of it, or if it was the first in its
    /// parent.
    fn remove_spare_blank_lines(&self, original: &mut Vec<LineChange>, new: &[LineChange]) {
        let is_blank = |line: &str| line.trim().is_empty();
        let lines_of = |change: &LineChange| {
            let lines = self.original.get(change.lines.clone());
            lines.unwrap_or_default()
        };
        let has_blank_end =
            |change: &&LineChange| lines_of(change).last().is_some_and(|line| is_blank(line));
        let blank_ends: HashSet<usize> = original
            .iter()
            .filter(has_blank_end)
            .map(|change| change.old.end)
            .collect();
        let is_first = |start: usize| match start.checked_sub(1) {
            None => true,
            Some(before) => {
                let before = self.old.get(before);
                blank_ends.contains(&start)
                    || before.is_some_and(|line| line.trim_end().ends_with(':'))
            }
        };
        let removed: HashSet<usize> = new
            .iter()
            .filter(|change| change.lines.is_empty() && is_first(change.old.start))
            .map(|change| change.old.end)
            .collect();
        original.retain(|change| {
            let is_spare = change.old.is_empty() && removed.contains(&change.old.start);
            !is_spare || !lines_of(change).iter().all(|line| is_blank(line))
        });
    }

    /// Lines that all three texts have, as the original has them. Of blank lines that only the new text lacks, the
    /// original may have its own.
    fn write_unchanged(&self, lines: Range<usize>, out: &mut Out<'_>) {
        for at in lines {
            let original = self.in_original.get(at).copied().flatten();
            if let (Some(line), Some(old)) = (
                original.and_then(|place| self.original.get(place)),
                self.old.get(at),
            ) {
                out.write_original(line, Some(old));
            }
        }
    }

    fn write_group(&self, group: &[LineChange], end: usize, out: &mut Out<'_>) {
        if let [only] = group
            && only.side == Side::Original
        {
            for line in self.original.get(only.lines.clone()).unwrap_or_default() {
                out.write_original(line, None);
            }
            return;
        }
        let mut at = group.first().map_or(end, |change| change.old.start);
        let news = group.iter().filter(|change| change.side == Side::New);
        for change in news {
            self.write_kept(at..change.old.start, out);
            let ahead = self.ahead(change.old.end);
            let lines = self.new.get(change.lines.clone()).unwrap_or_default();
            let behind = ahead.first().map(|(encoded, _)| *encoded);
            for (line, next) in lines.iter().zip(next_lines(lines, behind)) {
                out.write_new(line, next, &ahead);
            }
            at = change.old.end;
        }
        self.write_kept(at..end, out);
    }

    /// The next lines that all three texts have, as the encoder has them and as they are.
    fn ahead(&self, from: usize) -> Vec<(&'a str, &'a str)> {
        let near = from..self.old.len().min(from + LOOK_AHEAD);
        let line = |at: usize| {
            let original = self.in_original.get(at).copied().flatten()?;
            self.in_new.get(at).copied().flatten()?;
            Some((*self.old.get(at)?, *self.original.get(original)?))
        };
        near.filter_map(line).collect()
    }

    /// Lines of the old text that the new one has too, though the original may not.
    fn write_kept(&self, lines: Range<usize>, out: &mut Out<'_>) {
        let behind = self.old.get(lines.end).copied();
        let old = self.old.get(lines.clone()).unwrap_or_default();
        for ((at, line), next) in lines.zip(old).zip(next_lines(old, behind)) {
            let original = self.in_original.get(at).copied().flatten();
            match original.and_then(|place| self.original.get(place)) {
                Some(original) => out.write_original(original, Some(line)),
                None => out.write_new(line, next, &[]),
            }
        }
    }
}

/// For each line, the next one that is no comment; `behind` comes after the last.
fn next_lines<'a>(lines: &[&'a str], behind: Option<&'a str>) -> Vec<Option<&'a str>> {
    let mut next = behind;
    let mut all: Vec<_> = lines
        .iter()
        .rev()
        .map(|line| match is_comment(line) {
            true => next,
            false => next.replace(line),
        })
        .collect();
    all.reverse();
    all
}

/// A text that is being written.
struct Out<'a> {
    text: String,
    indentation: Indentation,
    line_break: &'a str,
}

impl Out<'_> {
    /// Writes a line as it is; `old` is what the encoder makes of it, if that is known.
    fn write_original(&mut self, line: &str, old: Option<&str>) {
        self.end_line();
        self.text.push_str(line);
        if let Some(old) = old {
            self.indentation.note(old, line);
        }
    }

    /// Writes a line of the encoder, indented to fit.
    fn write_new(&mut self, line: &str, next: Option<&str>, ahead: &[(&str, &str)]) {
        self.end_line();
        let content = line.trim_start_matches(' ').trim_end_matches('\n');
        if !content.is_empty() {
            let start = self.text.len();
            let indent = self.indentation.of(line, next, ahead);
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.text.push_str(content);
            let written = self.text.get(start..).unwrap_or_default();
            self.indentation.note(line, written);
        }
        self.text.push_str(self.line_break);
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.line_break);
        }
    }
}

/// A line without what people and encoders indent and pad it with.
fn squeezed(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    match line.contains("  ") || line.contains('\t') {
        true => Cow::Owned(line.split_whitespace().collect::<Vec<_>>().join(" ")),
        false => Cow::Borrowed(line),
    }
}

fn is_same_but_blank(old: &[&str], new: &[&str]) -> bool {
    let is_filled = |line: &&&str| !line.trim().is_empty();
    old.iter()
        .filter(is_filled)
        .eq(new.iter().filter(is_filled))
}

fn places(count: usize, pairs: Vec<(usize, usize)>) -> Vec<Option<usize>> {
    let mut places = vec![None; count];
    for (old, place) in pairs {
        if let Some(slot) = places.get_mut(old) {
            *slot = Some(place);
        }
    }
    places
}

/// What lies between corresponding lines.
fn changes(places: &[Option<usize>], count: usize, side: Side) -> Vec<LineChange> {
    let mut changes = Vec::new();
    let (mut old_from, mut from) = (0, 0);
    let known = places.iter().enumerate();
    let known = known.filter_map(|(old, place)| Some((old, (*place)?)));
    for (old, place) in known.chain([(places.len(), count)]) {
        if old_from < old || from < place {
            changes.push(LineChange {
                old: old_from..old,
                lines: from..place,
                side,
            });
        }
        (old_from, from) = (old + 1, place + 1);
    }
    changes
}
