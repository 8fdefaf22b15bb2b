//! Comments that declare substitutions, and the walk that finds them.

use std::sync::LazyLock;

use kiln_go::quote;
use kiln_yaml::{Document, NodeId, NodeRef, Slot};
use regex::Regex;

use super::substitution::{MutationReference, Substitution};
use super::value::{key_step, value_text};
use crate::output::Printed;
use crate::port::kyaml::Visitor;

const MARK: &str = "# apply-time-mutation: ";

// The patterns are constants, and a test compiles them. If one were invalid, no comment would match.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let group = r"\$\{([^/]+)/(?:([^/]+)/)?namespaces/";
    Regex::new(&format!(r"{group}([^/]+)/([^/]+)/([^:]+):([^}}]+)\}}")).ok()
});

pub(super) struct FoundComment {
    pub(super) comment: String,
    pub(super) value: String,
    pub(super) substitution: Substitution,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum CommentError {
    #[error("apply mutation comment found with no valid reference to source path")]
    NoReference,
    #[error(
        "invalid node value (path: {}): failed to decode field value: {reason}",
        quote(path)
    )]
    Value { path: String, reason: String },
}

/// Finds the comments of a resource, and puts tokens into the fields that they follow.
#[derive(Default)]
pub(super) struct CommentScan {
    pub(super) found: Vec<FoundComment>,
    /// Messages for standard error.
    pub(super) log: Printed,
    pub(super) has_changed: bool,
}

impl Visitor for CommentScan {
    type Error = CommentError;

    fn step_into(&self, key: NodeRef<'_>, path: &mut String) {
        path.push_str(&key_step(key));
    }

    fn mapping(
        &mut self,
        _: &mut Document,
        _: &[(NodeId, NodeId)],
        _: &str,
    ) -> Result<(), CommentError> {
        Ok(())
    }

    fn scalar(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: &str,
    ) -> Result<(), CommentError> {
        let comment = document.node(node).comment(Slot::Line).to_owned();
        if comment.is_empty() {
            return Ok(());
        }
        let path = format!("${path}");
        let quoted = quote(&path);
        self.log
            .push_str(&format!("Parsing comment (path: {quoted}): {comment}\n"));
        let pattern = comment.strip_prefix(MARK).unwrap_or_default().trim();
        if pattern.is_empty() {
            return Ok(());
        }
        let (source, source_path) = reference(pattern).ok_or(CommentError::NoReference)?;
        let value = value_text(document.node(node)).map_err(|reason| CommentError::Value {
            path: path.clone(),
            reason,
        })?;
        if !kiln_yaml::take_for_good(comment.len() + path.len() + value.len()) {
            return Ok(());
        }
        let mut token = format!("${{ref{}}}", self.found.len());
        match with_token(pattern, &token) {
            Some(text) => {
                document.set_value(node, &text);
                self.has_changed = true;
            }
            None => token.clear(),
        }
        self.found.push(FoundComment {
            comment,
            value,
            substitution: Substitution {
                source,
                source_path,
                target_path: path,
                token,
            },
        });
        Ok(())
    }
}

/// The first reference in a comment, and the path in the resource that it refers to.
fn reference(pattern: &str) -> Option<(MutationReference, String)> {
    let groups = REFERENCE.as_ref()?.captures(pattern)?;
    let text = |at: usize| groups.get(at).map_or("", |group| group.as_str()).to_owned();
    let (api_version, group) = match text(2).as_str() {
        "" => (String::new(), text(1)),
        version => (format!("{}/{version}", text(1)), String::new()),
    };
    let reference = MutationReference {
        api_version,
        group,
        namespace: text(3),
        kind: text(4),
        name: text(5),
    };
    Some((reference, text(6)))
}

/// A comment with its references replaced by the token; `None` if the comment is only a reference.
fn with_token(pattern: &str, token: &str) -> Option<String> {
    let expression = REFERENCE.as_ref()?;
    let is_all = |found: regex::Match<'_>| found.range() == (0..pattern.len());
    if expression.find(pattern).is_some_and(is_all) {
        return None;
    }
    let replaced = expression.replace_all(pattern, regex::NoExpand(token));
    Some(replaced.into_owned())
}
