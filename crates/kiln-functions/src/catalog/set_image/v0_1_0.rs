//! v0.1.0 and v0.1.1: kustomize's filter of that time, with a result for each image.
//!
//! All resources pass through JSON. The original reports the line of an error in the configuration; this port does
//! not, because line numbers are not available.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::results::{Field, File, ResourceRef, ResultItem, Severity};
use kiln_yaml::{Document, NodeId, NodeRef};
use regex::Regex;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_sdk::{field, resource_ref, text};
use crate::port::kustomize::decode::{
    ConfigShape, ConfigValue, DecodeError, FieldShape, StructShape, YamlReader, decode,
};
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, Image, KustomizeRelease, MergeKeys, apply_spec,
    expect_scalar, through_json,
};

pub(super) struct SetImageV0_1_0(pub(super) SetImageRelease);

/// Releases that behave differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SetImageRelease {
    /// Reports errors as results and succeeds.
    V0_1_0,
    /// Fails without a message, except for values of the wrong type.
    V0_1_1,
}

const KUSTOMIZE: KustomizeRelease = KustomizeRelease::Api0_11;

static DEFAULTS: &[FieldSpec] = &[
    FieldSpec::new("", "", "", "spec/containers[]/image", true),
    FieldSpec::new("", "", "", "spec/initContainers[]/image", true),
    FieldSpec::new("", "", "", "spec/template/spec/containers[]/image", true),
    FieldSpec::new(
        "",
        "",
        "",
        "spec/template/spec/initContainers[]/image",
        true,
    ),
];

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum SetImageV0_1_0ConfigError {
    #[error("`functionConfig` must be a `ConfigMap` or `SetImage`")]
    Kind,
    #[error("unable to get field data from functionConfig")]
    NoData,
    #[error(
        "unable to convert functionConfig to v1 ConfigMap:\nunable to get fields [data] as *types.Image with error: {0}"
    )]
    Data(String),
    #[error(
        "unable to convert functionConfig to fn.kpt.dev/v1alpha1 SetImage:\nunable to convert object to *main.SetImage with error: {0}"
    )]
    Type(DecodeError),
    #[error("missing image name")]
    Name,
    #[error("missing image newName, newTag, or digest")]
    Change,
    #[error("image newTag and digest both set")]
    Both,
}

impl Function for SetImageV0_1_0 {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // The SDK ignores the results of earlier functions.
        list.results.clear();
        let (image, additional) = match read(list.config.as_ref(), self.0) {
            Ok(config) => config,
            Err(error) => return self.refuse(list, &error),
        };
        let mut setter = ImageSetterV0_1_0 {
            expression: image.former_expression(),
            image: &image,
            set: BTreeMap::new(),
        };
        let specs: Vec<&FieldSpec> = additional.iter().chain(DEFAULTS).collect();
        let mut changed = Vec::with_capacity(list.items.len());
        for resource in &list.items {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
            match setter.apply(resource, &specs) {
                Ok(document) => changed.push(document),
                Err(error) => return self.fail(list, error.to_string()),
            }
        }
        for (resource, document) in list.items.iter_mut().zip(changed) {
            *resource.document_mut() = document;
        }
        list.unsettled = (0..list.items.len()).collect();
        list.results = setter.into_results();
        Ending::Success
    }

    fn rewrites_text(&self) -> bool {
        true
    }
}

impl SetImageV0_1_0 {
    fn refuse(&self, list: &mut FunctionList, error: &SetImageV0_1_0ConfigError) -> Ending {
        let is_of_wrong_type = matches!(
            error,
            SetImageV0_1_0ConfigError::Data(_) | SetImageV0_1_0ConfigError::Type(_)
        );
        if self.0 == SetImageRelease::V0_1_0 || !is_of_wrong_type {
            return self.fail(list, error.to_string());
        }
        let field = match error {
            SetImageV0_1_0ConfigError::Data(_) => "data",
            _ => "",
        };
        // The original lacks the closing backquote.
        let message = format!("SubObject has unmatched field type: `{field}");
        list.report(Severity::Error, message);
        SILENT_FAILURE
    }

