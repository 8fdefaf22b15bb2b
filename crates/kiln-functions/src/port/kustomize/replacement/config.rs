//! Replacements in configurations.

use super::super::decode::{ConfigShape, ConfigValue, FieldShape, StructShape};
use super::super::resource_id::{ResourceId, id_field};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) source: Option<ReplacementSource>,
    /// A literal value instead of a source.
    pub(crate) source_value: Option<String>,
    pub(crate) targets: Option<Vec<ReplacementTarget>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReplacementSource {
    pub(crate) id: ResourceId,
    pub(crate) field_path: String,
    pub(crate) options: Option<Options>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReplacementTarget {
    pub(crate) select: Option<Selector>,
    pub(crate) reject: Vec<Selector>,
    field_paths: Vec<String>,
    pub(crate) options: Option<Options>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) id: ResourceId,
    pub(crate) annotations: String,
    pub(crate) labels: String,
}

/// The part of a field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
}

impl Replacement {
    /// The replacements in a configuration field.
    pub(crate) fn list(value: Option<&ConfigValue>) -> Vec<Replacement> {
        let items = value.and_then(ConfigValue::items).unwrap_or_default();
        items.iter().map(Replacement::read).collect()
    }

    fn read(value: &ConfigValue) -> Replacement {
        let targets = value.field("targets").and_then(ConfigValue::items);
        Replacement {
            source: value.field("source").map(|source| ReplacementSource {
                id: ResourceId::read(source),
                field_path: source.field_text("fieldPath").to_owned(),
                options: Options::read(source),
            }),
            source_value: match value.field("sourceValue") {
                Some(ConfigValue::Text(text)) => Some(text.clone()),
                _ => None,
            },
            targets: targets.map(|targets| targets.iter().map(ReplacementTarget::read).collect()),
        }
    }
}

impl ReplacementSource {
    /// The selector in the format of messages, with this field.
    pub(crate) fn text(&self, field: &str) -> String {
        let mut text = self.id.text();
        if !field.is_empty() {
            text = format!("{text}:{field}");
        }
        match &self.options {
            Some(options) if !options.delimiter.is_empty() || options.create => format!(
                "{text}:{}({}), create={}",
                options.delimiter, options.index, options.create
            ),
            _ => text,
        }
    }
}

impl ReplacementTarget {
    /// The paths of the fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        let default = self.field_paths.is_empty().then_some(super::DEFAULT_FIELD);
        self.field_paths.iter().map(String::as_str).chain(default)
    }

    fn read(value: &ConfigValue) -> ReplacementTarget {
        let list = |key| {
            value
                .field(key)
                .and_then(ConfigValue::items)
                .unwrap_or_default()
        };
        let text = |value: &ConfigValue| value.clone().into_text();
        ReplacementTarget {
            select: value.field("select").map(Selector::read),
            reject: list("reject").iter().map(Selector::read).collect(),
            field_paths: list("fieldPaths").iter().map(text).collect(),
            options: Options::read(value),
        }
    }
}

impl Selector {
    fn read(value: &ConfigValue) -> Selector {
        Selector {
            id: ResourceId::read(value),
            annotations: value.field_text("annotationSelector").to_owned(),
            labels: value.field_text("labelSelector").to_owned(),
        }
    }
}

impl Options {
    fn read(value: &ConfigValue) -> Option<Options> {
        let options = value.field("options")?;
        Some(Options {
            delimiter: options.field_text("delimiter").to_owned(),
            index: options.field_int("index"),
            create: options.field_flag("create"),
        })
    }
}

/// The type of the field with replacements. Older releases ignore `sourceValue`.
pub(crate) const SHAPE: ConfigShape = ConfigShape::List(&ConfigShape::Struct(&REPLACEMENT));

static REPLACEMENT: StructShape = StructShape {
    go_type: "types.Replacement",
    fields: &[
        FieldShape::new("source", ConfigShape::Pointer(&SOURCE)),
        FieldShape::new("sourceValue", ConfigShape::Text),
        FieldShape::new("targets", ConfigShape::List(&ConfigShape::Pointer(&TARGET))),
    ],
};

static SOURCE: StructShape = StructShape {
    go_type: "types.SourceSelector",
    fields: &[
        id_field("group", "ResId.Gvk"),
        id_field("version", "ResId.Gvk"),
        id_field("kind", "ResId.Gvk"),
        id_field("name", "ResId"),
        id_field("namespace", "ResId"),
        FieldShape::new("fieldPath", ConfigShape::Text),
        FieldShape::new("options", ConfigShape::Pointer(&OPTIONS)),
    ],
};

static TARGET: StructShape = StructShape {
    go_type: "types.TargetSelector",
    fields: &[
        FieldShape::new("select", ConfigShape::Pointer(&SELECTOR)),
        FieldShape::new(
            "reject",
            ConfigShape::List(&ConfigShape::Pointer(&SELECTOR)),
        ),
        FieldShape::new("fieldPaths", ConfigShape::List(&ConfigShape::Text)),
        FieldShape::new("options", ConfigShape::Pointer(&OPTIONS)),
    ],
};

static SELECTOR: StructShape = StructShape {
    go_type: "types.Selector",
    fields: &[
        id_field("group", "ResId.Gvk"),
        id_field("version", "ResId.Gvk"),
        id_field("kind", "ResId.Gvk"),
        id_field("name", "ResId"),
        id_field("namespace", "ResId"),
        FieldShape::new("annotationSelector", ConfigShape::Text),
        FieldShape::new("labelSelector", ConfigShape::Text),
    ],
};

static OPTIONS: StructShape = StructShape {
    go_type: "types.FieldOptions",
    fields: &[
        FieldShape::new("delimiter", ConfigShape::Text),
        FieldShape::new("index", ConfigShape::Int),
        FieldShape::new("encoding", ConfigShape::Text),
        FieldShape::new("create", ConfigShape::Bool),
    ],
};
