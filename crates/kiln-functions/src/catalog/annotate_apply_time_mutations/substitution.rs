//! What is put where, and the resource of the kind ApplyTimeMutation that says so for another one.
//!
//! Of metadata only texts, labels and annotations are looked at.

use kiln_krm::Resource;

use crate::port::kustomize::decode::{
    DecodeError, FieldShape, Reader, Shape, StructShape, Value, decode,
};

/// One value that goes from one resource to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Substitution {
    pub(super) source: Reference,
    pub(super) source_path: String,
    pub(super) target_path: String,
    /// What is replaced in the target; all of it if empty.
    pub(super) token: String,
}

/// A resource, with the group or with group and version.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub(super) struct Reference {
    pub(super) api_version: String,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
}

/// A resource that says what another one gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declaration {
    pub(super) target: Reference,
    pub(super) substitutions: Vec<Substitution>,
}

static DECLARATION: StructShape = StructShape {
    name: "ApplyTimeMutation",
    go_type: "pkg.ApplyTimeMutation",
    fields: &[
        FieldShape::new("metadata", Shape::Struct(&METADATA)),
        FieldShape::new("spec", Shape::Struct(&SPEC)),
    ],
};

static METADATA: StructShape = StructShape {
    name: "ObjectMeta",
    go_type: "v1.ObjectMeta",
    fields: &[
        FieldShape::new("annotations", Shape::TextMap),
        FieldShape::new("clusterName", Shape::Text),
        FieldShape::new("finalizers", Shape::List(&Shape::Text)),
        FieldShape::new("generateName", Shape::Text),
        FieldShape::new("labels", Shape::TextMap),
        FieldShape::new("name", Shape::Text),
        FieldShape::new("namespace", Shape::Text),
        FieldShape::new("resourceVersion", Shape::Text),
        FieldShape::new("selfLink", Shape::Text),
    ],
};

static SPEC: StructShape = StructShape {
    name: "ApplyTimeMutationSpec",
    go_type: "pkg.ApplyTimeMutationSpec",
    fields: &[
        FieldShape::new(
            "substitutions",
            Shape::NamedList("mutation.ApplyTimeMutation", &Shape::Struct(&SUBSTITUTION)),
        ),
        FieldShape::new("targetRef", Shape::Struct(&REFERENCE)),
    ],
};

static SUBSTITUTION: StructShape = StructShape {
    name: "FieldSubstitution",
    go_type: "mutation.FieldSubstitution",
    fields: &[
        FieldShape::new("sourcePath", Shape::Text),
        FieldShape::new("sourceRef", Shape::Struct(&REFERENCE)),
        FieldShape::new("targetPath", Shape::Text),
        FieldShape::new("token", Shape::Text),
    ],
};

static REFERENCE: StructShape = StructShape {
    name: "ResourceReference",
    go_type: "mutation.ResourceReference",
    fields: &[
        FieldShape::new("apiVersion", Shape::Text),
        FieldShape::new("group", Shape::Text),
        FieldShape::new("kind", Shape::Text),
        FieldShape::new("name", Shape::Text),
        FieldShape::new("namespace", Shape::Text),
    ],
};

/// A resource that was meant to say what another one gets, and does not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "failed to parse ApplyTimeMutation object: error unmarshaling JSON: while decoding JSON: {0}"
)]
pub(super) struct DeclarationError(#[from] DecodeError);

impl Declaration {
    /// What a resource says, if it is one that says such things.
    pub(super) fn read(resource: &Resource) -> Result<Option<Declaration>, DeclarationError> {
        let is_one = resource.kind() == "ApplyTimeMutation"
            && resource.api_version() == "fn.kpt.dev/v1alpha1";
        if !is_one {
            return Ok(None);
        }
        let value = decode(resource.document(), &DECLARATION, Reader::Kubernetes)?;
        let spec = value.field("spec").unwrap_or(&Value::Null);
        let substitutions = spec.field("substitutions").and_then(Value::items);
        Ok(Some(Declaration {
            target: reference(spec.field("targetRef")),
            substitutions: substitutions
                .unwrap_or_default()
                .iter()
                .map(substitution)
                .collect(),
        }))
    }
}

fn substitution(value: &Value) -> Substitution {
    let text = |name| value.field_text(name).to_owned();
    Substitution {
        source: reference(value.field("sourceRef")),
        source_path: text("sourcePath"),
        target_path: text("targetPath"),
        token: text("token"),
    }
}

fn reference(value: Option<&Value>) -> Reference {
    let text = |name| value.map(|value| value.field_text(name).to_owned());
    let text = |name| text(name).unwrap_or_default();
    Reference {
        api_version: text("apiVersion"),
        group: text("group"),
        kind: text("kind"),
        name: text("name"),
        namespace: text("namespace"),
    }
}

impl Reference {
    /// The two references that a resource answers to: with its version, and with its group alone.
    pub(super) fn to_resource(resource: &Resource) -> [Reference; 2] {
        let without_type = Reference {
            kind: resource.kind().to_owned(),
            name: resource.name().to_owned(),
            namespace: resource.namespace().to_owned(),
            ..Reference::default()
        };
        let api_version = resource.api_version();
        // What has more than one slash is no version at all, and has no group.
        let group = match api_version.split_once('/') {
            Some((group, version)) if !version.contains('/') => group,
            _ => "",
        };
        [
            Reference {
                api_version: api_version.to_owned(),
                ..without_type.clone()
            },
            Reference {
                group: group.to_owned(),
                ..without_type
            },
        ]
    }
}
