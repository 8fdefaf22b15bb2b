//! The input of a function: resources and its configuration, as trees and as text.

use std::borrow::Cow;
use std::sync::OnceLock;

use kiln_krm::read::{ReadError, read_function_output};
use kiln_krm::write::folded::{damaged_texts, quote_texts};
use kiln_krm::{Dialect, Resource, ResourceList, Wrapper, write_list};
use kiln_yaml::{Document, NodeId};

/// The list that a function works on. It is encoded or parsed only if a runner needs it, and only once.
pub struct Input<'a> {
    dialect: Dialect,
    form: Form<'a>,
    folded: Folded,
    wire: OnceLock<Cow<'a, str>>,
}

/// How to write folded texts that have indented lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Folded {
    /// As go-yaml writes them: with additional line breaks.
    Damaged,
    Quoted,
}

/// The source of the list.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each call, and it stays where it is"
)]
enum Form<'a> {
    Trees {
        items: &'a [Resource],
        function_config: Option<&'a Document>,
    },
    Text {
        text: &'a str,
        list: OnceLock<Result<ResourceList, ReadError>>,
    },
}

impl<'a> Input<'a> {
    /// A list of the given resources.
    pub fn new(
        dialect: Dialect,
        items: &'a [Resource],
        function_config: Option<&'a Document>,
    ) -> Input<'a> {
        Input {
            dialect,
            form: Form::Trees {
                items,
                function_config,
            },
            folded: Folded::Damaged,
            wire: OnceLock::new(),
        }
    }

    /// The same list, but with quotes around texts that go-yaml would damage.
    #[must_use]
    pub fn with_quoted_texts(self) -> Input<'a> {
        Input {
            folded: Folded::Quoted,
            ..self
        }
    }

    /// A list that was received as text; programs get it unchanged.
    pub fn from_wire(dialect: Dialect, text: &'a str) -> Input<'a> {
        Input {
            dialect,
            form: Form::Text {
                text,
                list: OnceLock::new(),
            },
            folded: Folded::Damaged,
            wire: OnceLock::from(Cow::Borrowed(text)),
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The resources; empty if the text is malformed, see [`Input::check`].
    pub fn items(&self) -> &[Resource] {
        match &self.form {
            Form::Trees { items, .. } => items,
            Form::Text { .. } => self.parsed().map_or(&[], |list| &list.items),
        }
    }

    pub fn function_config(&self) -> Option<&Document> {
        match &self.form {
            Form::Trees {
                function_config, ..
            } => *function_config,
            Form::Text { .. } => self.parsed()?.function_config.as_ref(),
        }
    }

    /// The list as text, for functions in other processes.
    pub fn wire(&self) -> &str {
        self.wire.get_or_init(|| {
            let wrapper = Wrapper::resource_list(self.dialect);
            let items = match self.folded {
                Folded::Damaged => Cow::Borrowed(self.items()),
                Folded::Quoted => quoted(self.items()),
            };
            let text = write_list(&wrapper, &items, self.function_config(), None);
            Cow::Owned(text)
        })
    }

    /// Parses text that was received, to check it.
    pub fn check(&self) -> Result<(), ReadError> {
        match self.read() {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn parsed(&self) -> Option<&ResourceList> {
        self.read()?.as_ref().ok()
    }

    fn read(&self) -> Option<&Result<ResourceList, ReadError>> {
        let Form::Text { text, list } = &self.form else {
            return None;
        };
        Some(list.get_or_init(|| read_function_output(text.as_bytes().to_vec(), self.dialect)))
    }
}

/// The resources, with quotes around folded texts that have indented lines.
fn quoted(items: &[Resource]) -> Cow<'_, [Resource]> {
    let at_risk: Vec<Vec<NodeId>> = items.iter().map(damaged_texts).collect();
    if at_risk.iter().all(Vec::is_empty) {
        return Cow::Borrowed(items);
    }
    let mut items = items.to_vec();
    for (item, texts) in items.iter_mut().zip(at_risk) {
        quote_texts(item, &texts);
    }
    Cow::Owned(items)
}

#[cfg(test)]
mod tests;
