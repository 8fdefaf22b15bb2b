//! Functions that resources declare by an annotation, as the older command runs them.
//!
//! The resource itself is the function's configuration. Unknown keys are ignored, and the
//! valid part of an invalid declaration counts, as in the original.

use kiln_yaml::{Document, SequenceStyle, parse_first};

use crate::annotations::{CONTAINER, FUNCTION, LEGACY_FUNCTION};
use crate::record::{Reader, UnknownKeys, records};
use crate::resource::Resource;

records! {
    /// What to run.
    pub struct Declaration = "runtimeutil.FunctionSpec" {
        /// Whether a failure is reported only after all other functions have run.
        defer_failure: bool = "deferFailure",
        container: ContainerDeclaration = "container",
        starlark: StarlarkDeclaration = "starlark",
        /// A program of this machine.
        exec: ExecDeclaration = "exec",
    }

    /// A function that is an image.
    pub struct ContainerDeclaration = "runtimeutil.ContainerSpec" {
        /// The image's reference; no such function if empty.
        image: String = "image",
        /// Whether it needs the network.
        network: bool = "network",
        /// `NAME=value`, or `NAME` for the caller's value.
        envs: Vec<String> = "envs",
    }

    /// A function that is a script.
    pub struct StarlarkDeclaration = "runtimeutil.StarlarkSpec" {
        name: String = "name",
        /// Its file, relative to that of the resource.
        path: String = "path",
        url: String = "url",
    }

    /// A function that is a program.
    pub struct ExecDeclaration = "runtimeutil.ExecSpec" {
        /// The program, which gets no arguments; no such function if empty.
        path: String = "path",
    }
}

/// A declaration, and what is wrong with its text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declared {
    /// The valid part.
    pub declaration: Declaration,
    /// go-yaml's message about the rest.
    pub problem: Option<String>,
}

/// The function that a resource declares; `None` without a declaration.
pub fn declared_function(resource: &Resource) -> Option<Declared> {
    if resource.meta().is_missing {
        return None;
    }
    let mut annotations = [FUNCTION, LEGACY_FUNCTION]
        .into_iter()
        .filter_map(|key| resource.annotation(key));
    if let Some(text) = annotations.find(|text| !text.is_empty()) {
        return Some(decode(text));
    }
    let field = resource.root().get_path(&["metadata", "configFn"]);
    if let Some(field) = field.filter(|field| !field.is_null()) {
        let text = kiln_yaml::to_string(&Document::from_node(field), SequenceStyle::Compact);
        return Some(decode(&text));
    }
    let image = resource
        .annotation(CONTAINER)
        .filter(|image| !image.is_empty())?;
    let mut declared = Declared::default();
    image.clone_into(&mut declared.declaration.container.image);
    Some(declared)
}

fn decode(text: &str) -> Declared {
    match parse_first(text.as_bytes()) {
        Err(error) => Declared {
            problem: Some(error.to_string()),
            ..Declared::default()
        },
        Ok(None) => Declared::default(),
        Ok(Some(doc)) => {
            let root = doc.root().id();
            let (declaration, error) = Reader::what_fits(&doc, root, UnknownKeys::Ignore);
            Declared {
                declaration,
                problem: error.map(|error| error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
