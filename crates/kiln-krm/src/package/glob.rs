//! File name patterns as Go's `path/filepath` matches them: `*`, `?`, `[a-z]`, `[^a-z]` and `\`.
//!
//! Nothing but a character class matches a slash. A malformed pattern matches nothing.

/// Whether the whole name matches the pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    // Where to try again: behind the last star, with one more character of the name given to it.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            retry = Some((at, in_name));
            continue;
        }
        let is_done = at == pattern.len() && in_name == name.len();
        if is_done {
            return true;
        }
        if let Some(&c) = name.get(in_name)
            && let Some(next) = match_one(&pattern, at, c)
        {
            (at, in_name) = (next, in_name + 1);
            continue;
        }
        match retry {
            Some((behind_star, given)) if name.get(given).is_some_and(|c| *c != '/') => {
                (at, in_name) = (behind_star, given + 1);
                retry = Some((behind_star, given + 1));
            }
            _ => return false,
        }
    }
}

/// Where the pattern goes on if its element at `at` matches the character.
fn match_one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => (c != '/').then_some(at + 1),
        '[' => match_class(pattern, at + 1, c),
        '\\' => (*pattern.get(at + 1)? == c).then_some(at + 2),
        literal => (*literal == c).then_some(at + 1),
    }
}

fn match_class(pattern: &[char], mut at: usize, c: char) -> Option<usize> {
    let is_negated = pattern.get(at) == Some(&'^');
    at += usize::from(is_negated);
    let mut is_in_class = false;
    let mut is_first = true;
    loop {
        if pattern.get(at) == Some(&']') && !is_first {
            return (is_in_class != is_negated).then_some(at + 1);
        }
        let (low, next) = class_char(pattern, at)?;
        at = next;
        let mut high = low;
        if pattern.get(at) == Some(&'-') {
            (high, at) = class_char(pattern, at + 1)?;
        }
        is_in_class |= (low..=high).contains(&c);
        is_first = false;
    }
}

fn class_char(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match pattern.get(at)? {
        '-' | ']' => None,
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        c => Some((*c, at + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn matches_like_go() {
        for (pattern, name, is_match) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", ".yaml", true),
            ("*.yaml", "a.YAML", false),
            ("*.yaml", "d/a.yaml", false),
            ("Kptfile", "Kptfile", true),
            ("a*b*c", "aXbXbc", true),
            ("a*", "a", true),
            ("?", "/", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[]a]", "]", false),
            ("[", "[", false),
            ("[a", "a", false),
            ("a[", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a", false),
            ("*/b", "a/b", true),
            ("*", "a/b", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} on {name}");
        }
    }
}
