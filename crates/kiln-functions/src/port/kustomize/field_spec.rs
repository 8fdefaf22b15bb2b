//! kustomize's field specs and their paths.

use std::borrow::Cow;

use kiln_krm::Resource;

use super::decode::{ConfigShape, ConfigValue, FieldShape, StructShape};

/// A field of the resources of a type. Empty parts of the type match anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FieldSpec {
    pub(crate) group: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
    pub(crate) kind: Cow<'static, str>,
    /// `spec/template/metadata/annotations`; `[]` after a name marks a list, `\/` is a slash in a name.
    pub(crate) path: Cow<'static, str>,
    /// Whether a missing field is created.
    pub(crate) create: bool,
}

impl FieldSpec {
    /// The type of field specs in configurations.
    pub(crate) const SHAPE: ConfigShape = ConfigShape::List(&ConfigShape::Struct(&SHAPE));

    /// The same where the list is a named type.
    pub(crate) const NAMED_SHAPE: ConfigShape =
        ConfigShape::NamedList("types.FsSlice", &ConfigShape::Struct(&SHAPE));

    pub(crate) const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        path: &'static str,
        creation: bool,
    ) -> FieldSpec {
        FieldSpec {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            path: Cow::Borrowed(path),
            create: creation,
        }
    }

    /// The specs of a configuration field; `None` if it is missing.
    pub(crate) fn list(value: Option<&ConfigValue>) -> Option<Vec<FieldSpec>> {
        let items = value?.items()?;
        Some(items.iter().map(FieldSpec::read).collect())
    }

    fn read(value: &ConfigValue) -> FieldSpec {
        let text = |key| Cow::Owned(value.field_text(key).to_owned());
        FieldSpec {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            path: text("path"),
            create: value.field_flag("create"),
        }
    }

    /// Whether the resource has the type.
    pub(crate) fn selects(&self, resource: &Resource) -> bool {
        let (group, version) = group_version(resource.api_version());
        let fits = |wanted: &str, given: &str| wanted.is_empty() || wanted == given;
        fits(&self.kind, resource.kind())
            && fits(&self.group, group)
            && fits(&self.version, version)
    }
}

/// `apiVersion` as group and version.
pub(super) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The elements of a path. A backslash escapes the delimiter.
pub(crate) fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let mut elements: Vec<String> = Vec::new();
    for part in path.split(delimiter) {
        match elements.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            _ => elements.push(part.to_owned()),
        }
    }
    elements
}

const fn of_type(name: &'static str) -> FieldShape {
    FieldShape {
        name,
        embedded_in: Some("Gvk"),
        shape: ConfigShape::Text,
    }
}

static SHAPE: StructShape = StructShape {
    go_type: "types.FieldSpec",
    fields: &[
        of_type("group"),
        of_type("version"),
        of_type("kind"),
        FieldShape::new("path", ConfigShape::Text),
        FieldShape::new("create", ConfigShape::Bool),
    ],
};
