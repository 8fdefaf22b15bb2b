//! apply-setters: sets the fields that have a `# kpt-set:` comment.
//!
//! Several setters in one pattern are applied in the order of the configuration; the original uses Go's random map
//! order.

use kiln_go::quote;
use kiln_yaml::{Document, NodeId, Slot, Style};

use crate::budget::{is_stopped, replace_all};
use crate::catalog::setter_comments::{
    current_values, list_comment, name_in, pattern_of, reference_to, references,
};
use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::output::Results;
use crate::port::kyaml::{
    KyamlRelease, MissingMetadata, Visitor, data_map, failure, file_path, item, note, walk,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use crate::settle::is_surely_plain;

const SDK: Sdk = Sdk::Kyaml(ResultsForm::Object("apply-setters"), ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "apply-setters",
    former_names: &[],
    summary: "Sets fields that are marked with `# kpt-set:` comments",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.1"],
            SDK,
            &ApplySetters {
                nothing_to_do: NothingToDo::Fails,
            },
        ),
        FunctionVersion::new(
            &["v0.2.0", "v0.2.1", "v0.2.2", "unstable", "latest"],
            SDK,
            &ApplySetters {
                nothing_to_do: NothingToDo::IsFine,
            },
        ),
    ],
};

struct ApplySetters {
    nothing_to_do: NothingToDo,
}

/// What happens if there are no setters, or no fields to set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NothingToDo {
    Fails,
    IsFine,
}

#[derive(Debug, thiserror::Error)]
enum SetError {
    #[error(transparent)]
    MissingMetadata(#[from] MissingMetadata),
    #[error("input setters list cannot be empty")]
    NoSetters,
    #[error("no matches for the input list of setters")]
    NoMatches,
    #[error("invalid setter pattern for array node: {}", quote(.0))]
    ListPattern(String),
    #[error("input to array setter must be an array of values, but found {}", quote(.0))]
    NotAList(String),
    #[error("values for setters [{0}] must be provided")]
    Unresolved(String),
}

impl Function for ApplySetters {
    fn list_heads(&self) -> ListHeads {
        match self.nothing_to_do {
            NothingToDo::Fails => ListHeads::FirstField,
            NothingToDo::IsFine => ListHeads::ItemOrFirstField,
        }
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let mut work = SetterRun::new(list.config.as_ref());
        let outcome = match (self.nothing_to_do, work.setters.is_empty()) {
            (NothingToDo::Fails, true) => Err(SetError::NoSetters),
            _ => Ok(()),
        };
        let outcome = outcome.and_then(|()| {
            for (place, resource) in list.items.iter_mut().enumerate() {
                if ctx.check().is_err() {
                    return Ok(Some(Ending::Stopped));
                }
                work.file_path = file_path(resource, KyamlRelease::V0_10)?;
                work.needs_settling = false;
                if !work.has_something_in(resource.document()) {
                    continue;
                }
                let done = walk(resource.document_mut(), &mut work);
                if work.needs_settling {
                    list.unsettled.push(place);
                }
                done?;
            }
            match (self.nothing_to_do, work.results.is_empty()) {
                (NothingToDo::Fails, true) => Err(SetError::NoMatches),
                _ => Ok(None),
            }
        });
        match outcome {
            Ok(Some(stopped)) => stopped,
            Ok(None) => {
                if work.results.is_empty() {
                    work.results.push(note("no matches for input setter(s)"));
                }
                list.results = work.results;
                Ending::Success
            }
            Err(error) => {
                let message = format!("failed to apply setters: {error}");
                list.results = failure(message).into();
                Ending::Error(error.to_string())
            }
        }
    }
}

struct SetterRun {
    setters: Vec<SetterValue>,
    results: Results,
    file_path: String,
    /// Whether a value was written that may be read as another type.
    needs_settling: bool,
}

struct SetterValue {
    name: String,
    value: String,
    reference: String,
}

impl SetterRun {
    fn new(config: Option<&Document>) -> SetterRun {
        let setter = |(name, value): (String, String)| SetterValue {
            reference: reference_to(&name),
            name,
            value,
        };
        SetterRun {
            setters: data_map(config).into_iter().map(setter).collect(),
            results: Results::default(),
            file_path: String::new(),
            needs_settling: false,
        }
    }

