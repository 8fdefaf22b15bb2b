//! Which lines of two texts are the same.
//!
//! What is the same at the beginning and at the end is found first, then lines that are there once in each text serve as
//! fixed points, and so on between them. Lines that stay ambiguous to the end count as different, unless there are so few
//! that all pairs can be tried. This is what makes it linear.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// How often the space between fixed points is looked at again.
const MAX_DEPTH: usize = 12;
/// How many pairs are tried where there are no fixed points.
const MAX_PAIRS: usize = 4096;

/// Pairs of indices of equal lines, both increasing. Blank lines are not paired: they are not distinctive.
pub(super) fn align<K: Eq + Hash + AsRef<str>>(one: &[K], other: &[K]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut pending = vec![(0..one.len(), 0..other.len(), 0)];
    while let Some((mut a, mut b, depth)) = pending.pop() {
        while let (Some(x), Some(y)) = (one.get(a.start), other.get(b.start))
            && !a.is_empty()
            && !b.is_empty()
            && x == y
        {
            pairs.push((a.start, b.start));
            a.start += 1;
            b.start += 1;
        }
        while !a.is_empty()
            && !b.is_empty()
            && let (Some(x), Some(y)) = (one.get(a.end - 1), other.get(b.end - 1))
            && x == y
        {
            a.end -= 1;
            b.end -= 1;
            pairs.push((a.end, b.end));
        }
        if a.is_empty() || b.is_empty() || depth == MAX_DEPTH {
            continue;
        }
        let fixed = fixed_points(one, a.clone(), other, b.clone());
        if fixed.is_empty() {
            pairs.extend(longest_common(one, a, other, b));
            continue;
        }
        let (mut from_a, mut from_b) = (a.start, b.start);
        for (x, y) in fixed {
            pending.push((from_a..x, from_b..y, depth + 1));
            pairs.push((x, y));
            (from_a, from_b) = (x + 1, y + 1);
        }
        pending.push((from_a..a.end, from_b..b.end, depth + 1));
    }
    pairs.sort_unstable();
    pairs
}

/// Lines that are there exactly once in each range, as many as can be paired without crossing.
fn fixed_points<K: Eq + Hash + AsRef<str>>(
    one: &[K],
    a: Range<usize>,
    other: &[K],
    b: Range<usize>,
) -> Vec<(usize, usize)> {
    // The only index in each text; `None` from a second one on.
    let mut places: HashMap<&K, (Option<usize>, Option<usize>)> = HashMap::new();
    for at in a.clone() {
        if let Some(line) = one.get(at)
            && !line.as_ref().trim().is_empty()
        {
            let place = places.entry(line);
            place
                .and_modify(|place| place.0 = None)
                .or_insert((Some(at), None));
        }
    }
    let mut seen: HashMap<&K, usize> = HashMap::new();
    for at in b {
        if let Some(line) = other.get(at)
            && let Some(place) = places.get_mut(line)
        {
            let count = seen.entry(line).or_default();
            *count += 1;
            place.1 = (*count == 1).then_some(at);
        }
    }
    let pairs = a.filter_map(|at| match places.get(one.get(at)?)? {
        (Some(x), Some(y)) if *x == at => Some((*x, *y)),
        _ => None,
    });
    increasing(&pairs.collect::<Vec<_>>())
}

/// The longest selection of pairs whose second indices increase; the first ones do already.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best selection of each length, and for each pair the one before it in its selection.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |at: usize| pairs.get(at).map_or(0, |pair| pair.1);
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(*end) < pair.1);
        before.push(
            length
                .checked_sub(1)
                .and_then(|length| ends.get(length).copied()),
        );
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut selected = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        selected.extend(pairs.get(at));
        next = before.get(at).copied().flatten();
    }
    selected.reverse();
    selected
}

/// The longest common selection of lines where few enough are left to try all pairs.
fn longest_common<K: Eq>(
    one: &[K],
    a: Range<usize>,
    other: &[K],
    b: Range<usize>,
) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    if a.len() * b.len() > MAX_PAIRS {
        return Vec::new();
    }
    let (one_from, other_from) = (a.start, b.start);
    let (one, other) = (
        one.get(a).unwrap_or_default(),
        other.get(b).unwrap_or_default(),
    );
    // The length of the best selection from each pair of indices on.
    let mut lengths = vec![0_usize; (one.len() + 1) * width];
    let at =
        |lengths: &[usize], x: usize, y: usize| lengths.get(x * width + y).copied().unwrap_or(0);
    for (x, line) in one.iter().enumerate().rev() {
        for (y, candidate) in other.iter().enumerate().rev() {
            let length = match line == candidate {
                true => at(&lengths, x + 1, y + 1) + 1,
                false => at(&lengths, x + 1, y).max(at(&lengths, x, y + 1)),
            };
            if let Some(cell) = lengths.get_mut(x * width + y) {
                *cell = length;
            }
        }
    }
    let (mut x, mut y) = (0, 0);
    let mut pairs = Vec::new();
    while let (Some(line), Some(candidate)) = (one.get(x), other.get(y)) {
        if line == candidate {
            pairs.push((one_from + x, other_from + y));
            (x, y) = (x + 1, y + 1);
        } else if at(&lengths, x + 1, y) >= at(&lengths, x, y + 1) {
            x += 1;
        } else {
            y += 1;
        }
    }
    pairs
}
