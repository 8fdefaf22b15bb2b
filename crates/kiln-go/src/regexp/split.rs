//! Where `Regexp.Split` divides a text.

use std::ops::Range;

/// The parts between the matches of an expression in a text.
pub struct SplitRanges<I> {
    matches: I,
    length: usize,
    /// How many parts may still come; `None` for all.
    left: Option<usize>,
    start: usize,
    end: usize,
    is_over: bool,
}

impl<I: Iterator<Item = Range<usize>>> SplitRanges<I> {
    /// The parts of a text of `length` bytes, at most `limit`: the last contains the rest.
    pub fn new(
        expression: &str,
        length: usize,
        limit: Option<usize>,
        matches: I,
    ) -> SplitRanges<I> {
        let is_whole = length == 0 && !expression.is_empty();
        SplitRanges {
            matches,
            length,
            left: if is_whole { Some(1) } else { limit },
            start: 0,
            // An empty text is one part, except for the empty expression.
            end: if is_whole { usize::MAX } else { 0 },
            is_over: false,
        }
    }
}

impl<I: Iterator<Item = Range<usize>>> Iterator for SplitRanges<I> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.is_over {
            return None;
        }
        while self.left != Some(1) {
            let Some(found) = self.matches.next() else {
                break;
            };
            let part = self.start..found.start;
            (self.start, self.end) = (found.end, found.start);
            // An empty match at the start of the text divides nothing.
            if found.end != 0 {
                self.left = self.left.map(|left| left.saturating_sub(1));
                return Some(part);
            }
        }
        self.is_over = true;
        (self.end != self.length).then_some(self.start..self.length)
    }
}
