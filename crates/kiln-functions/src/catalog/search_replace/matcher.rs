//! The search criteria, and the replacement.

use regex::Regex;

use super::glob::{BadPattern, Glob};
use super::{SearchError, SearchReplaceRelease};
use crate::budget::{is_stopped, replace_all};
use crate::port::go_regexp;

/// A checked configuration. Missing values are empty.
pub(super) struct Matcher {
    by_value: String,
    by_value_regex: Option<Regex>,
    pub(super) by_path: String,
    by_file_path: Option<Glob>,
    pub(super) put_value: String,
    pub(super) put_comment: String,
}

/// A replacement contains a `${1}` without a matching group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unable to resolve capture groups")]
pub(super) struct Unresolved;

impl Matcher {
    pub(super) fn new(
        data: &[(String, String)],
        release: SearchReplaceRelease,
    ) -> Result<Matcher, SearchError> {
        let known: &[&str] = match release {
            SearchReplaceRelease::V0_1 => &[
                "by-value",
                "by-value-regex",
                "by-path",
                "put-value",
                "put-comment",
            ],
            SearchReplaceRelease::V0_2 => &[
                "by-value",
                "by-file-path",
                "by-value-regex",
                "by-path",
                "put-value",
                "put-comment",
            ],
        };
        for (key, _) in data {
            if !known.contains(&key.as_str()) {
                let known: Vec<String> = known.iter().map(|key| format!("{key:?}")).collect();
                return Err(SearchError::UnknownMatcher {
                    given: key.clone(),
                    known: known.join(" "),
                });
            }
        }
        let given = |wanted: &str| {
            let found = data.iter().find(|(key, _)| key == wanted);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let (by_value, by_value_regex) = (given("by-value"), given("by-value-regex"));
        let by_path = given("by-path");
        let is_empty = [&by_value, &by_value_regex, &by_path]
            .iter()
            .all(|text| text.is_empty());
        if release == SearchReplaceRelease::V0_1 && is_empty {
            return Err(SearchError::NothingToSearch);
        }
        if !by_value.is_empty() && !by_value_regex.is_empty() {
            return Err(SearchError::TwoValues);
        }
        let by_value_regex = match by_value_regex.as_str() {
            "" => None,
            expression => Some(go_regexp::compile(expression)?),
        };
        let by_file_path = given("by-file-path");
        Ok(Matcher {
            by_value,
            by_value_regex,
            by_path,
            by_file_path: (!by_file_path.is_empty()).then(|| Glob::new(&by_file_path)),
            put_value: given("put-value"),
            put_comment: given("put-comment"),
        })
    }

    pub(super) fn changes_something(&self) -> bool {
        !self.put_comment.is_empty() || !self.put_value.is_empty()
    }

    pub(super) fn is_file(&self, path: &str) -> Result<bool, BadPattern> {
        match &self.by_file_path {
            None => Ok(true),
            Some(glob) => glob.matches(path),
        }
    }

    /// The path of a field that is created if it is missing.
    pub(super) fn path_to_create(&self) -> Option<&str> {
        let is_simple = |element: &str| !element.is_empty() && !element.contains(['*', '[']);
        let is_wanted = self.by_value.is_empty()
            && self.by_value_regex.is_none()
            && !self.put_value.is_empty()
            && self.by_path.split('.').all(is_simple);
        is_wanted.then_some(self.by_path.as_str())
    }

    /// Whether a field meets the criteria.
    pub(super) fn is_match(&self, value: &str, path: &str) -> bool {
        let regex = self.by_value_regex.as_ref();
        let by_value = !self.by_value.is_empty() && self.by_value == value
            || regex.is_some_and(|regex| regex.is_match(value));
        match (by_value, self.by_path.is_empty()) {
            (true, true) => true,
            (true, false) => self.is_path(path),
            (false, _) => self.by_value.is_empty() && regex.is_none() && self.is_path(path),
        }
    }

    /// Whether a path matches the pattern: `*` is one element, `**` any number of elements.
    pub(super) fn is_path(&self, path: &str) -> bool {
        if self.by_path.is_empty() {
            return false;
        }
        let path = path.strip_prefix('.').unwrap_or(path);
        // For each number of pattern elements, whether they match the path elements seen so far.
        let pattern: Vec<&str> = self.by_path.split('.').collect();
        let mut matching = vec![true];
        for element in &pattern {
            let so_far = matching.last().copied().unwrap_or_default();
            matching.push(*element == "**" && so_far);
        }
        for element in path.split('.') {
            if is_stopped() {
                return false;
            }
            let mut next = vec![false];
            for (pattern, pair) in pattern.iter().zip(matching.windows(2)) {
                let &[shorter, same] = pair else { continue };
                let so_far = next.last().copied().unwrap_or_default();
                next.push(match *pattern {
                    "**" => so_far || same,
                    "*" => shorter,
                    pattern => shorter && is_element(element, pattern),
                });
            }
            matching = next;
        }
        matching.last().copied().unwrap_or_default()
    }

    /// The replacement for a value: the text with the groups of the expression filled in.
    pub(super) fn resolve(&self, value: &str, text: &str) -> Result<String, Unresolved> {
        let Some(regex) = &self.by_value_regex else {
            return Ok(text.to_owned());
        };
        let mut resolved = text.to_owned();
        let groups = regex.captures(value);
        let groups = groups.iter().flat_map(|groups| groups.iter());
        for (number, group) in groups.enumerate().skip(1) {
            let group = group.map(|group| group.as_str()).unwrap_or_default();
            resolved = replace_all(&resolved, &format!("${{{number}}}"), group);
            if is_stopped() {
                break;
            }
        }
        match has_reference(&resolved) {
            true => Err(Unresolved),
            false => Ok(resolved),
        }
    }
}

/// Whether a path element, `name` or `name[0]`, matches a pattern element, in which both parts may be `*`.
fn is_element(element: &str, pattern: &str) -> bool {
    if element == pattern {
        return true;
    }
    let mut element = element.split('[');
    let mut pattern = pattern.split('[');
    let (name, wanted_name) = (element.next(), pattern.next());
    let Some(index) = element.next() else {
        return false;
    };
    (wanted_name == Some("*") || name == wanted_name)
        && pattern
            .next()
            .is_some_and(|wanted| wanted == "*]" || wanted == index)
}

/// Whether a text contains a `${1}`.
fn has_reference(text: &str) -> bool {
    let mut parts = text.split("${").skip(1);
    parts.any(|part| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < part.len() && digits.starts_with('}')
    })
}
