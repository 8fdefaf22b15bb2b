//! v0.1.2, written without kustomize: it changes pods and a few kinds with pod templates, and other fields only if
//! they are listed.
//!
//! Init containers are never found, because the original misspells them. A new name without a tag drops the separator
//! before the old tag.

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{NodeId, NodeRef};
use regex::Regex;

use super::config::{SET_IMAGE, SetImageConfig};
use super::v0_1_3::ImageSetter;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_sdk::{
    Formatting, about_object, field, is_gvk, nested_text, set_text, short_text, text,
};
use crate::port::kustomize::Image;
use crate::port::kustomize::decode::{YamlReader, decode};

pub(super) struct SetImageV0_1_2;

/// Why the function ends early.
enum Refusal {
    /// A failure with a message.
    Failed(String),
    /// The error is a result.
    Reported(String),
    FieldType(&'static str),
}

/// The path of a value of the wrong type.
struct UnexpectedFieldType(&'static str);

impl Function for SetImageV0_1_2 {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // The SDK ignores the results of earlier functions.
        list.results.clear();
        let config = match read(list) {
            Ok(config) => config,
            Err(Refusal::Failed(message)) => {
                list.report(Severity::Error, message.clone());
                return end(list, format!("function is terminated: {message}"));
            }
            Err(Refusal::Reported(error)) => return end(list, error),
            Err(Refusal::FieldType(path)) => return wrong_type(list, path),
        };
        let expression = config.image.expression();
        let mut count = 0;
        for resource in &mut list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            match set_in(resource, &config.image, expression.as_ref()) {
                Ok(set) => count += set,
                Err(UnexpectedFieldType(path)) => return wrong_type(list, path),
            }
        }
        if let Some(specs) = &config.additional {
            let mut setter = ImageSetter::new(&config.image);
            let mut results = Results::default();
            for resource in &mut list.items {
                if let Err(stopped) = ctx.check() {
                    return stopped.into();
                }
                if let Err(error) = setter.set(resource, specs) {
                    results.push(about_object(
                        Severity::Error,
                        error.to_string(),
                        resource.root(),
                    ));
                }
            }
            count += setter.count;
            list.results.append(results);
            list.unsettled = (0..list.items.len()).collect();
        }
        let message = format!("summary: updated a total of {count} image(s)");
        list.report(Severity::Info, message);
        Ending::Success
    }

    fn rewrites_text(&self) -> bool {
        true
    }
}

fn wrong_type(list: &mut FunctionList, path: &str) -> Ending {
    // The original lacks the closing backquote.
    end(list, format!("SubObject has unmatched field type: `{path}"))
}

fn end(list: &mut FunctionList, error: String) -> Ending {
    list.report(Severity::Error, error.clone());
    Ending::Error(error)
}

fn read(list: &mut FunctionList) -> Result<SetImageConfig, Refusal> {
    let config = list.config.as_ref();
    let Some(document) = config.filter(|config| !config.root().is_empty()) else {
        list.report(Severity::Info, "`FunctionConfig` is not given");
        return checked(SetImageConfig::default());
    };
    let root = document.root();
    if is_gvk(root, "", "v1", "ConfigMap") {
        return match field(root, "data") {
            None => checked(SetImageConfig::default()),
            Some(data) => {
                let is_text_map = data.is_mapping() && data.entries().all(|(_, v)| v.is_scalar());
                match is_text_map {
                    true => checked(SetImageConfig::of_data(data)),
                    false => Err(Refusal::FieldType("data")),
                }
            }
        };
    }
    if is_gvk(root, "fn.kpt.dev", "v1alpha1", "SetImage") {
        return match decode(document, &SET_IMAGE, YamlReader::Json) {
            Ok(value) => checked(SetImageConfig::typed(&value)),
            Err(_) => Err(Refusal::FieldType("")),
        };
    }
    let message = format!(
        "unknown FunctionConfig `{}`, expect SetImage",
        text(root, &["kind"])
    );
    let about = about_object(Severity::Error, message.clone(), root);
    let error = format!("function is terminated by {}: {message}", short_text(root));
    list.results.push(about);
    Err(Refusal::Reported(error))
}

fn checked(config: SetImageConfig) -> Result<SetImageConfig, Refusal> {
    if let Some(unknown) = &config.unknown {
        return Err(Refusal::Failed(format!(
            "ConfigMap has wrong field name {unknown}"
        )));
    }
    match config.problem() {
        Some(problem) => Err(Refusal::Failed(problem.to_owned())),
        None => Ok(config),
    }
}

/// Sets the images of a resource, and returns their number.
fn set_in(
    resource: &mut Resource,
    image: &Image,
    expression: Option<&Regex>,
) -> Result<usize, UnexpectedFieldType> {
    let root = resource.root();
    let spec = field(root, "spec");
    let pod = match text(root, &["kind"]) {
        "Pod" => spec,
        "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "PodTemplate" => {
            let template = spec.and_then(|spec| field(spec, "template"));
            template.and_then(|template| field(template, "spec"))
        }
        _ => None,
    };
    let mut count = 0;
    for container in containers(pod)? {
        let document = resource.document();
        let before = nested_text(document.node(container), &["image"]);
        let before = before
            .map_err(|_| UnexpectedFieldType("image"))?
            .unwrap_or_default();
        if !expression.is_some_and(|expression| expression.is_match(before)) {
            continue;
        }
        let after = image.apply_by_hand(before);
        if after != before {
            let formatting = Formatting::Comments;
            set_text(
                resource.document_mut(),
                container,
                &["image"],
                &after,
                formatting,
            )
            .map_err(|_| UnexpectedFieldType("image"))?;
            count += 1;
        }
    }
    Ok(count)
}

fn containers(pod: Option<NodeRef<'_>>) -> Result<Vec<NodeId>, UnexpectedFieldType> {
    let Some(containers) = pod.and_then(|pod| field(pod, "containers")) else {
        return Ok(Vec::new());
    };
    let all_mappings = containers.items().all(|item| item.is_mapping());
    match containers.is_sequence() && all_mappings {
        true => Ok(containers.items().map(|item| item.id()).collect()),
        false => Err(UnexpectedFieldType("containers")),
    }
}
