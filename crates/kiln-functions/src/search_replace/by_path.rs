//! Putting a value at a path, creating what is missing, by the rules of kyaml before 0.13: a scalar stays as it is given,
//! without quotes for the sake of YAML 1.1, and messages name the path.

use kiln_yaml::{Document, EditError, Kind};

/// There is something at the path that cannot have the field.
#[derive(Debug, thiserror::Error)]
pub(super) enum PutError {
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

pub(super) fn put(document: &mut Document, path: &[&str], value: &str) -> Result<(), PutError> {
    let Some((name, parents)) = path.split_last() else {
        return Ok(());
    };
    check(document, parents)?;
    let parent = document.root_mut().lookup_create(parents, Kind::Mapping);
    let Some(parent) = parent.map_err(PutError::Edit)? else {
        // A null has no fields, and gets none.
        return Ok(());
    };
    let node = document.node(parent);
    let old = node.entries().find(|(key, _)| key.value() == *name);
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

/// Whether all that is there already can have what follows.
fn check(document: &Document, parents: &[&str]) -> Result<(), PutError> {
    let mut node = document.root();
    let mut path: Vec<&str> = Vec::new();
    // The field itself is one of a mapping, whatever its name.
    for element in parents.iter().chain(&["name"]) {
        let wrong = |error| match error {
            EditError::WrongKind {
                expected,
                found,
                contents,
            } => PutError::WrongKind {
                path: path.join("."),
                expected: kind_name(expected),
                found: kind_name(found),
                contents: contents.trim().to_owned(),
            },
            other => PutError::Edit(other),
        };
        match node.lookup(&[element]).map_err(wrong)? {
            Some(found) => node = found,
            None => return Ok(()),
        }
        let element = element.trim();
        if element.parse::<i64>().is_err() && element != "-" {
            path.push(element);
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
