//! v0.1.3 and later: kustomize's filter on the images of pods and pod templates; resources pass through JSON.

use kiln_krm::Resource;
use kiln_krm::results::Severity;
use kiln_yaml::{Document, NodeId, SequenceStyle};
use regex::Regex;

use super::config::SetImageConfig;
use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, Image, KustomizeRelease, MergeKeys, apply_spec,
    expect_scalar, through_json,
};

pub(super) struct SetImageV0_1_3;

const CONTAINERS: &str = "spec/containers[]/image";
const INIT_CONTAINERS: &str = "spec/initContainers[]/image";
const TEMPLATE: &str = "spec/template/spec/containers[]/image";
const INIT_TEMPLATE: &str = "spec/template/spec/initContainers[]/image";

static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "v1", "Pod", CONTAINERS, false),
    FieldSpec::new("", "v1", "Pod", INIT_CONTAINERS, false),
    FieldSpec::new("apps", "v1", "Deployment", TEMPLATE, false),
    FieldSpec::new("apps", "v1", "Deployment", INIT_TEMPLATE, false),
    FieldSpec::new("apps", "v1", "StatefulSet", TEMPLATE, false),
    FieldSpec::new("apps", "v1", "StatefulSet", INIT_TEMPLATE, false),
    FieldSpec::new("apps", "v1", "ReplicaSet", TEMPLATE, false),
    FieldSpec::new("apps", "v1", "ReplicaSet", INIT_TEMPLATE, false),
    FieldSpec::new("apps", "v1", "DaemonSet", TEMPLATE, false),
    FieldSpec::new("apps", "v1", "DaemonSet", INIT_TEMPLATE, false),
];

impl Function for SetImageV0_1_3 {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        let config = match SetImageConfig::read(list.config.as_ref()) {
            Ok(Some(config)) => config,
            Ok(None) => {
                list.report(Severity::Info, "`FunctionConfig` is not given");
                SetImageConfig::default()
            }
            Err(error) => {
                list.report(Severity::Error, error.to_string());
                return Ending::Failure;
            }
        };
        let mut errors = Vec::new();
        if let Some(unknown) = &config.unknown {
            errors.push(format!(
                "ConfigMap has wrong field name {unknown}%!(EXTRA <nil>)"
            ));
        }
        if let Some(problem) = config.problem() {
            errors.push(format!("invalid FunctionConfig: {problem}"));
        }
        let mut setter = ImageSetter::new(&config.image);
        let passes = [Some(DEFAULTS), config.additional.as_deref()];
        for specs in passes.into_iter().flatten() {
            for resource in &mut list.items {
                if let Err(stopped) = ctx.check() {
                    return stopped.into();
                }
                if let Err(error) = setter.set(resource, specs) {
                    let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
                    errors.push(format!("{error}%!(EXTRA *fn.KubeObject={text})"));
                }
            }
        }
        list.unsettled = (0..list.items.len()).collect();
        let (count, has_failed) = (setter.count, !errors.is_empty());
        for error in errors {
            list.report(Severity::Error, error);
        }
        list.report(
            Severity::Info,
            format!("summary: updated a total of {count} image(s)"),
        );
        match has_failed {
            true => Ending::Failure,
            false => Ending::Success,
        }
    }

    fn rewrites_text(&self) -> bool {
        true
    }
}

/// Sets images, and counts the matching ones.
pub(super) struct ImageSetter<'s> {
    image: &'s Image,
    expression: Option<Regex>,
    pub(super) count: usize,
}

impl<'s> ImageSetter<'s> {
    pub(super) fn new(image: &'s Image) -> ImageSetter<'s> {
        ImageSetter {
            image,
            expression: image.expression(),
            count: 0,
        }
    }

    /// Sets the images of a resource at the fields of the specs. The resource passes through JSON.
    pub(super) fn set(
        &mut self,
        resource: &mut Resource,
        specs: &[FieldSpec],
    ) -> Result<(), FilterError> {
        let document = through_json(resource.document(), MergeKeys::Merged, |document| {
            if resource.kind() == "CustomResourceDefinition" {
                return Ok(());
            }
            for spec in specs.iter().filter(|spec| spec.selects(resource)) {
                let mut set = |document: &mut Document, node, path: FieldPath<'_>| {
                    self.set_image(document, node, path)
                };
                let (creation, kustomize) = (Creation::Never, KustomizeRelease::Api0_19);
                apply_spec(document, spec, creation, kustomize, &mut set)?;
            }
            Ok::<(), FilterError>(())
        })?;
        *resource.document_mut() = document;
        Ok(())
    }

    fn set_image(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: FieldPath<'_>,
    ) -> Result<(), FilterError> {
        expect_scalar(document, node, path, KustomizeRelease::Api0_19)?;
        let reference = document.node(node).value();
        let is_match = |expression: &Regex| expression.is_match(reference);
        if !self.expression.as_ref().is_some_and(is_match) {
            return Ok(());
        }
        let reference = self.image.apply(reference);
        document.set_value(node, &reference);
        document.set_tag(node, "!!str");
        self.count += 1;
        Ok(())
    }
}
