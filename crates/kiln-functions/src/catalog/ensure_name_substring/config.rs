//! Which substring names must contain, and in which fields.

use kiln_krm::Resource;
use kiln_yaml::Document;

use crate::port::kustomize::decode::{
    ConfigShape, ConfigValue, DecodeError, FieldShape, StructShape, YamlReader, decode,
};
use crate::port::kustomize::{FieldSpec, MapError, ResourceMarks, check_metadata};

pub(super) struct EnsureNameSubstringConfig {
    pub(super) substring: String,
    pub(super) mode: Mode,
    /// Fields with names, in addition to the default one.
    pub(super) additional: Vec<FieldSpec>,
}

/// Where the substring goes if it is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Prepend,
    Append,
    /// Ignored. The original accepts any string as a mode.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum EnsureNameSubstringConfigError {
    #[error("substring must not be empty")]
    Empty,
    #[error(transparent)]
    Metadata(#[from] MapError),
    #[error(
        "function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: {0}"
    )]
    Kind(String),
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Type(#[from] DecodeError),
    #[error("only 1 entry is allowed in the ConfigMap, but got: {0}")]
    Entries(usize),
    #[error("unknown editMode: {0}, only prepend and append are allowed")]
    Mode(String),
    #[error("`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`")]
    BothFields,
}

impl EnsureNameSubstringConfig {
    pub(super) fn read(
        config: Option<&Document>,
    ) -> Result<EnsureNameSubstringConfig, EnsureNameSubstringConfigError> {
        let Some(document) = config.filter(|config| !config.root().is_null()) else {
            return Err(EnsureNameSubstringConfigError::Empty);
        };
        let resource = Resource::new(document.clone());
        check_metadata(&resource, ResourceMarks::Nothing, 0)?;
        let config = match (resource.api_version(), resource.kind()) {
            ("v1", "ConfigMap") => {
                from_map(&decode(document, &CONFIG_MAP, YamlReader::Kubernetes)?)?
            }
            ("fn.kpt.dev/v1alpha1", "EnsureNameSubstring") => {
                typed(&decode(document, &TYPED, YamlReader::Kubernetes)?)?
            }
            (api_version, kind) => {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                let text = format!("{group}/{version}, Kind={kind}");
                return Err(EnsureNameSubstringConfigError::Kind(text));
            }
        };
        match config.substring.is_empty() {
            true => Err(EnsureNameSubstringConfigError::Empty),
            false => Ok(config),
        }
    }

    /// A name with the substring added.
    pub(super) fn extend(&self, name: &str) -> String {
        match self.mode {
            Mode::Prepend => format!("{}{name}", self.substring),
            Mode::Append => format!("{name}{}", self.substring),
            Mode::Unknown => name.to_owned(),
        }
    }
}

fn from_map(
    value: &ConfigValue,
) -> Result<EnsureNameSubstringConfig, EnsureNameSubstringConfigError> {
    let data = value.field_map("data");
    let count = data.len();
    let mut entries = data.into_iter();
    let (Some((mode, substring)), None) = (entries.next(), entries.next()) else {
        return Err(EnsureNameSubstringConfigError::Entries(count));
    };
    Ok(EnsureNameSubstringConfig {
        substring,
        mode: match mode.as_str() {
            "prepend" => Mode::Prepend,
            "append" => Mode::Append,
            _ => return Err(EnsureNameSubstringConfigError::Mode(mode)),
        },
        additional: Vec::new(),
    })
}

fn typed(value: &ConfigValue) -> Result<EnsureNameSubstringConfig, EnsureNameSubstringConfigError> {
    let substring = value.field_text("substring").to_owned();
    let additional = FieldSpec::list(value.field("additionalNameFields"));
    let additional = match (additional, FieldSpec::list(value.field("fieldSpecs"))) {
        (Some(_), Some(_)) if !substring.is_empty() => {
            return Err(EnsureNameSubstringConfigError::BothFields);
        }
        (additional, former) => additional.or(former).unwrap_or_default(),
    };
    Ok(EnsureNameSubstringConfig {
        substring,
        mode: match value.field_text("editMode") {
            "" | "prepend" => Mode::Prepend,
            "append" => Mode::Append,
            _ => Mode::Unknown,
        },
        additional,
    })
}

static CONFIG_MAP: StructShape = StructShape {
    go_type: "v1.ConfigMap",
    fields: &[
        FieldShape::new("metadata", ConfigShape::Struct(&METADATA)),
        FieldShape::new("immutable", ConfigShape::Bool),
        FieldShape::new("data", ConfigShape::TextMap),
    ],
};

static METADATA: StructShape = StructShape {
    go_type: "v1.ObjectMeta",
    fields: &[
        FieldShape::new("name", ConfigShape::Text),
        FieldShape::new("namespace", ConfigShape::Text),
        FieldShape::new("labels", ConfigShape::TextMap),
        FieldShape::new("annotations", ConfigShape::TextMap),
    ],
};

static TYPED: StructShape = StructShape {
    go_type: "main.EnsureNameSubstring",
    fields: &[
        FieldShape::new("substring", ConfigShape::Text),
        FieldShape::new("editMode", ConfigShape::Text),
        FieldShape::new("fieldSpecs", FieldSpec::SHAPE),
        FieldShape::new("additionalNameFields", FieldSpec::SHAPE),
    ],
};
