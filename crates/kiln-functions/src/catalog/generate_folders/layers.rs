//! The oldest hierarchies: layers, each with the same folders below every folder of the layer above.

use kiln_krm::Resource;
use kiln_yaml::NodeRef;

use super::folder::{FolderSource, field};
use super::{HierarchyError, Order, References};
use crate::budget::is_stopped;
use crate::port::typescript_sdk::{Exception, JsType, js_type};

/// The limit of folders: their number is the product of the sizes of all layers.
const MAX_FOLDERS: usize = 200_000;

/// All folders of a hierarchy, parents before children.
pub(super) fn folders(hierarchy: NodeRef<'_>) -> Result<Vec<Resource>, HierarchyError> {
    let spec = hierarchy.get("spec");
    let layers = field(spec, "layers")?;
    let organization = spec.and_then(|spec| spec.get("organization"));
    let source = FolderSource {
        references: References::Annotations,
        order: Order::Unspecified,
        parent: organization.map_or("undefined", NodeRef::value).to_owned(),
        is_organization: true,
        namespace: field(hierarchy.get("metadata"), "namespace")?,
        annotations: Vec::new(),
    };
    let Some(layers) = layers.filter(|layers| js_type(*layers) == JsType::Array) else {
        return Err(Exception::no_property("length", "undefined").into());
    };
    let layers: Vec<NodeRef<'_>> = layers.items().collect();
    let config = spec.and_then(|spec| spec.get("config"));
    let mut folders = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let first = enter(&layers, 0, config)?;
    let mut open: Vec<_> = first.into_iter().map(Vec::into_iter).collect();
    while let Some(names) = open.last_mut() {
        let Some(name) = names.next() else {
            open.pop();
            path.pop();
            continue;
        };
        if is_stopped() {
            break;
        }
        folders.push(source.folder(Some(name.value()), Some(name), &path));
        if folders.len() > MAX_FOLDERS {
            return Err(Exception("RangeError: too many folders".to_owned()).into());
        }
        if let Some(names) = enter(&layers, open.len(), config)? {
            path.push(name.value());
            open.push(names.into_iter());
        }
    }
    Ok(folders)
}

/// The folders of a layer, if the layer exists.
fn enter<'a>(
    layers: &[NodeRef<'a>],
    depth: usize,
    config: Option<NodeRef<'a>>,
) -> Result<Option<Vec<NodeRef<'a>>>, HierarchyError> {
    let Some(layer) = layers.get(depth).map(|layer| layer.value()) else {
        return Ok(None);
    };
    let Some(folders) = field(config, layer)? else {
        return Err(HierarchyError::MissingLayer(layer.to_owned()));
    };
    match js_type(folders) {
        JsType::Array => Ok(Some(folders.items().collect())),
        _ => Err(Exception::type_error("folders is not iterable").into()),
    }
}
