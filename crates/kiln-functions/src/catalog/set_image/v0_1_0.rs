//! The function in versions 0.1.0 and 0.1.1: kustomize's filter of that time, with a result for each image.
//!
//! All resources go through JSON. Where the original tells in which line of its input a configuration is wrong, this one
//! does not: lines are not known any more.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::results::{Field, File, ResourceRef, ResultItem, Severity};
use kiln_yaml::{Document, NodeId, NodeRef};
use regex::Regex;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::go_sdk::{field, resource_ref, text};
use crate::port::kustomize::decode::{
    DecodeError, FieldShape, Reader, Shape, StructShape, Value, decode,
};
use crate::port::kustomize::{
    Creation, FieldPath, FieldSpec, FilterError, Generation, Image, apply_spec, expect_scalar,
    through_json,
};

/// The function, by what it does when it fails.
pub(super) struct SetImage(pub(super) Edition);

/// The releases, as far as they differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edition {
    /// Reports errors, and succeeds.
    First,
    /// Fails without a word, except where a type is wrong.
    Second,
}

const GENERATION: Generation = Generation::January2022;

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

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
enum ConfigError {
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

impl Function for SetImage {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        // Its SDK does not look at the results of others.
        list.results.clear();
        let (image, additional) = match read(list.config.as_ref(), self.0) {
            Ok(config) => config,
            Err(error) => return self.refuse(list, &error),
        };
        let mut setter = Setter {
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
}

impl SetImage {
    fn refuse(&self, list: &mut FunctionList, error: &ConfigError) -> Ending {
        let is_of_wrong_type = matches!(error, ConfigError::Data(_) | ConfigError::Type(_));
        if self.0 == Edition::First || !is_of_wrong_type {
            return self.fail(list, error.to_string());
        }
        let field = match error {
            ConfigError::Data(_) => "data",
            _ => "",
        };
        // The backquote is never closed.
        let message = format!("SubObject has unmatched field type: `{field}");
        list.report(Severity::Error, message);
        SILENT_FAILURE
    }

