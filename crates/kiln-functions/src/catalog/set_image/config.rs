//! The images to change, and their new names, tags and digests.

use kiln_krm::meta::Meta;
use kiln_yaml::{Document, NodeRef};

use crate::port::kustomize::decode::{
    ConfigShape, ConfigValue, DecodeError, FieldShape, StructShape, YamlReader, decode,
};
use crate::port::kustomize::{FieldSpec, Image};

#[derive(Default)]
pub(super) struct SetImageConfig {
    pub(super) image: Image,
    pub(super) additional: Option<Vec<FieldSpec>>,
    /// An unknown field of a ConfigMap.
    pub(super) unknown: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum SetImageConfigError {
    #[error("unknown FunctionConfig `{0}`, expect `SetImage.fn.kpt.dev` or `ConfigMap.v1`")]
    Kind(String),
    #[error("unable to convert object to *transformer.SetImage with error: {0}")]
    Type(DecodeError),
    #[error(
        "Resource(apiVersion=, kind=ConfigMap) has unmatched field type \"map[string]string\" in fieldpath .data"
    )]
    Data,
}

impl SetImageConfig {
    /// Reads a configuration; `None` if it is empty.
    pub(super) fn read(
        config: Option<&Document>,
    ) -> Result<Option<SetImageConfig>, SetImageConfigError> {
        let Some(document) = config.filter(|config| !config.root().is_empty()) else {
            return Ok(None);
        };
        let meta = Meta::of(document.root());
        let group = meta
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        match (group, meta.kind) {
            ("", "ConfigMap") => {
                let data = document.root().get("data").filter(|data| !data.is_null());
                let is_nothing = data.is_some_and(|data| data.is_mapping() && data.is_empty());
                if meta.name == "function-input" && is_nothing {
                    return Ok(None);
                }
                let Some(data) = data else {
                    return Ok(Some(SetImageConfig::default()));
                };
                match data.is_mapping() {
                    true => Ok(Some(SetImageConfig::of_data(data))),
                    false => Err(SetImageConfigError::Data),
                }
            }
            ("fn.kpt.dev", "SetImage") => {
                let value = decode(document, &SET_IMAGE, YamlReader::Json)
                    .map_err(SetImageConfigError::Type)?;
                Ok(Some(SetImageConfig::typed(&value)))
            }
            _ => Err(SetImageConfigError::Kind(match group {
                "" => meta.kind.to_owned(),
                group => format!("{}.{group}", meta.kind),
            })),
        }
    }

    pub(super) fn of_data(data: NodeRef<'_>) -> SetImageConfig {
        let mut config = SetImageConfig::default();
        for (key, value) in data.entries().filter(|(_, value)| value.is_scalar()) {
            config.set(key.value(), value.as_text().unwrap_or_default());
        }
        config
    }

    /// The error if the configuration is incomplete.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let image = &self.image;
        let is_changed = [&image.new_name, &image.new_tag, &image.digest];
        match image.name.as_str() {
            "" => Some("must specify `name`"),
            _ if is_changed.iter().all(|part| part.is_empty()) => {
                Some("must specify one of `newName`, `newTag`, or `digest`")
            }
            _ => None,
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let field = match key {
            "name" => &mut self.image.name,
            "newName" => &mut self.image.new_name,
            "newTag" => &mut self.image.new_tag,
            "digest" => &mut self.image.digest,
            unknown => {
                self.unknown.get_or_insert_with(|| unknown.to_owned());
                return;
            }
        };
        *field = value.to_owned();
    }

    pub(super) fn typed(value: &ConfigValue) -> SetImageConfig {
        let nothing = ConfigValue::Null;
        let image = value.field("image").unwrap_or(&nothing);
        let text = |key| image.field_text(key).to_owned();
        let mut config = SetImageConfig {
            image: Image {
                name: text("name"),
                new_name: text("newName"),
                tag_suffix: text("tagSuffix"),
                new_tag: text("newTag"),
                digest: text("digest"),
            },
            additional: FieldSpec::list(value.field("additionalImageFields")),
            unknown: None,
        };
        for (key, value) in value.field_map("data") {
            config.set(&key, &value);
        }
        config
    }
}

pub(super) static SET_IMAGE: StructShape = StructShape {
    go_type: "transformer.SetImage",
    fields: &[
        FieldShape::new("image", ConfigShape::Struct(&IMAGE)),
        FieldShape::new("data", ConfigShape::TextMap),
        FieldShape::new("additionalImageFields", FieldSpec::NAMED_SHAPE),
    ],
};

static IMAGE: StructShape = StructShape {
    go_type: "types.Image",
    fields: &[
        FieldShape::new("name", ConfigShape::Text),
        FieldShape::new("newName", ConfigShape::Text),
        FieldShape::new("tagSuffix", ConfigShape::Text),
        FieldShape::new("newTag", ConfigShape::Text),
        FieldShape::new("digest", ConfigShape::Text),
    ],
};