    fn fail(&self, list: &mut FunctionList, error: String) -> Ending {
        match self.0 {
            SetImageRelease::V0_1_0 => {
                list.report(Severity::Error, error);
                Ending::Success
            }
            SetImageRelease::V0_1_1 => SILENT_FAILURE,
        }
    }
}

const SILENT_FAILURE: Ending = Ending::Exit {
    code: 1,
    stderr: String::new(),
};

fn read(
    config: Option<&Document>,
    release: SetImageRelease,
) -> Result<(Image, Vec<FieldSpec>), SetImageV0_1_0ConfigError> {
    let Some(document) = config else {
        return Err(SetImageV0_1_0ConfigError::Kind);
    };
    let root = document.root();
    let (image, additional) = match (text(root, &["apiVersion"]), text(root, &["kind"])) {
        ("v1", "ConfigMap") => match field(root, "data") {
            Some(data) => (from_data(data)?, Vec::new()),
            None if release == SetImageRelease::V0_1_0 => {
                return Err(SetImageV0_1_0ConfigError::NoData);
            }
            None => (Image::default(), Vec::new()),
        },
        ("fn.kpt.dev/v1alpha1", "SetImage") => {
            let value = decode(document, &SET_IMAGE, YamlReader::Json)
                .map_err(SetImageV0_1_0ConfigError::Type)?;
            let additional = FieldSpec::list(value.field("additionalImageFields"));
            (from_value(&value), additional.unwrap_or_default())
        }
        _ => return Err(SetImageV0_1_0ConfigError::Kind),
    };
    let is_changed = [&image.new_name, &image.new_tag, &image.digest];
    if image.name.is_empty() {
        Err(SetImageV0_1_0ConfigError::Name)
    } else if is_changed.iter().all(|part| part.is_empty()) {
        Err(SetImageV0_1_0ConfigError::Change)
    } else if !image.new_tag.is_empty() && !image.digest.is_empty() {
        Err(SetImageV0_1_0ConfigError::Both)
    } else {
        Ok((image, additional))
    }
}

/// The image of a ConfigMap, as go-yaml decodes it: any scalar is a string, and unknown fields are ignored.
fn from_data(data: NodeRef<'_>) -> Result<Image, SetImageV0_1_0ConfigError> {
    if !data.is_mapping() {
        let variant = match data.is_sequence() {
            true => "sliceVariant",
            false => "scalarVariant",
        };
        let error = format!("wrong type, got: *fnsdk.{variant}");
        return Err(SetImageV0_1_0ConfigError::Data(error));
    }
    let mut image = Image::default();
    for (key, value) in data.entries() {
        let field = match key.value() {
            "name" => &mut image.name,
            "newName" => &mut image.new_name,
            "newTag" => &mut image.new_tag,
            "digest" => &mut image.digest,
            _ => continue,
        };
        if !value.is_scalar() {
            let tag = value.tag();
            let error = format!("yaml: unmarshal errors:\n  cannot unmarshal {tag} into string");
            return Err(SetImageV0_1_0ConfigError::Data(error));
        }
        if !value.is_null() {
            *field = value.value().to_owned();
        }
    }
    Ok(image)
}

fn from_value(value: &ConfigValue) -> Image {
    let nothing = ConfigValue::Null;
    let image = value.field("image").unwrap_or(&nothing);
    let text = |key| image.field_text(key).to_owned();
    Image {
        name: text("name"),
        new_name: text("newName"),
        new_tag: text("newTag"),
        digest: text("digest"),
        ..Image::default()
    }
}

/// Sets images, and records old and new ones.
struct ImageSetterV0_1_0<'s> {
    image: &'s Image,
    expression: Option<Regex>,
    /// By the sort key of the original.
    set: BTreeMap<(String, i64, String), Vec<ResultItem>>,
}

