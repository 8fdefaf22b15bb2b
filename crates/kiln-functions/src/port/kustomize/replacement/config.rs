//! Replacements as configurations write them.

use super::super::decode::{FieldShape, Shape, StructShape, Value};
use super::super::resource_id::{ResourceId, id_field};

/// One value and where it goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) source: Option<Source>,
    /// A value without a source.
    pub(crate) source_value: Option<String>,
    pub(crate) targets: Option<Vec<Target>>,
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Source {
    pub(crate) id: ResourceId,
    pub(crate) field_path: String,
    pub(crate) options: Option<Options>,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Target {
    pub(crate) select: Option<Selector>,
    pub(crate) reject: Vec<Selector>,
    field_paths: Vec<String>,
    pub(crate) options: Option<Options>,
}

/// Which resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) id: ResourceId,
    pub(crate) annotations: String,
    pub(crate) labels: String,
}

/// Which part of a field.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
}

impl Replacement {
    /// The replacements of a configuration's field.
    pub(crate) fn list(value: Option<&Value>) -> Vec<Replacement> {
        let items = value.and_then(Value::items).unwrap_or_default();
        items.iter().map(Replacement::read).collect()
    }

    fn read(value: &Value) -> Replacement {
        let targets = value.field("targets").and_then(Value::items);
        Replacement {
            source: value.field("source").map(|source| Source {
                id: ResourceId::read(source),
                field_path: source.field_text("fieldPath").to_owned(),
                options: Options::read(source),
            }),
            source_value: match value.field("sourceValue") {
                Some(Value::Text(text)) => Some(text.clone()),
                _ => None,
            },
            targets: targets.map(|targets| targets.iter().map(Target::read).collect()),
        }
    }
}

impl Source {
    /// The selector as it is printed, with this field.
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

impl Target {
    /// The paths of the fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        let default = self.field_paths.is_empty().then_some(super::DEFAULT_FIELD);
        self.field_paths.iter().map(String::as_str).chain(default)
    }

    fn read(value: &Value) -> Target {
        let list = |key| value.field(key).and_then(Value::items).unwrap_or_default();
        let text = |value: &Value| value.clone().into_text();
        Target {
            select: value.field("select").map(Selector::read),
            reject: list("reject").iter().map(Selector::read).collect(),
            field_paths: list("fieldPaths").iter().map(text).collect(),
            options: Options::read(value),
        }
    }
}

impl Selector {
    fn read(value: &Value) -> Selector {
        Selector {
            id: ResourceId::read(value),
            annotations: value.field_text("annotationSelector").to_owned(),
            labels: value.field_text("labelSelector").to_owned(),
        }
    }
}

impl Options {
    fn read(value: &Value) -> Option<Options> {
        let options = value.field("options")?;
        Some(Options {
            delimiter: options.field_text("delimiter").to_owned(),
            index: options.field_int("index"),
            create: options.field_flag("create"),
        })
    }
}

/// The type of the field that holds replacements. Older releases do not know `sourceValue` and ignore it.
pub(crate) const SHAPE: Shape = Shape::List(&Shape::Struct(&REPLACEMENT));

static REPLACEMENT: StructShape = StructShape {
    name: "Replacement",
    go_type: "types.Replacement",
    fields: &[
        FieldShape::new("source", Shape::Pointer(&SOURCE)),
        FieldShape::new("sourceValue", Shape::Text),
        FieldShape::new("targets", Shape::List(&Shape::Pointer(&TARGET))),
    ],
};

static SOURCE: StructShape = StructShape {
    name: "SourceSelector",
    go_type: "types.SourceSelector",
    fields: &[
        id_field("group", "ResId.Gvk"),
        id_field("version", "ResId.Gvk"),
        id_field("kind", "ResId.Gvk"),
        id_field("name", "ResId"),
        id_field("namespace", "ResId"),
        FieldShape::new("fieldPath", Shape::Text),
        FieldShape::new("options", Shape::Pointer(&OPTIONS)),
    ],
};

static TARGET: StructShape = StructShape {
    name: "TargetSelector",
    go_type: "types.TargetSelector",
    fields: &[
        FieldShape::new("select", Shape::Pointer(&SELECTOR)),
        FieldShape::new("reject", Shape::List(&Shape::Pointer(&SELECTOR))),
        FieldShape::new("fieldPaths", Shape::List(&Shape::Text)),
        FieldShape::new("options", Shape::Pointer(&OPTIONS)),
    ],
};

static SELECTOR: StructShape = StructShape {
    name: "Selector",
    go_type: "types.Selector",
    fields: &[
        id_field("group", "ResId.Gvk"),
        id_field("version", "ResId.Gvk"),
        id_field("kind", "ResId.Gvk"),
        id_field("name", "ResId"),
        id_field("namespace", "ResId"),
        FieldShape::new("annotationSelector", Shape::Text),
        FieldShape::new("labelSelector", Shape::Text),
    ],
};

static OPTIONS: StructShape = StructShape {
    name: "FieldOptions",
    go_type: "types.FieldOptions",
    fields: &[
        FieldShape::new("delimiter", Shape::Text),
        FieldShape::new("index", Shape::Int),
        FieldShape::new("encoding", Shape::Text),
        FieldShape::new("create", Shape::Bool),
    ],
};
