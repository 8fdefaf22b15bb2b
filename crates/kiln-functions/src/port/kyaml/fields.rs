//! Setting a field by the rules of kyaml before 0.13: a scalar stays as it is given, without quotes for the sake of
//! YAML 1.1, and messages name the path.

use kiln_yaml::{Document, EditError, Kind};

/// There is something on the way that cannot have the field.
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

/// Sets a field of the mapping at a path to a scalar that has no tag. The way there is created where it is missing, its
/// end as a node of the given kind. A value that is replaced passes on its style and nothing else.
pub(crate) fn set_untagged(
    document: &mut Document,
    path: &[&str],
    kind: Kind,
    (name, value): (&str, &str),
) -> Result<(), SetFieldError> {
    check_path(document, path)?;
    let parent = document.root_mut().lookup_create(path, kind);
    let Some(parent) = parent.map_err(SetFieldError::Edit)? else {
        // A null has no fields, and gets none.
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

/// Whether all that is there already on a path can have what follows, and its end fields.
pub(crate) fn check_path(document: &Document, path: &[&str]) -> Result<(), SetFieldError> {
    let mut node = document.root();
    let mut way: Vec<&str> = Vec::new();
    // The field itself is one of a mapping, whatever its name.
    for element in path.iter().chain(&["name"]) {
        let wrong = |error| match error {
            EditError::WrongKind {
                expected,
                found,
                contents,
            } => SetFieldError::WrongKind {
                path: way.join("."),
                expected: kind_name(expected),
                found: kind_name(found),
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

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Mapping => "MappingNode",
        Kind::Sequence => "SequenceNode",
        Kind::Scalar => "ScalarNode",
        Kind::Alias => "AliasNode",
    }
}
