//! The function in version 0.1.2, written by hand: it looks at pods and at a few kinds that make them, and changes nothing
//! else unless fields are named.
//!
//! Init containers are never found, because the original misspells them. A new name alone drops the sign before the tag.

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{NodeId, NodeRef};
use regex::Regex;

use super::config::{Config, SET_IMAGE};
use super::v0_1_3::Setter;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_sdk::{
    Formatting, about_object, field, is_gvk, nested_text, set_text, short_text, text,
};
use crate::port::kustomize::Image;
use crate::port::kustomize::decode::{Reader, decode};

pub(super) struct SetImage;

/// How it ends before it has done its work.
enum Refusal {
    /// It says why and dies of it.
    Dies(String),
    /// It has said why.
    Ended(String),
    /// A field is not of the type that it should be of.
    Misfit(&'static str),
}

/// Where something is not of the type it should be of.
struct Misfit(&'static str);

impl Function for SetImage {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // Its SDK does not look at the results of others.
        list.results.clear();
        let config = match read(list) {
            Ok(config) => config,
            Err(Refusal::Dies(message)) => {
                list.report(Severity::Error, message.clone());
                return end(list, format!("function is terminated: {message}"));
            }
            Err(Refusal::Ended(error)) => return end(list, error),
            Err(Refusal::Misfit(path)) => return misfit(list, path),
        };
        let expression = config.image.expression();
        let mut count = 0;
        for resource in &mut list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            match set_in(resource, &config.image, expression.as_ref()) {
                Ok(set) => count += set,
                Err(Misfit(path)) => return misfit(list, path),
            }
        }
        if let Some(specs) = &config.additional {
            let mut setter = Setter::new(&config.image);
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
}

fn misfit(list: &mut FunctionList, path: &str) -> Ending {
    // The backquote is never closed.
    end(list, format!("SubObject has unmatched field type: `{path}"))
}

fn end(list: &mut FunctionList, error: String) -> Ending {
    list.report(Severity::Error, error.clone());
    Ending::Error(error)
}

fn read(list: &mut FunctionList) -> Result<Config, Refusal> {
    let config = list.config.as_ref();
    let Some(document) = config.filter(|config| !config.root().is_empty()) else {
        list.report(Severity::Info, "`FunctionConfig` is not given");
        return checked(Config::default());
    };
    let root = document.root();
    if is_gvk(root, "", "v1", "ConfigMap") {
        return match field(root, "data") {
            None => checked(Config::default()),
            Some(data) => {
                let is_text_map = data.is_mapping() && data.entries().all(|(_, v)| v.is_scalar());
                match is_text_map {
                    true => checked(Config::of_data(data)),
                    false => Err(Refusal::Misfit("data")),
                }
            }
        };
    }
    if is_gvk(root, "fn.kpt.dev", "v1alpha1", "SetImage") {
        return match decode(document, &SET_IMAGE, Reader::Json) {
            Ok(value) => checked(Config::typed(&value)),
            Err(_) => Err(Refusal::Misfit("")),
        };
    }
    let message = format!(
        "unknown FunctionConfig `{}`, expect SetImage",
        text(root, &["kind"])
    );
    let about = about_object(Severity::Error, message.clone(), root);
    let error = format!("function is terminated by {}: {message}", short_text(root));
    list.results.push(about);
    Err(Refusal::Ended(error))
}

fn checked(config: Config) -> Result<Config, Refusal> {
    if let Some(unknown) = &config.unknown {
        return Err(Refusal::Dies(format!(
            "ConfigMap has wrong field name {unknown}"
        )));
    }
    match config.problem() {
        Some(problem) => Err(Refusal::Dies(problem.to_owned())),
        None => Ok(config),
    }
}

/// Sets the images of a resource, and says how many.
fn set_in(
    resource: &mut Resource,
    image: &Image,
    expression: Option<&Regex>,
) -> Result<usize, Misfit> {
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
        let before = before.map_err(|_| Misfit("image"))?.unwrap_or_default();
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
            .map_err(|_| Misfit("image"))?;
            count += 1;
        }
    }
    Ok(count)
}

fn containers(pod: Option<NodeRef<'_>>) -> Result<Vec<NodeId>, Misfit> {
    let Some(containers) = pod.and_then(|pod| field(pod, "containers")) else {
        return Ok(Vec::new());
    };
    let all_mappings = containers.items().all(|item| item.is_mapping());
    match containers.is_sequence() && all_mappings {
        true => Ok(containers.items().map(|item| item.id()).collect()),
        false => Err(Misfit("containers")),
    }
}
