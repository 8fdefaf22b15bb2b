//! The only builtin function: it writes the name of a package into a ConfigMap, for other functions.

use std::time::Instant;

use kiln_krm::annotations::{LOCAL_CONFIG, PATH};
use kiln_krm::{Resource, ResourceList};
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext, RunError,
    Runner, Target,
};
use kiln_yaml::Document;

/// The image name of the function in pipelines.
pub const GENERATE_PACKAGE_CONTEXT: &str = "builtins/gen-pkg-context";

const RESOURCE_NAME: &str = "kptfile.kpt.dev";
const FILE: &str = "package-context.yaml";

/// The evaluator of [`GENERATE_PACKAGE_CONTEXT`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtins;

impl Evaluator for Builtins {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match &function.target {
            Target::Image(name) if name == GENERATE_PACKAGE_CONTEXT => {
                Ok(Found::blocking(Generator))
            }
            _ => Err(FindError::not_found(function)),
        }
    }
}

struct Generator;

impl Runner for Generator {
    fn run(&self, input: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let mut items = Vec::with_capacity(input.items().len() + 1);
        let mut contexts = Vec::new();
        for resource in input.items() {
            let meta = resource.meta();
            if (meta.api_version, meta.kind, meta.name) == ("v1", "ConfigMap", RESOURCE_NAME) {
                continue;
            }
            let is_kptfile = (meta.api_version, meta.kind) == ("kpt.dev/v1", "Kptfile");
            if is_kptfile && resource.file_place().0 == "Kptfile" {
                contexts.extend(context(meta.name));
            }
            items.push(resource.clone());
        }
        let results = report(contexts.len());
        items.extend(contexts);
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output: Output::List(ResourceList {
                items,
                results,
                ..ResourceList::default()
            }),
            stderr: Vec::new(),
            elapsed: started.elapsed(),
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        true
    }
}

/// The resource with the name of a package; `None` never happens, because its text is constant.
fn context(package: &str) -> Option<Resource> {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {RESOURCE_NAME}\n  annotations:\n    {LOCAL_CONFIG}: \"true\"\ndata:\n  name: example\n"
    );
    let mut document = kiln_yaml::parse(&text).ok()??;
    document
        .root_mut()
        .set_string(&["data", "name"], package)
        .ok()?;
    let mut resource = Resource::new(document);
    resource.set_annotation(PATH, FILE).ok()?;
    Some(resource)
}

fn report(count: usize) -> Option<Document> {
    let item = format!(
        "- message: generated package context\n  severity: info\n  file:\n    path: {FILE}\n"
    );
    match count {
        0 => None,
        count => kiln_yaml::parse(&item.repeat(count)).ok()?,
    }
}
