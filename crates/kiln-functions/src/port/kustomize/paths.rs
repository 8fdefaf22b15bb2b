//! Dotted paths to fields: `spec.containers.[name=web].image`.

use super::field_spec::split_path;

/// The elements of a path. Dots inside of brackets and after a backslash do not count; brackets without `=` are
/// removed from a name with dots.
pub(crate) fn split_dotted(path: &str) -> Vec<String> {
    let mut elements = Vec::new();
    let mut parts = split_path(path, '.').into_iter();
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            elements.push(part);
            continue;
        }
        let mut whole = part;
        for part in parts.by_ref() {
            whole.push('.');
            whole.push_str(&part);
            if part.ends_with(']') {
                break;
            }
        }
        match whole.contains('=') {
            true => elements.push(whole),
            false => elements.push(whole.trim_matches(['[', ']']).to_owned()),
        }
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::split_dotted;

    #[test]
    fn brackets_keep_dots() {
        for (path, elements) in [
            ("a.b.0", &["a", "b", "0"][..]),
            ("a.[name=x.y].b", &["a", "[name=x.y]", "b"]),
            (
                "metadata.annotations.[a.b/c]",
                &["metadata", "annotations", "a.b/c"],
            ),
            ("a.[b]", &["a", "[b]"]),
            (r"a.b\.c", &["a", "b.c"]),
            ("", &[""]),
            ("a.[b.c", &["a", "b.c"]),
        ] {
            assert_eq!(split_dotted(path), elements, "{path}");
        }
    }
}
