//! Names that a user may have meant: the "did you mean" of messages.

/// Longer names are not compared, because the time is the product of both lengths.
const MAX_LENGTH: usize = 200;

/// The shortest name that is completed: `set-lab` to `set-labels`.
const MIN_PREFIX: usize = 3;

/// The known name that is most similar to `name`, if one is similar enough. Upper and lower case count as equal.
pub fn similar_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length == 0 || length > MAX_LENGTH {
        return None;
    }
    let name = name.to_lowercase();
    let limit = (length / 3).max(1);
    let candidates = known.into_iter().filter_map(|known| {
        let folded = known.to_lowercase();
        let distance = strsim::osa_distance(&name, &folded);
        let is_completion = length >= MIN_PREFIX && folded.starts_with(&name);
        (distance <= limit || is_completion).then_some((distance, known))
    });
    // Of equally similar names the first is taken.
    let best = candidates.min_by_key(|(distance, _)| *distance);
    best.map(|(_, known)| known)
}

#[cfg(test)]
mod tests;
