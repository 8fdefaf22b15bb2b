//! `.krmignore`: which files and directories of a package are ignored.
//!
//! The grammar is a subset of git's, with differences: `!` wins in any order, a pattern with a slash inside is
//! not anchored, and there is no `**`.

use super::glob;

pub(super) const FILE_NAME: &str = ".krmignore";

/// The patterns of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Ignore {
    hidden: Vec<Pattern>,
    shown: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    /// Whether it begins with a slash and so must match the whole path.
    from_top: bool,
    only_directories: bool,
    components: usize,
}

impl Ignore {
    pub(super) fn parse(text: &[u8]) -> Ignore {
        let mut ignore = Ignore::default();
        for line in String::from_utf8_lossy(text).lines() {
            let line = line.trim_matches(' ');
            if line.starts_with('#') {
                continue;
            }
            let line = match line.strip_prefix('\\') {
                Some(rest) if rest.starts_with('#') => rest,
                _ => line,
            };
            match line.strip_prefix('!') {
                Some(line) => ignore.shown.extend(Pattern::parse(line)),
                None => ignore.hidden.extend(Pattern::parse(line)),
            }
        }
        ignore
    }

    /// Whether a path, relative to the directory of the patterns, is ignored.
    pub(super) fn hides(&self, path: &str, is_directory: bool) -> bool {
        let any = |patterns: &[Pattern]| {
            patterns
                .iter()
                .any(|pattern| pattern.matches(path, is_directory))
        };
        !any(&self.shown) && any(&self.hidden)
    }
}

impl Pattern {
    /// `None` for a pattern without a name.
    fn parse(line: &str) -> Option<Pattern> {
        let text = line.trim_matches('/');
        (!text.is_empty()).then(|| Pattern {
            text: text.to_owned(),
            from_top: line.starts_with('/'),
            only_directories: line.ends_with('/'),
            components: text.split('/').count(),
        })
    }

    fn matches(&self, path: &str, is_directory: bool) -> bool {
        if self.only_directories && !is_directory {
            return false;
        }
        let Some(end) = last_components(path, self.components) else {
            return false;
        };
        if self.from_top && end.len() != path.len() {
            return false;
        }
        match self.text.contains(['*', '?', '[']) {
            true => glob::matches(&self.text, end),
            false => self.text == end,
        }
    }
}

/// The last components of a path; `None` if it has fewer.
fn last_components(path: &str, count: usize) -> Option<&str> {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    match slashes.nth(count.checked_sub(1)?) {
        Some(slash) => path.get(slash + 1..),
        None if path.split('/').count() == count => Some(path),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Ignore;

    #[track_caller]
    fn check(file: &str, hidden: &[&str], shown: &[&str]) {
        let ignore = Ignore::parse(file.as_bytes());
        let is_hidden = |path: &&str| match path.strip_suffix('/') {
            Some(directory) => ignore.hides(directory, true),
            None => ignore.hides(path, false),
        };
        for path in hidden {
            assert!(is_hidden(path), "{path} should be hidden");
        }
        for path in shown {
            assert!(!is_hidden(path), "{path} should be shown");
        }
    }

    #[test]
    fn names_match_anywhere() {
        check(
            "a.yaml\n",
            &["a.yaml", "d/a.yaml", "d/e/a.yaml", "a.yaml/"],
            &["b.yaml", "aa.yaml"],
        );
    }

    #[test]
    fn blanks_comments_and_escapes() {
        check(
            "\n# x\n  b  \r\n\\#c\n/\n!\n",
            &["b", "#c"],
            &["x", "# x", "/"],
        );
    }

    #[test]
    fn a_leading_slash_ties_to_the_top() {
        check("/a\n/d/b\n", &["a", "d/b"], &["d/a", "e/d/b", "b"]);
    }

    #[test]
    fn inner_slashes_do_not() {
        check("d/b\n", &["d/b", "e/d/b"], &["b", "d", "d/b/c"]);
    }

    #[test]
    fn a_trailing_slash_means_directories() {
        check("d/\ne/f/\n", &["d/", "x/d/", "e/f/"], &["d", "f/"]);
    }

    #[test]
    fn exceptions_win_wherever_they_stand() {
        check(
            "!keep.yaml\n*.yaml\n",
            &["a.yaml", "d/a.yaml"],
            &["keep.yaml", "d/keep.yaml"],
        );
    }

    #[test]
    fn wildcards_stay_within_a_component() {
        check(
            "d/*.yaml\n/t?\n**/z\n",
            &["d/a.yaml", "x/d/a.yaml", "t1", "q/z"],
            &["d/e/a.yaml", "x/t1", "z"],
        );
    }
}
