//! A function that is ready to run: its name is resolved, its runner found, its configuration read.

use std::sync::Arc;

use kiln_krm::image::{self, NoMatchingTag, TagRequest};
use kiln_krm::kptfile::Function;
use kiln_krm::results::FunctionResult;
use kiln_runtime::{FindError, FunctionSpec, Runner, Target};
use kiln_yaml::{Document, Style};

use crate::error::{Failure, Unavailability};
use crate::log::{Event, Log};
use crate::options::{FunctionOptions, RenderCompat};

/// The prefix of names that are not images but functions of this program.
pub const BUILTIN_PREFIX: &str = "builtins/";

/// A function that can be run.
pub(crate) struct ReadyFunction {
    /// The resolved image; empty if there is an `exec`.
    pub(crate) image: String,
    /// The whole command line.
    pub(crate) exec: String,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) config: Option<Document>,
}

impl ReadyFunction {
    /// Finds the runner of a function by its resolved name.
    pub(crate) fn find(
        spec: FunctionSpec,
        config: Option<Document>,
        options: &FunctionOptions<'_>,
    ) -> Result<ReadyFunction, Failure> {
        let found = options.evaluator.find(&spec).map_err(find_failure)?;
        let (image, exec) = match spec.target {
            Target::Image(image) => (image, String::new()),
            Target::Exec(exec) | Target::Program(exec) => (String::new(), exec),
        };
        Ok(ReadyFunction {
            image,
            exec,
            runner: found.into_runner(),
            config,
        })
    }

    /// The name of the function in messages.
    pub(crate) fn name(&self) -> &str {
        match self.image.as_str() {
            "" => &self.exec,
            image => image,
        }
    }

    pub(crate) fn new_result(&self) -> FunctionResult {
        FunctionResult {
            image: self.image.clone(),
            exec: self.exec.clone(),
            ..FunctionResult::default()
        }
    }
}

fn find_failure(error: FindError) -> Failure {
    match error {
        FindError::NotFound { .. } => Failure::NotFound(error.to_string()),
        FindError::Refused(error) => Failure::Text(error.to_string()),
        FindError::Denied(error) => Failure::Denied(Unavailability::new(error)),
    }
}

/// The image that a function of a pipeline runs, with prefix and tag.
///
/// An error holds what is known of the image, for the render status.
pub(crate) fn resolve_image(
    function: &Function,
    options: &FunctionOptions<'_>,
    log: &dyn Log,
) -> Result<String, (String, Failure)> {
    let prefixed = image::with_prefix(options.image_prefix, &function.image);
    let is_builtin = options.compat == RenderCompat::Kiln && prefixed.starts_with(BUILTIN_PREFIX);
    if is_builtin {
        return Ok(prefixed);
    }
    if function.tag.is_empty() {
        return Ok(match image::has_tag_or_digest(&prefixed) {
            true => prefixed,
            false => format!("{prefixed}:latest"),
        });
    }
    let failed = |text: String| (String::new(), Failure::Text(text));
    let mut reference = image::normalize(&prefixed).map_err(|error| {
        failed(format!(
            "failed to parse image {prefixed:?} as reference: {error}"
        ))
    })?;
    reference.digest = None;
    let request = TagRequest::parse(&function.tag).map_err(|error| failed(error.to_string()))?;
    if let Some(warning) = request.warning() {
        log.event(Event::Warning(warning));
    }
    let tag = match request {
        TagRequest::Exact(tag) | TagRequest::Literal { tag, .. } => tag,
        TagRequest::Constraint(constraint) => {
            let name = reference.name();
            let best = |tags: Vec<String>| {
                let best = image::best_tag(&constraint, tags.iter().map(String::as_str));
                best.map(str::to_owned)
            };
            let found = best(options.tags.of(&name));
            let found = found.or_else(|| best(options.tags.elsewhere(&name)));
            found.ok_or_else(|| {
                let error = NoMatchingTag(function.tag.clone());
                (String::new(), Failure::NoMatchingTag(error))
            })?
        }
    };
    reference.tag = Some(tag);
    Ok(reference.to_string())
}

/// The image that a function of a pipeline runs.
pub fn resolved_image(
    function: &Function,
    options: &FunctionOptions<'_>,
) -> Result<String, Failure> {
    let resolved = resolve_image(function, options, &crate::log::Silent);
    resolved.map_err(|(_, failure)| failure)
}

/// The configuration that a `configMap` stands for; `None` if it is empty.
pub(crate) fn config_map(function: &Function) -> Option<Document> {
    if function.config_map.is_empty() {
        return None;
    }
    let mut document = Document::new_mapping();
    let root = document.root().id();
    for (key, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
        push(&mut document, root, key, value);
    }
    let key = document.new_scalar("metadata", "");
    let metadata = document.new_mapping_node();
    document.push_entry(root, key, metadata);
    push(&mut document, metadata, "name", "function-input");
    let key = document.new_scalar("data", "");
    let data = document.new_mapping_node();
    document.set_style(data, Style::FLOW);
    document.push_entry(root, key, data);
    for (key, value) in &function.config_map {
        let key = document.new_scalar(key, "");
        let value = document.new_string(value);
        document.push_entry(data, key, value);
    }
    Some(document)
}

fn push(document: &mut Document, mapping: kiln_yaml::NodeId, key: &str, value: &str) {
    let key = document.new_scalar(key, "");
    let value = document.new_scalar(value, "");
    document.push_entry(mapping, key, value);
}
