//! The SDKs that the originals were written with. The SDKs of the catalog share the input format, and little else:
//! the order of items, the form of results, the output on failure and the text of the list all differ.

use kiln_krm::Wrapper;
use kiln_krm::results::{ResultItem, write_results};
use kiln_yaml::Document;

use crate::function::{Ending, FunctionList};
use crate::port::go_sdk::sort_items;

pub use crate::port::go_sdk as go;

/// The SDK of a program of the catalog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sdk {
    /// kpt's SDK for Go: items are sorted, results are a list.
    Go,
    /// kpt's SDK for Go before May 2022: the same, but a failure prints nothing.
    SilentGo,
    /// kyaml's framework: items keep their order.
    Kyaml(ResultsForm, ErrorsPrinted),
    /// No SDK: items keep their order, and the function prints its own errors.
    Plain,
}

/// How a function of kyaml's framework writes its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultsForm {
    /// A list, since kyaml 0.13.
    List,
    /// Before 0.13: an object with this name that contains the list. Some functions omit the name.
    Object(&'static str),
}

/// How often a function of kyaml's framework prints its error: the framework prints it, and `main` often prints it
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorsPrinted {
    /// Once, by the framework.
    Once,
    /// By the framework and by `main`.
    Twice,
    /// By the framework, and by `main` below the list on standard output.
    BelowTheList,
}

/// The output of a program.
#[derive(Clone, Debug)]
pub struct SdkOutput {
    /// The list to write.
    pub list: FunctionList,
    pub exit_code: i32,
    /// Text that is printed below the list.
    pub below_the_list: String,
}

impl Sdk {
    /// Turns the ending of a function into the output of a program.
    pub fn finish(self, mut list: FunctionList, ending: Ending) -> SdkOutput {
        if self.is_go() {
            sort_items(&mut list.items);
        }
        let mut below_the_list = String::new();
        let (exit_code, text) = match (self, ending) {
            (_, Ending::Success) => (0, String::new()),
            (_, Ending::Exit { code, stderr }) => (code, stderr),
            (_, Ending::Stopped) | (Sdk::SilentGo, _) => (1, String::new()),
            (Sdk::Go, Ending::Failure) => {
                let text = "failed to evaluate function: error: function failure";
                (1, text.to_owned())
            }
            (Sdk::Go, Ending::Error(error)) => (1, format!("failed to evaluate function: {error}")),
            (_, Ending::Failure) => (1, String::new()),
            (Sdk::Kyaml(_, errors), Ending::Error(error)) => match errors {
                ErrorsPrinted::Once => (1, error),
                ErrorsPrinted::Twice => (1, format!("{error}{error}\n")),
                ErrorsPrinted::BelowTheList => {
                    below_the_list = format!("{error}\n");
                    (1, error)
                }
            },
            (Sdk::Plain, Ending::Error(error)) => (1, error),
        };
        list.stderr.push_str(&text);
        SdkOutput {
            list,
            exit_code,
            below_the_list,
        }
    }

    /// Results in the format of the SDK; `None` if there are none.
    pub(crate) fn results(self, items: &[ResultItem]) -> Option<Document> {
        if items.is_empty() {
            return None;
        }
        let mut list = write_results(items);
        if self.is_go() {
            sort_keys(&mut list);
        }
        let Sdk::Kyaml(ResultsForm::Object(name), _) = self else {
            return Some(list);
        };
        let mut object = Document::new_mapping();
        let root = object.root().id();
        if !name.is_empty() {
            let key = object.new_scalar("name", "");
            let value = object.new_string(name);
            object.push_entry(root, key, value);
        }
        let key = object.new_scalar("items", "");
        let value = object.import(list.root());
        object.push_entry(root, key, value);
        Some(object)
    }

    /// The type of the output list for an input list of the given type.
    pub(crate) fn wrapper(self, given: Option<Wrapper>) -> Wrapper {
        let current = Wrapper::resource_list(kiln_krm::Dialect::Current);
        match self {
            Sdk::Go | Sdk::SilentGo => current,
            Sdk::Kyaml(..) | Sdk::Plain => given.unwrap_or(current),
        }
    }

    /// Whether empty `items` and `functionConfig` are omitted from the list.
    pub(crate) fn omits_what_is_empty(self) -> bool {
        self.is_go()
    }

    fn is_go(self) -> bool {
        matches!(self, Sdk::Go | Sdk::SilentGo)
    }
}

/// Sorts the keys of all mappings, as the SDK does with encoded structs: first those of metadata, then all others
/// alphabetically.
fn sort_keys(document: &mut Document) {
    const FIRST: [&str; 4] = ["name", "namespace", "apiVersion", "kind"];
    let rank = |key: &str| FIRST.iter().position(|first| *first == key);
    let order = |key: &str| (rank(key).unwrap_or(FIRST.len()), key.to_owned());
    let mut pending = vec![document.root().id()];
    while let Some(node) = pending.pop() {
        pending.extend(document.child_ids(node));
        let mut entries: Vec<_> = document.node(node).entries().collect();
        entries.sort_by_key(|(key, _)| order(key.value()));
        let sorted: Vec<_> = entries
            .into_iter()
            .flat_map(|(key, value)| [key.id(), value.id()])
            .collect();
        if !sorted.is_empty() {
            document.set_children(node, &sorted);
        }
    }
}
