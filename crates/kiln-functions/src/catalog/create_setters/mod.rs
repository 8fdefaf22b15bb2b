//! create-setters: adds `# kpt-set:` comments to all fields that have certain values.
//!
//! Of values with equal length the one that comes first in the configuration takes precedence; the original uses Go's
//! random map order.

mod replacer;

use kiln_go::quote;
use kiln_yaml::{Document, NodeId, Slot, Style};

use crate::budget::is_stopped;
use crate::catalog::setter_comments::reference_to;
use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::output::Results;
use crate::port::kyaml::{
    KyamlRelease, MissingMetadata, Visitor, data_map, failure, file_path, item, walk,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use replacer::Replacer;

const SDK: Sdk = Sdk::Kyaml(ResultsForm::Object("create-setters"), ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "create-setters",
    former_names: &[],
    summary: "Adds `# kpt-set:` comments to fields that have certain values",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(&["v0.1.0"], SDK, &CreateSetters(ListHeads::FirstField)),
        FunctionVersion::new(
            &["v0.1.1", "unstable", "latest"],
            SDK,
            &CreateSetters(ListHeads::ItemOrFirstField),
        ),
    ],
};

/// The function. Its versions differ only in where they write comments.
struct CreateSetters(ListHeads);

#[derive(Debug, thiserror::Error)]
enum CreateError {
    #[error("config map cannot be empty")]
    NoSetters,
    #[error("parsing error")]
    NotYaml,
    #[error(transparent)]
    MissingMetadata(#[from] MissingMetadata),
    #[error("no matches for the input list of setters")]
    NoMatches,
}

impl Function for CreateSetters {
    fn list_heads(&self) -> ListHeads {
        self.0
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let outcome = CreateRun::new(list.config.as_ref()).and_then(|mut work| {
            for (place, resource) in list.items.iter_mut().enumerate() {
                if ctx.check().is_err() {
                    return Ok(None);
                }
                work.file_path = file_path(resource, KyamlRelease::V0_10)?;
                let before = work.results.len();
                // A resource without matches stays unchanged, except that a list may have changed its style.
                let mut document = resource.document().clone();
                let Ok(()) = walk(&mut document, &mut work);
                if !document.is_unchanged() || work.results.len() > before {
                    *resource.document_mut() = document;
                    list.unsettled.push(place);
                }
            }
            match work.results.is_empty() {
                true => Err(CreateError::NoMatches),
                false => Ok(Some(work.results)),
            }
        });
        match outcome {
            Ok(None) => Ending::Stopped,
            Ok(Some(results)) => {
                list.results = results;
                Ending::Success
            }
            Err(error) => {
                let message = format!("failed to create setters: {error}");
                list.results = failure(message).into();
                Ending::Error(error.to_string())
            }
        }
    }
}

struct CreateRun {
    scalars: Replacer,
    lists: Vec<ListSetter>,
    results: Results,
    file_path: String,
}

struct ListSetter {
    name: String,
    values: Vec<String>,
}

impl CreateRun {
    fn new(config: Option<&Document>) -> Result<CreateRun, CreateError> {
        let data = data_map(config);
        if data.is_empty() {
            return Err(CreateError::NoSetters);
        }
        let (mut scalars, mut lists) = (Vec::new(), Vec::new());
        for (name, value) in data {
            let document = kiln_yaml::parse(&value).ok().flatten();
            let document = document.ok_or(CreateError::NotYaml)?;
            let root = document.root();
            if root.is_sequence() {
                let values = sorted_values(&document, root.id());
                lists.push(ListSetter { name, values });
            } else if root.is_scalar() {
                scalars.push((value, reference_to(&name)));
            }
        }
        scalars.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Ok(CreateRun {
            scalars: Replacer::new(scalars),
            lists,
            results: Results::default(),
            file_path: String::new(),
        })
    }

    fn comment(
        &mut self,
        document: &mut Document,
        node: NodeId,
        pattern: &str,
        (value, path): (&str, &str),
    ) {
        let comment = format!("kpt-set: {pattern}");
        document.set_comment(node, Slot::Line, &format!("# {comment}"));
        let (comment, value) = (quote(&comment), quote(value));
        let message = format!("Added line comment {comment} for field with value {value}");
        let path = path.strip_prefix('.').unwrap_or(path);
        self.results.push(item(message, path, &self.file_path));
    }

    fn visit_list(&mut self, document: &mut Document, (key, list): (NodeId, NodeId), path: &str) {
        let values = sorted_values(document, list);
        let mut commented = key;
        if document.node(list).style() == Style::FLOW {
            let finds_something = values
                .iter()
                .any(|value| is_stopped() || self.scalars.finds_in(value));
            match finds_something {
                true => document.set_style(list, Style::NONE),
                false => commented = list,
            }
        }
        let Some(setter) = self.lists.iter().find(|setter| setter.values == values) else {
            return;
        };
        let pattern = reference_to(&setter.name);
        if commented == list && !values.is_empty() {
            document.set_style(list, Style::NONE);
            commented = key;
        }
        let path = format!("{path}.{}", document.node(key).value());
        let shown = format!("[{}]", values.join(" "));
        self.comment(document, commented, &pattern, (&shown, &path));
    }
}

impl Visitor for CreateRun {
    type Error = std::convert::Infallible;

    fn mapping(
        &mut self,
        document: &mut Document,
        entries: &[(NodeId, NodeId)],
        path: &str,
    ) -> Result<(), Self::Error> {
        for (key, value) in entries {
            if is_stopped() {
                break;
            }
            if document.node(*value).is_sequence() {
                self.visit_list(document, (*key, *value), path);
            }
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), Self::Error> {
        let value = document.node(node).value();
        if value.contains('\n') {
            return Ok(());
        }
        let pattern = self.scalars.replace(value);
        if pattern != value {
            let value = value.to_owned();
            self.comment(document, node, &pattern, (&value, path));
        }
        Ok(())
    }
}

/// The texts of the scalar items of a list, sorted.
fn sorted_values(document: &Document, list: NodeId) -> Vec<String> {
    let items = document.node(list).items();
    let mut values: Vec<String> = items.map(|item| item.value().to_owned()).collect();
    values.sort();
    values
}