    fn fail(&self, list: &mut FunctionList, error: String) -> Ending {
        match self.0 {
            Edition::First => {
                list.report(Severity::Error, error);
                Ending::Success
            }
            Edition::Second => SILENT_FAILURE,
        }
    }
}

const SILENT_FAILURE: Ending = Ending::Exit {
    code: 1,
    stderr: String::new(),
};

fn read(
    config: Option<&Document>,
    edition: Edition,
) -> Result<(Image, Vec<FieldSpec>), ConfigError> {
    let Some(document) = config else {
        return Err(ConfigError::Kind);
    };
    let root = document.root();
    let (image, additional) = match (text(root, &["apiVersion"]), text(root, &["kind"])) {
        ("v1", "ConfigMap") => match field(root, "data") {
            Some(data) => (from_data(data)?, Vec::new()),
            None if edition == Edition::First => return Err(ConfigError::NoData),
            None => (Image::default(), Vec::new()),
        },
        ("fn.kpt.dev/v1alpha1", "SetImage") => {
            let value = decode(document, &SET_IMAGE, Reader::Json).map_err(ConfigError::Type)?;
            let additional = FieldSpec::list(value.field("additionalImageFields"));
            (from_value(&value), additional.unwrap_or_default())
        }
        _ => return Err(ConfigError::Kind),
    };
    let is_changed = [&image.new_name, &image.new_tag, &image.digest];
    if image.name.is_empty() {
        Err(ConfigError::Name)
    } else if is_changed.iter().all(|part| part.is_empty()) {
        Err(ConfigError::Change)
    } else if !image.new_tag.is_empty() && !image.digest.is_empty() {
        Err(ConfigError::Both)
    } else {
        Ok((image, additional))
    }
}

/// The image of a ConfigMap, as go-yaml decodes it: any scalar is a text, and what is not known is not looked at.
fn from_data(data: NodeRef<'_>) -> Result<Image, ConfigError> {
    if !data.is_mapping() {
        let variant = match data.is_sequence() {
            true => "sliceVariant",
            false => "scalarVariant",
        };
        let error = format!("wrong type, got: *fnsdk.{variant}");
        return Err(ConfigError::Data(error));
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
            return Err(ConfigError::Data(error));
        }
        if !value.is_null() {
            *field = value.value().to_owned();
        }
    }
    Ok(image)
}

fn from_value(value: &Value) -> Image {
    let nothing = Value::Null;
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

/// Sets images, and notes which became which.
struct Setter<'s> {
    image: &'s Image,
    expression: Option<Regex>,
    /// By what the original sorts its results by.
    set: BTreeMap<(String, i64, String), Vec<ResultItem>>,
}

impl Setter<'_> {
    /// A resource with its images set, as it comes out of JSON.
    fn apply(
        &mut self,
        resource: &Resource,
        specs: &[&FieldSpec],
    ) -> Result<Document, FilterError> {
        let about = About::of(resource);
        through_json(resource.document(), |document| {
            if resource.kind() == "CustomResourceDefinition" {
                return Ok(());
            }
            for spec in specs.iter().filter(|spec| spec.selects(resource)) {
                let mut set = |document: &mut Document, node, path: FieldPath<'_>| {
                    self.set_image(document, node, path, &about)
                };
                apply_spec(document, spec, Creation::Never, GENERATION, &mut set)?;
            }
            Ok(())
        })
    }

    fn set_image(
        &mut self,
        document: &mut Document,
        node: NodeId,
        path: FieldPath<'_>,
        about: &About,
    ) -> Result<(), FilterError> {
        expect_scalar(document, node, path, GENERATION)?;
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

    fn note(&mut self, path: String, before: String, after: String, about: &About) {
        // It is kept twice: to be sorted by, and as a result.
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
        // What the original compares is this text.
        let text = format!(
            "&{{{{{api_version} {kind}}} {{{name} {namespace}}}}},field:&{{{path} {before} {after}}},message:{message}"
        );
        let result = ResultItem {
            message,
            severity: Severity::Info.as_str().to_owned(),
            resource_ref: Some(about.resource.clone()),
            field: Some(Field {
                path,
                current_value: before,
                proposed_value: after,
            }),
            file: Some(about.file.clone()),
            ..ResultItem::default()
        };
        let place = (about.file.path.clone(), about.file.index, text);
        self.set.entry(place).or_default().push(result);
    }

    fn into_results(self) -> Results {
        let results: Results = self.set.into_values().flatten().collect();
        match results.is_empty() {
            false => results,
            true => Results::from(ResultItem {
                message: "no images changed".to_owned(),
                severity: Severity::Info.as_str().to_owned(),
                ..ResultItem::default()
            }),
        }
    }
}

/// What results say of the resource that an image is in.
struct About {
    resource: ResourceRef,
    file: File,
}

impl About {
    fn of(resource: &Resource) -> About {
        let (path, index) = resource.file_place();
        About {
            resource: resource_ref(resource.root()),
            file: File {
                path: path.to_owned(),
                index: index.parse().unwrap_or_default(),
            },
        }
    }
}

static SET_IMAGE: StructShape = StructShape {
    name: "SetImage",
    go_type: "main.SetImage",
    fields: &[
        FieldShape::new("image", Shape::Struct(&IMAGE)),
        FieldShape::new("additionalImageFields", FieldSpec::NAMED_SHAPE),
    ],
};

static IMAGE: StructShape = StructShape {
    name: "Image",
    go_type: "types.Image",
    fields: &[
        FieldShape::new("name", Shape::Text),
        FieldShape::new("newName", Shape::Text),
        FieldShape::new("newTag", Shape::Text),
        FieldShape::new("digest", Shape::Text),
    ],
};
