//! Substitutions, and the resource of kind ApplyTimeMutation that declares them for another resource.
//!
//! Of metadata only strings, labels and annotations are checked.

use kiln_krm::Resource;

use crate::port::kustomize::decode::{
    ConfigShape, ConfigValue, DecodeError, FieldShape, StructShape, YamlReader, decode,
};

/// One value that is copied from one resource to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Substitution {
    pub(super) source: MutationReference,
    pub(super) source_path: String,
    pub(super) target_path: String,
    /// The text that is replaced in the target; the whole value if empty.
    pub(super) token: String,
}

/// A reference to a resource, by group or by apiVersion.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub(super) struct MutationReference {
    pub(super) api_version: String,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
}

/// A resource that declares substitutions for another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declaration {
    pub(super) target: MutationReference,
    pub(super) substitutions: Vec<Substitution>,
}

static DECLARATION: StructShape = StructShape {
    go_type: "pkg.ApplyTimeMutation",
    fields: &[
        FieldShape::new("metadata", ConfigShape::Struct(&METADATA)),
        FieldShape::new("spec", ConfigShape::Struct(&SPEC)),
    ],
};

static METADATA: StructShape = StructShape {
    go_type: "v1.ObjectMeta",
    fields: &[
        FieldShape::new("annotations", ConfigShape::TextMap),
        FieldShape::new("clusterName", ConfigShape::Text),
        FieldShape::new("finalizers", ConfigShape::List(&ConfigShape::Text)),
        FieldShape::new("generateName", ConfigShape::Text),
        FieldShape::new("labels", ConfigShape::TextMap),
        FieldShape::new("name", ConfigShape::Text),
        FieldShape::new("namespace", ConfigShape::Text),
        FieldShape::new("resourceVersion", ConfigShape::Text),
        FieldShape::new("selfLink", ConfigShape::Text),
    ],
};

static SPEC: StructShape = StructShape {
    go_type: "pkg.ApplyTimeMutationSpec",
    fields: &[
        FieldShape::new(
            "substitutions",
            ConfigShape::NamedList(
                "mutation.ApplyTimeMutation",
                &ConfigShape::Struct(&SUBSTITUTION),
            ),
        ),
        FieldShape::new("targetRef", ConfigShape::Struct(&REFERENCE)),
    ],
};

static SUBSTITUTION: StructShape = StructShape {
    go_type: "mutation.FieldSubstitution",
    fields: &[
        FieldShape::new("sourcePath", ConfigShape::Text),
        FieldShape::new("sourceRef", ConfigShape::Struct(&REFERENCE)),
        FieldShape::new("targetPath", ConfigShape::Text),
        FieldShape::new("token", ConfigShape::Text),
    ],
};

static REFERENCE: StructShape = StructShape {
    go_type: "mutation.ResourceReference",
    fields: &[
        FieldShape::new("apiVersion", ConfigShape::Text),
        FieldShape::new("group", ConfigShape::Text),
        FieldShape::new("kind", ConfigShape::Text),
        FieldShape::new("name", ConfigShape::Text),
        FieldShape::new("namespace", ConfigShape::Text),
    ],
};

/// A resource of that kind that cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "failed to parse ApplyTimeMutation object: error unmarshaling JSON: while decoding JSON: {0}"
)]
pub(super) struct DeclarationError(#[from] DecodeError);

impl Declaration {
    /// Reads a resource; `None` if it is not of that kind.
    pub(super) fn read(resource: &Resource) -> Result<Option<Declaration>, DeclarationError> {
        let is_one = resource.kind() == "ApplyTimeMutation"
            && resource.api_version() == "fn.kpt.dev/v1alpha1";
        if !is_one {
            return Ok(None);
        }
        let value = decode(resource.document(), &DECLARATION, YamlReader::Kubernetes)?;
        let spec = value.field("spec").unwrap_or(&ConfigValue::Null);
        let substitutions = spec.field("substitutions").and_then(ConfigValue::items);
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

fn substitution(value: &ConfigValue) -> Substitution {
    let text = |name| value.field_text(name).to_owned();
    Substitution {
        source: reference(value.field("sourceRef")),
        source_path: text("sourcePath"),
        target_path: text("targetPath"),
        token: text("token"),
    }
}

fn reference(value: Option<&ConfigValue>) -> MutationReference {
    let text = |name| value.map(|value| value.field_text(name).to_owned());
    let text = |name| text(name).unwrap_or_default();
    MutationReference {
        api_version: text("apiVersion"),
        group: text("group"),
        kind: text("kind"),
        name: text("name"),
        namespace: text("namespace"),
    }
}

impl MutationReference {
    /// The two references that match a resource: by its apiVersion, and by its group.
    pub(super) fn to_resource(resource: &Resource) -> [MutationReference; 2] {
        let without_type = MutationReference {
            kind: resource.kind().to_owned(),
            name: resource.name().to_owned(),
            namespace: resource.namespace().to_owned(),
            ..MutationReference::default()
        };
        let api_version = resource.api_version();
        // An apiVersion with more than one slash is invalid and has no group.
        let group = match api_version.split_once('/') {
            Some((group, version)) if !version.contains('/') => group,
            _ => "",
        };
        [
            MutationReference {
                api_version: api_version.to_owned(),
                ..without_type.clone()
            },
            MutationReference {
                group: group.to_owned(),
                ..without_type
            },
        ]
    }
}
