//! The results and standard error of a function, charged to the allowance of its call.
//!
//! Output beyond the allowance is dropped: the call has failed by then, with another message.

use std::fmt;
use std::ops::{Deref, DerefMut};

use kiln_krm::results::ResultItem;
use kiln_yaml::take_for_good;

/// The results of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Results {
    items: Vec<ResultItem>,
}

/// The standard error of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Printed {
    text: String,
}

impl Results {
    /// Adds a result.
    pub fn push(&mut self, item: ResultItem) {
        if take_for_good(size(&item)) {
            self.items.push(item);
        }
    }

    /// Adds a result before all others.
    pub fn push_first(&mut self, item: ResultItem) {
        if take_for_good(size(&item)) {
            self.items.insert(0, item);
        }
    }

    /// Adds results that are already charged.
    pub fn append(&mut self, mut other: Results) {
        self.items.append(&mut other.items);
    }

    /// The same results, charged to the allowance of a new call.
    pub(crate) fn charged(self) -> Results {
        self.items.into()
    }

    /// Removes all results.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl Deref for Results {
    type Target = [ResultItem];

    fn deref(&self) -> &[ResultItem] {
        &self.items
    }
}

impl DerefMut for Results {
    fn deref_mut(&mut self) -> &mut [ResultItem] {
        &mut self.items
    }
}

impl Extend<ResultItem> for Results {
    fn extend<T: IntoIterator<Item = ResultItem>>(&mut self, items: T) {
        for item in items {
            self.push(item);
        }
    }
}

impl FromIterator<ResultItem> for Results {
    fn from_iter<T: IntoIterator<Item = ResultItem>>(items: T) -> Results {
        let mut results = Results::default();
        results.extend(items);
        results
    }
}

impl IntoIterator for Results {
    type Item = ResultItem;
    type IntoIter = std::vec::IntoIter<ResultItem>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl From<Vec<ResultItem>> for Results {
    fn from(items: Vec<ResultItem>) -> Results {
        items.into_iter().collect()
    }
}

impl From<ResultItem> for Results {
    fn from(item: ResultItem) -> Results {
        Results::from_iter([item])
    }
}

impl Printed {
    /// Adds a text.
    pub fn push_str(&mut self, text: &str) {
        if take_for_good(text.len()) {
            self.text.push_str(text);
        }
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.text
    }
}

impl Deref for Printed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Write for Printed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl From<String> for Printed {
    fn from(text: String) -> Printed {
        let mut printed = Printed::default();
        printed.push_str(&text);
        printed
    }
}

/// The approximate bytes of a result, here and in the output.
fn size(item: &ResultItem) -> usize {
    let id = item.resource_ref.iter().flat_map(|id| {
        let parts = [&id.api_version, &id.kind, &id.name, &id.namespace];
        parts.map(String::len)
    });
    let field = item.field.iter().flat_map(|field| {
        let parts = [&field.path, &field.current_value, &field.proposed_value];
        parts.map(String::len)
    });
    let file = item.file.iter().map(|file| file.path.len());
    let tags = item.tags.iter().map(|(key, value)| key.len() + value.len());
    let texts: usize = id.chain(field).chain(file).chain(tags).sum();
    size_of::<ResultItem>() + item.message.len() + item.severity.len() + texts
}
