//! list-setters: lists the setters of a package, with their values and how often they are used.

mod kptfile;

use kptfile::Kptfiles;

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::results::{ResultItem, Severity};
use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle, Slot};

use crate::catalog::setter_comments::{current_values, list_comment, name_in, pattern_of};
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::kyaml::{failure, note};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "list-setters",
    former_names: &[],
    summary: "Reports the setters of a package",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            Sdk::Kyaml(ResultsForm::Object("list-setters"), ErrorsPrinted::Twice),
            &ListSetters {
                kptfiles: Kptfiles::Of2021,
                without: WithoutSetters::Fails,
            },
        ),
        FunctionVersion::new(
            &["v0.1.1", "unstable"],
            Sdk::Kyaml(ResultsForm::Object("list-setters"), ErrorsPrinted::Twice),
            &ListSetters {
                kptfiles: Kptfiles::Of2021,
                without: WithoutSetters::Warns,
            },
        ),
        FunctionVersion::new(
            &["latest"],
            Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice),
            &ListSetters {
                kptfiles: Kptfiles::Current,
                without: WithoutSetters::Warns,
            },
        ),
    ],
};

struct ListSetters {
    kptfiles: Kptfiles,
    without: WithoutSetters,
}

/// What happens if there are no setters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WithoutSetters {
    Fails,
    Warns,
}

/// A type that a later value may change.
const TEXT: &str = "str";

impl Function for ListSetters {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let mut found = FoundSetters::default();
        match kptfile::declared(&list.items, self.kptfiles) {
            Ok(declared) => found.declare(declared),
            Err(error) => return fail(list, error.to_string()),
        }
        for resource in &list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            found.look_at(resource);
        }
        if found.is_empty() && self.without == WithoutSetters::Fails {
            return fail(list, "no setters found".to_owned());
        }
        list.results = found.results();
        Ending::Success
    }
}

fn fail(list: &mut FunctionList, error: String) -> Ending {
    let message = format!("failed to list setters: {error}");
    list.results = failure(message).into();
    Ending::Error(error)
}

/// Setters by name. A setter that is used for a list and for scalars counts twice.
#[derive(Default)]
struct FoundSetters {
    lists: BTreeMap<String, (Vec<String>, usize)>,
    scalars: BTreeMap<String, ScalarSetter>,
}

struct ScalarSetter {
    value: String,
    kind: String,
    count: usize,
}

impl FoundSetters {
    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.scalars.is_empty()
    }

    /// Adds the setters of the pipeline, whether they are used or not.
    fn declare(&mut self, declared: BTreeMap<String, String>) {
        for (name, value) in declared {
            match list_values(&value) {
                Some(values) => {
                    self.lists.insert(name, (values, 0));
                }
                None => {
                    let kind = TEXT.to_owned();
                    let count = 0;
                    self.scalars
                        .insert(name, ScalarSetter { value, kind, count });
                }
            }
        }
    }

    fn look_at(&mut self, resource: &Resource) {
        let document = resource.document();
        document.root().visit(|visit| match visit.key() {
            Some(key) if visit.node.is_sequence() => self.list(document, key.id(), visit.node),
            _ if visit.node.is_scalar() => self.scalar(visit.node),
            _ => {}
        });
    }

    fn list(&mut self, document: &Document, key: NodeId, list: NodeRef<'_>) {
        let Some(pattern) = pattern_of(list_comment(document, key, list.id())) else {
            return;
        };
        let name = name_in(pattern).to_owned();
        let (_, count) = self.lists.entry(name).or_insert_with(|| {
            let items = list.items();
            let mut values: Vec<String> = items.map(|item| item.value().to_owned()).collect();
            values.sort();
            (values, 0)
        });
        *count += 1;
    }

    fn scalar(&mut self, node: NodeRef<'_>) {
        let Some(pattern) = pattern_of(node.comment(Slot::Line)) else {
            return;
        };
        let tag = node.tag();
        let kind = tag.strip_prefix("!!").unwrap_or(tag);
        for (name, value) in current_values(pattern, node.value()) {
            let known = self.scalars.entry(name).or_insert_with(|| ScalarSetter {
                value,
                kind: kind.to_owned(),
                count: 0,
            });
            if known.kind == TEXT {
                kind.clone_into(&mut known.kind);
            }
            known.count += 1;
        }
    }

    fn results(self) -> Results {
        let line = |name: &str, value: &str, kind: &str, count: usize| {
            let text = format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}");
            (name.to_owned(), text)
        };
        let lists = self.lists.iter().map(|(name, (values, count))| {
            let value = format!("[{}]", values.join(", "));
            line(name, &value, "array", *count)
        });
        let scalars = self.scalars.iter();
        let scalars = scalars.map(|(name, s)| line(name, &s.value, &s.kind, s.count));
        let mut lines: Vec<(String, String)> = lists.chain(scalars).collect();
        lines.sort_by(|(one, _), (other, _)| one.cmp(other));
        if lines.is_empty() {
            return ResultItem::new(Severity::Warning, "no setters found").into();
        }
        lines.into_iter().map(|(_, line)| note(line)).collect()
    }
}

/// The items of a value that is a list or null; `None` for other values.
fn list_values(value: &str) -> Option<Vec<String>> {
    let document = kiln_yaml::parse(value).ok().flatten()?;
    let root = document.root();
    let text = |item| {
        let text = kiln_yaml::to_string(&Document::from_node(item), SequenceStyle::Compact);
        text.replace('\n', "")
    };
    (root.is_sequence() || root.is_null()).then(|| root.items().map(text).collect())
}