    /// Whether there is a field to set; a document without one is not changed.
    fn has_something_in(&self, document: &Document) -> bool {
        let mut found = false;
        document.root().visit(|visit| {
            for node in visit.key().into_iter().chain([visit.node]) {
                let pattern = pattern_of(node.comment(Slot::Line));
                found = found || pattern.is_some_and(|pattern| self.concerns(pattern));
            }
        });
        found
    }

    /// Whether a pattern contains a setter with a value.
    fn concerns(&self, pattern: &str) -> bool {
        let mut setters = self.setters.iter();
        setters.any(|setter| is_stopped() || pattern.contains(&setter.reference))
    }

    fn report(&mut self, value: &str, field_path: &str) {
        let message = format!("set field value to {}", quote(value));
        let field_path = field_path.strip_prefix('.').unwrap_or(field_path);
        let result = item(message, field_path, &self.file_path);
        self.results.push(result);
    }

    fn set_list(
        &mut self,
        document: &mut Document,
        (key, list): (NodeId, NodeId),
        path: &str,
    ) -> Result<(), SetError> {
        let comment = list_comment(document, key, list).to_owned();
        let Some(pattern) = pattern_of(&comment).filter(|pattern| self.concerns(pattern)) else {
            return Ok(());
        };
        let is_one_name =
            references(pattern).len() == 1 && pattern.starts_with("${") && pattern.ends_with('}');
        if !is_one_name {
            return Err(SetError::ListPattern(pattern.to_owned()));
        }
        let name = name_in(pattern);
        let setter = self.setters.iter().find(|setter| setter.name == name);
        let value = setter
            .map(|setter| setter.value.clone())
            .unwrap_or_default();
        if value.is_empty() {
            document.set_children(list, &[]);
            document.set_style(list, Style::FLOW);
            document.set_comment(list, Slot::Line, &comment);
            document.set_comment(key, Slot::Line, "");
        } else {
            let items = kiln_yaml::parse(&value).ok().flatten();
            let Some(items) = items.filter(|items| items.root().is_sequence()) else {
                return Err(SetError::NotAList(value));
            };
            let copies: Vec<NodeId> = items.root().items().map(|i| document.import(i)).collect();
            document.set_children(list, &copies);
            document.set_style(list, Style::NONE);
            document.set_comment(key, Slot::Line, &comment);
        }
        self.needs_settling = true;
        let key = document.node(key).value();
        let path = format!("{path}.{key}");
        self.report(&value, &path);
        Ok(())
    }
}

impl Visitor for SetterRun {
    type Error = SetError;

    fn mapping(
        &mut self,
        document: &mut Document,
        entries: &[(NodeId, NodeId)],
        path: &str,
    ) -> Result<(), SetError> {
        for (key, value) in entries {
            if is_stopped() {
                break;
            }
            if document.node(*value).is_sequence() {
                self.set_list(document, (*key, *value), path)?;
            }
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), SetError> {
        let pattern = pattern_of(document.node(node).comment(Slot::Line));
        let Some(pattern) = pattern.filter(|pattern| self.concerns(pattern)) else {
            return Ok(());
        };
        let mut text = pattern.to_owned();
        for setter in &self.setters {
            if is_stopped() {
                return Ok(());
            }
            if text.contains(&setter.reference) {
                text = replace_all(&text, &setter.reference, &setter.value);
            }
        }
        if !references(&text).is_empty() {
            for (name, value) in current_values(pattern, document.node(node).value()) {
                text = replace_all(&text, &reference_to(&name), &value);
            }
        }
        let missing = references(&text);
        if !missing.is_empty() {
            return Err(SetError::Unresolved(missing.join(" ")));
        }
        let old = document.node(node);
        let is_there_already = old.value() == text && is_surely_plain(&text);
        if !is_there_already || old.style().contains(Style::TAGGED) {
            document.set_value(node, &text);
            if text.is_empty() {
                document.set_style(node, Style::DOUBLE_QUOTED);
            }
            document.set_tag(node, "");
            self.needs_settling |= !is_surely_plain(&text);
        }
        self.report(&text, path);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
