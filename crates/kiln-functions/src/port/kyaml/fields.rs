//! Sets a field by the rules of kyaml before 0.13: a scalar is not quoted for YAML 1.1, and messages contain the
//! path.

use kiln_yaml::{Document, EditError, Kind};

/// A node on the path cannot have the field.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetFieldError {
    #[error("wrong Node Kind for {path} expected: {expected} was {found}: value: {{{contents}}}")]
    WrongKind {
        path: String,
        expected: &'static str,
        found: &'static str,
        contents: String,
    },
    #[error(transparent)]
    Edit(EditError),
}

/// Sets a field of the mapping at a path to a scalar without a tag. Missing parts of the path are created, the last
/// with the given kind. The new value keeps only the style of the old one.
pub(crate) fn set_untagged(
    document: &mut Document,
    path: &[&str],
    kind: Kind,
    (name, value): (&str, &str),
) -> Result<(), SetFieldError> {
    check_path(document, path)?;
    let parent = document.root_mut().lookup_create(path, kind);
    let Some(parent) = parent.map_err(SetFieldError::Edit)? else {
        // Setting a field of a null has no effect.
        return Ok(());
    };
    if kind != Kind::Mapping {
        check_path(document, path)?;
    }
    let node = document.node(parent);
    let old = node.entries().find(|(key, _)| key.value() == name);
    let old = old.map(|(_, old)| (old.id(), old.style()));
    let new = document.new_scalar(value, "");
    match old {
        Some((old, style)) => {
            document.set_style(new, style);
            document.replace_child(parent, old, new);
        }
        None => {
            let key = document.new_scalar(name, "");
            document.push_entry(parent, key, new);
        }
    }
    Ok(())
}

/// Checks that the existing nodes of a path can have their children, and the last one fields.
pub(crate) fn check_path(document: &Document, path: &[&str]) -> Result<(), SetFieldError> {
    let mut node = document.root();
    let mut way: Vec<&str> = Vec::new();
    // The field itself belongs to a mapping, whatever its name is.
    for element in path.iter().chain(&["name"]) {
        let wrong = |error| match error {
            EditError::WrongKind {
                expected,
                found,
                contents,
            } => SetFieldError::WrongKind {
                path: way.join("."),
                expected: expected.go_name(),
                found: found.go_name(),
                contents: contents.trim().to_owned(),
            },
            other => SetFieldError::Edit(other),
        };
        match node.lookup(&[element]).map_err(wrong)? {
            Some(found) => node = found,
            None => return Ok(()),
        }
        let element = element.trim();
        if element.parse::<i64>().is_err() && element != "-" {
            way.push(element);
        }
    }
    Ok(())
}