impl ImageSetterV0_1_0<'_> {
    /// Returns the resource with its images set, after JSON.
    fn apply(
        &mut self,
        resource: &Resource,
        specs: &[&FieldSpec],
    ) -> Result<Document, FilterError> {
        let about = ImageLocation::of(resource);
        through_json(resource.document(), MergeKeys::Refused, |document| {
            if resource.kind() == "CustomResourceDefinition" {
                return Ok(());
            }
            for spec in specs.iter().filter(|spec| spec.selects(resource)) {
                let mut set = |document: &mut Document, node, path: FieldPath<'_>| {
                    self.set_image(document, node, path, &about)
                };
                apply_spec(document, spec, Creation::Never, KUSTOMIZE, &mut set)?;
            }
            Ok(())
        })
    }

    fn set_image(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: FieldPath<'_>,
        about: &ImageLocation,
    ) -> Result<(), FilterError> {
        expect_scalar(document, node, path, KUSTOMIZE)?;
        let before = document.node(node).value().to_owned();
        let is_match = |expression: &Regex| expression.is_match(&before);
        if !self.expression.as_ref().is_some_and(is_match) {
            return Ok(());
        }
        let after = self.image.former_apply(&before);
        document.set_value(node, &after);
        document.set_tag(node, "!!str");
        self.note(path.text(), before, after, about);
        Ok(())
    }

    fn note(&mut self, path: String, before: String, after: String, about: &ImageLocation) {
        // Charged twice: as the sort key, and as the result.
        let (id, file) = (&about.resource, &about.file);
        let names = id.api_version.len() + id.kind.len() + id.name.len() + id.namespace.len();
        let bytes = names + file.path.len() + path.len() + 2 * (before.len() + after.len());
        if !kiln_yaml::take_for_good(2 * bytes) {
            return;
        }
        let message = format!("set image from {before} to {after}");
        let ResourceRef {
            api_version,
            kind,
            name,
            namespace,
        } = &about.resource;
        // The original sorts by this text.
        let text = format!(
            "&{{{{{api_version} {kind}}} {{{name} {namespace}}}}},field:&{{{path} {before} {after}}},message:{message}"
        );
        let result = ResultItem {
            resource_ref: Some(about.resource.clone()),
            field: Some(Field {
                path,
                current_value: before,
                proposed_value: after,
            }),
            file: Some(about.file.clone()),
            ..ResultItem::new(Severity::Info, message)
        };
        let place = (about.file.path.clone(), about.file.index, text);
        self.set.entry(place).or_default().push(result);
    }

    fn into_results(self) -> Results {
        let results: Results = self.set.into_values().flatten().collect();
        match results.is_empty() {
            false => results,
            true => Results::from(ResultItem::new(Severity::Info, "no images changed")),
        }
    }
}

struct ImageLocation {
    resource: ResourceRef,
    file: File,
}

impl ImageLocation {
    fn of(resource: &Resource) -> ImageLocation {
        let (path, index) = resource.file_place();
        ImageLocation {
            resource: resource_ref(resource.root()),
            file: File {
                path: path.to_owned(),
                index: index.parse().unwrap_or_default(),
            },
        }
    }
}

static SET_IMAGE: StructShape = StructShape {
    go_type: "main.SetImage",
    fields: &[
        FieldShape::new("image", ConfigShape::Struct(&IMAGE)),
        FieldShape::new("additionalImageFields", FieldSpec::NAMED_SHAPE),
    ],
};

static IMAGE: StructShape = StructShape {
    go_type: "types.Image",
    fields: &[
        FieldShape::new("name", ConfigShape::Text),
        FieldShape::new("newName", ConfigShape::Text),
        FieldShape::new("newTag", ConfigShape::Text),
        FieldShape::new("digest", ConfigShape::Text),
    ],
};
