//! A resource's type and metadata as kyaml reads them off the tree.
//!
//! These are views on a node: nothing is copied or checked. The first of duplicate keys counts.
//! Values that are null, `{}` or `[]` count as missing.

use kiln_yaml::NodeRef;

/// Annotation: the file a resource belongs to, relative to the package.
pub const PATH: &str = "internal.config.kubernetes.io/path";
/// Annotation: the older spelling of [`PATH`].
pub const LEGACY_PATH: &str = "config.kubernetes.io/path";
/// Annotation: a resource's index among the documents of its file.
pub const INDEX: &str = "internal.config.kubernetes.io/index";
/// Annotation: the older spelling of [`INDEX`].
pub const LEGACY_INDEX: &str = "config.kubernetes.io/index";
/// Annotation: the package a resource belongs to while a tree of packages is rendered.
pub const PACKAGE_PATH: &str = "internal.config.kubernetes.io/package-path";

/// What identifies a resource; empty where not given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meta<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    pub namespace: &'a str,
    /// Whether type, name, namespace, labels and annotations are all missing.
    pub is_missing: bool,
}

impl<'a> Meta<'a> {
    /// Reads what identifies a resource.
    pub fn of(resource: NodeRef<'a>) -> Meta<'a> {
        if resource.is_null() {
            return Meta::default();
        }
        let [api_version, kind, metadata] =
            several_given(resource, ["apiVersion", "kind", "metadata"]);
        let field = |key| metadata.and_then(|metadata| given(metadata, key));
        let [name, namespace] = metadata.map_or([None; 2], |metadata| {
            several_given(metadata, ["name", "namespace"])
        });
        let text = |node: Option<NodeRef<'a>>| node.map(NodeRef::value).unwrap_or_default();
        Meta {
            api_version: text(api_version),
            kind: text(kind),
            name: text(name),
            namespace: text(namespace),
            is_missing: api_version.is_none()
                && kind.is_none()
                && name.is_none()
                && namespace.is_none()
                && field("labels").is_none()
                && field("annotations").is_none(),
        }
    }
}

/// The text of an annotation; empty if it is null.
pub fn annotation<'a>(resource: NodeRef<'a>, key: &str) -> Option<&'a str> {
    let annotations = given(given(resource, "metadata")?, "annotations")?;
    let value = annotations.get(key)?;
    Some(value.as_text().unwrap_or_default())
}

/// The texts of several annotations, each as [`annotation`] gives it, in one pass.
pub fn several_annotations<'a, const N: usize>(
    resource: NodeRef<'a>,
    keys: [&str; N],
) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    let mut missing = N;
    let metadata = given(resource, "metadata");
    let annotations = metadata.and_then(|metadata| given(metadata, "annotations"));
    for (candidate, value) in annotations.into_iter().flat_map(NodeRef::entries) {
        if !candidate.is_scalar() {
            continue;
        }
        let place = candidate.value_among(&keys);
        if let Some(slot) = place.and_then(|place| found.get_mut(place))
            && slot.is_none()
        {
            *slot = Some(value.as_text().unwrap_or_default());
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    found
}

/// A resource's path and index annotations, the newer family first; empty if missing.
pub fn file_place<'a>(resource: NodeRef<'a>) -> (&'a str, &'a str) {
    let keys = [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX];
    let [path, legacy_path, index, legacy_index] = several_annotations(resource, keys);
    (
        path.or(legacy_path).unwrap_or_default(),
        index.or(legacy_index).unwrap_or_default(),
    )
}

/// The value of a key, unless it is null or an empty collection.
pub(crate) fn given<'a>(mapping: NodeRef<'a>, key: &str) -> Option<NodeRef<'a>> {
    mapping.get(key).filter(|value| is_given(*value))
}

/// The values of several keys, each as [`given`] finds it, in one pass that ends with the last of them.
fn several_given<'a, const N: usize>(
    mapping: NodeRef<'a>,
    keys: [&str; N],
) -> [Option<NodeRef<'a>>; N] {
    let mut found = [None; N];
    let mut missing = N;
    for (candidate, value) in mapping.entries() {
        if !candidate.is_scalar() {
            continue;
        }
        let place = candidate.value_among(&keys);
        if let Some(slot) = place.and_then(|place| found.get_mut(place))
            && slot.is_none()
        {
            *slot = Some(value);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
    found.map(|value| value.filter(|value| is_given(*value)))
}

fn is_given(value: NodeRef<'_>) -> bool {
    let is_empty_collection = (value.is_mapping() || value.is_sequence()) && value.is_empty();
    !value.is_null() && !is_empty_collection
}
