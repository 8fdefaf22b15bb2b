//! The links of documents.

use std::ops::Range;

/// A link to a file of the repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileLink<'a> {
    /// Counted from 1.
    pub(crate) line: usize,
    /// The whole link in the text.
    pub(crate) range: Range<usize>,
    /// What the reader sees.
    pub(crate) label: &'a str,
    /// The path without the fragment.
    pub(crate) path: &'a str,
    /// `#fragment`, or nothing.
    pub(crate) fragment: &'a str,
}

/// The links of a document to files, in order: `[label](path#fragment)`. Fenced and indented blocks are not text.
pub(crate) fn file_links(text: &str) -> Vec<FileLink<'_>> {
    let mut links = Vec::new();
    let mut is_fenced = false;
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !line.starts_with("    ") {
            links.extend(links_of_line(line).map(|(range, label, target)| {
                let at = target.find('#').unwrap_or(target.len());
                let (path, fragment) = target.split_at(at);
                FileLink {
                    line: index + 1,
                    range: start + range.start..start + range.end,
                    label,
                    path,
                    fragment,
                }
            }));
        }
        start += line.len();
    }
    links.retain(|link| !link.path.is_empty() && !link.path.contains("://"));
    links
}

fn links_of_line(line: &str) -> impl Iterator<Item = (Range<usize>, &str, &str)> {
    line.match_indices("](").filter_map(move |(middle, _)| {
        let open = line[..middle].rfind('[')?;
        let target = &line[middle + 2..];
        let target = &target[..target.find(')')?];
        let end = middle + 2 + target.len() + 1;
        Some((open..end, &line[open + 1..middle], target))
    })
}

/// The path of a link, from the root of the repository; `None` if it leads out of it.
pub(crate) fn resolve(document: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = document.split('/').collect();
    names.pop();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests;
