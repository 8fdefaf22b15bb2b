//! Path elements as kyaml reads them.

use super::error::EditError;
use crate::node::Kind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathElement<'p> {
    Key(&'p str),
    Index(usize),
    Last,
    /// The first item with this text.
    Text(&'p str),
    /// The first item that has this field.
    Field(&'p str, &'p str),
}

impl<'p> PathElement<'p> {
    pub(super) fn parse(element: &'p str) -> Result<PathElement<'p>, EditError> {
        if let Ok(index) = element.parse::<i64>() {
            return usize::try_from(index)
                .map(PathElement::Index)
                .map_err(|_| EditError::NegativeIndex(index));
        }
        match element {
            "-" => Ok(PathElement::Last),
            "*" => Err(EditError::Wildcard),
            _ if is_item(element) => {
                let inner = element.strip_suffix(']').unwrap_or(element);
                let inner = inner.strip_prefix('[').unwrap_or(inner);
                match inner.split_once('=') {
                    Some(("", text)) => Ok(PathElement::Text(text)),
                    Some((name, value)) => Ok(PathElement::Field(name, value)),
                    None => Err(EditError::ItemWithoutValue),
                }
            }
            key => Ok(PathElement::Key(key)),
        }
    }
}

/// The elements that count: without the blanks around them, and without empty ones.
pub(super) fn clean<'p>(path: &[&'p str]) -> Vec<&'p str> {
    path.iter()
        .map(|element| element.trim())
        .filter(|element| !element.is_empty())
        .collect()
}

/// The kind that a missing node must have to contain `next`.
pub(super) fn kind_for(next: Option<&str>, last: Kind) -> Kind {
    match next {
        None => last,
        Some(next) if is_item(next) || next.parse::<i64>().is_ok_and(|index| index >= 0) => {
            Kind::Sequence
        }
        Some(_) => Kind::Mapping,
    }
}

fn is_item(element: &str) -> bool {
    element.starts_with('[') && element.ends_with(']')
}
