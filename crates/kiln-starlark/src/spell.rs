//! Suggestions for unknown names.

/// The candidate closest to `name`, if one is close enough; the first of several.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = fold(name);
    let mut best = None;
    let mut limit = name.len().div_ceil(2);
    for candidate in candidates {
        let distance = distance(&name, &fold(candidate), limit);
        if distance < limit {
            limit = distance;
            best = Some(candidate);
        }
    }
    best
}

/// Ignores underscores and case.
fn fold(name: &str) -> Vec<u8> {
    let kept = name.chars().filter(|char| *char != '_');
    kept.flat_map(char::to_lowercase)
        .collect::<String>()
        .into_bytes()
}

/// The Levenshtein distance, or a value above `limit`.
///
/// Only one row of the matrix is kept. As in the original, a common prefix that is the whole shorter word is not
/// removed.
fn distance(left: &[u8], right: &[u8], limit: usize) -> usize {
    let (mut short, mut long) = if left.len() > right.len() {
        (right, left)
    } else {
        (left, right)
    };
    if let Some(common) = short.iter().zip(long).position(|(a, b)| a != b) {
        short = short.get(common..).unwrap_or_default();
        long = long.get(common..).unwrap_or_default();
    }
    if short.is_empty() {
        return long.len();
    }
    if long.len() - short.len() > limit {
        return long.len() - short.len();
    }
    let mut row: Vec<usize> = (0..=long.len()).collect();
    for (i, a) in short.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut best = left;
        for (cell, b) in row.iter_mut().skip(1).zip(long) {
            let cost = (diagonal + usize::from(a != b))
                .min(left + 1)
                .min(*cell + 1);
            diagonal = *cell;
            *cell = cost;
            left = cost;
            best = best.min(cost);
        }
        if best > limit {
            return best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
