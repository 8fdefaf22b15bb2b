//! search-replace: finds fields by value, by path or by file, and replaces them.

mod glob;
mod matcher;
#[cfg(test)]
mod tests;

use kiln_go::quote;
use kiln_krm::Resource;
use kiln_yaml::{Document, Kind, NodeId, Slot, Style};

use crate::budget::is_stopped;
use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::output::Results;
use crate::port::go_regexp::PatternError;
use crate::port::kyaml::{
    KyamlRelease, MissingMetadata, SetFieldError, Visitor, as_comment, data_map, failure,
    file_path, item, node_text, note, set_untagged, walk,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};
use crate::settle::is_surely_plain;
use glob::BadPattern;
use matcher::{Matcher, Unresolved};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::Object("search-replace"), ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "search-replace",
    former_names: &[],
    summary: "Finds fields and changes them",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.1"],
            SDK,
            &SearchReplace {
                release: SearchReplaceRelease::V0_1,
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["v0.2.0"],
            SDK,
            &SearchReplace {
                release: SearchReplaceRelease::V0_2,
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["v0.2.1", "v0.2.3", "unstable", "latest"],
            SDK,
            &SearchReplace {
                release: SearchReplaceRelease::V0_2,
                kyaml: KyamlRelease::V0_12,
            },
        ),
    ],
};

struct SearchReplace {
    release: SearchReplaceRelease,
    kyaml: KyamlRelease,
}

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SearchReplaceRelease {
    /// A criterion is required, and `by-file-path` is unknown.
    V0_1,
    /// All criteria are optional.
    V0_2,
}

#[derive(Debug, thiserror::Error)]
enum SearchError {
    #[error("invalid matcher {}, must be one of [{known}]", quote(.given))]
    UnknownMatcher { given: String, known: String },
    #[error(r#"at least one of ["by-value", "by-value-regex", "by-path"] must be provided"#)]
    NothingToSearch,
    #[error(r#"only one of ["by-value", "by-value-regex"] can be provided"#)]
    TwoValues,
    #[error(transparent)]
    Regexp(#[from] PatternError),
    #[error(transparent)]
    MissingMetadata(#[from] MissingMetadata),
    #[error(transparent)]
    FilePattern(#[from] BadPattern),
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(transparent)]
    SetField(#[from] SetFieldError),
}

impl Function for SearchReplace {
    fn list_heads(&self) -> ListHeads {
        match self.kyaml {
            KyamlRelease::V0_10 => ListHeads::ItemOrFirstField,
            KyamlRelease::V0_12 | KyamlRelease::V0_13 => ListHeads::Own,
        }
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let data = data_map(list.config.as_ref());
        let work = Matcher::new(&data, self.release).and_then(|matcher| {
            let mut work = SearchRun::new(matcher);
            for (place, resource) in list.items.iter_mut().enumerate() {
                if ctx.check().is_err() {
                    return Ok(None);
                }
                work.needs_settling = false;
                let done = work.perform(resource, self.kyaml);
                if work.needs_settling {
                    list.unsettled.push(place);
                }
                done?;
            }
            Ok(Some(work.results))
        });
        match work {
            Ok(None) => Ending::Stopped,
            Ok(Some(mut results)) => {
                if results.is_empty() {
                    results.push(note("no matches"));
                }
                list.results = results;
                Ending::Success
            }
            Err(error) => {
                let error = error.to_string();
                let quoted = quote(&error);
                let message = format!("failed to perform search-replace operation: {quoted}");
                list.results = failure(message).into();
                Ending::Error(error)
            }
        }
    }
}

struct SearchRun {
    matcher: Matcher,
    results: Results,
    file_path: String,
    /// Whether a value was written that may be read as another type.
    needs_settling: bool,
}

impl SearchRun {
    fn new(matcher: Matcher) -> SearchRun {
        SearchRun {
            matcher,
            results: Results::default(),
            file_path: String::new(),
            needs_settling: false,
        }
    }

    fn perform(&mut self, resource: &mut Resource, kyaml: KyamlRelease) -> Result<(), SearchError> {
        self.file_path = file_path(resource, kyaml)?;
        if !self.matcher.is_file(&self.file_path)? {
            return Ok(());
        }
        if let Some(path) = self.matcher.path_to_create() {
            let path: Vec<&str> = path.split('.').collect();
            let (name, way) = path.split_last().unwrap_or((&"", &[]));
            let field = (*name, self.matcher.put_value.as_str());
            set_untagged(resource.document_mut(), way, Kind::Mapping, field)?;
            self.needs_settling |= !is_surely_plain(&self.matcher.put_value);
            let (value, path) = (self.matcher.put_value.clone(), self.matcher.by_path.clone());
            self.report(&value, &path);
            return Ok(());
        }
        match self.matcher.changes_something() {
            true => walk(resource.document_mut(), self),
            // A search without replacement changes nothing.
            false => walk(&mut resource.document().clone(), self),
        }
    }

    fn report(&mut self, value: &str, field_path: &str) {
        let value = quote(value);
        let message = match self.matcher.changes_something() {
            true => format!("Mutated field value to {value}"),
            false => format!("Matched field value {value}"),
        };
        let result = item(message, field_path, &self.file_path);
        self.results.push(result);
    }
}

impl Visitor for SearchRun {
    type Error = SearchError;

    /// Adds comments to lists, after their keys.
    fn mapping(
        &mut self,
        document: &mut Document,
        entries: &[(NodeId, NodeId)],
        path: &str,
    ) -> Result<(), SearchError> {
        if self.matcher.put_comment.is_empty() {
            return Ok(());
        }
        for (key, list) in entries {
            if is_stopped() {
                break;
            }
            let list_node = document.node(*list);
            if !list_node.is_sequence() || list_node.is_empty() {
                continue;
            }
            let path = format!("{path}.{}", node_text(document.node(*key)));
            if !self.matcher.is_path(&path) {
                continue;
            }
            let mut shown = Document::from_node(list_node);
            let root = shown.root().id();
            shown.set_style(root, Style::FLOW);
            let value = node_text(shown.root());
            let comment = self.matcher.put_comment.clone();
            document.set_comment(*key, Slot::Line, &as_comment(&comment));
            document.set_style(*list, Style::NONE);
            self.needs_settling = true;
            let path = format!("{} # {comment}", self.matcher.by_path);
            self.report(&value, &path);
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), SearchError> {
        let old = document.node(node).value().to_owned();
        if !self.matcher.is_match(&old, path) {
            return Ok(());
        }
        if !self.matcher.put_comment.is_empty() {
            let comment = self.matcher.resolve(&old, &self.matcher.put_comment);
            // The original empties the comment before it reports the missing group.
            let text = comment.as_deref().unwrap_or_default();
            document.set_comment(node, Slot::Line, &as_comment(text));
            self.needs_settling = true;
            comment?;
        }
        if !self.matcher.put_value.is_empty() {
            let value = self.matcher.resolve(&old, &self.matcher.put_value);
            let text = value.as_deref().unwrap_or_default();
            document.set_value(node, text);
            self.needs_settling |= !is_surely_plain(text);
            value?;
            document.set_tag(node, "");
        }
        if !self.file_path.is_empty() {
            let shown = node_text(document.node(node));
            self.report(&shown, path.strip_prefix('.').unwrap_or(path));
        }
        Ok(())
    }
}
