//! The oldest hierarchies: layers, each with the same folders below every folder of the layer above.

use kiln_krm::Resource;
use kiln_krm::results::{ResultItem, Severity};
use kiln_yaml::NodeRef;

use super::folder::{Source, field};
use super::{Order, References};
use crate::budget::is_stopped;
use crate::port::typescript_sdk::{Exception, JsType, js_type};

/// How many folders there may be: their number is the product of the sizes of all layers.
const MAX_FOLDERS: usize = 200_000;

/// All folders of a hierarchy, parents before children; or what is wrong with it.
pub(super) fn folders(
    hierarchy: NodeRef<'_>,
) -> Result<Result<Vec<Resource>, ResultItem>, Exception> {
    let spec = hierarchy.get("spec");
    let layers = field(spec, "layers")?;
    let organization = spec.and_then(|spec| spec.get("organization"));
    let source = Source {
        references: References::Annotations,
        order: Order::Unsaid,
        parent: organization.map_or("undefined", NodeRef::value).to_owned(),
        is_organization: true,
        namespace: field(hierarchy.get("metadata"), "namespace")?,
        annotations: Vec::new(),
    };
    let Some(layers) = layers.filter(|layers| js_type(*layers) == JsType::Array) else {
        return Err(Exception::no_property("length", "undefined"));
    };
    let layers: Vec<NodeRef<'_>> = layers.items().collect();
    let config = spec.and_then(|spec| spec.get("config"));
    let mut folders = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut open = Vec::new();
    match enter(&layers, 0, config)? {
        Some(Ok(names)) => open.push(names.into_iter()),
        Some(Err(problem)) => return Ok(Err(problem)),
        None => {}
    }
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
            return Err(Exception("RangeError: too many folders".to_owned()));
        }
        match enter(&layers, open.len(), config)? {
            Some(Ok(names)) => {
                path.push(name.value());
                open.push(names.into_iter());
            }
            Some(Err(problem)) => return Ok(Err(problem)),
            None => {}
        }
    }
    Ok(Ok(folders))
}

/// The folders of a layer, if there is such a layer.
fn enter<'a>(
    layers: &[NodeRef<'a>],
    depth: usize,
    config: Option<NodeRef<'a>>,
) -> Result<Option<Result<Vec<NodeRef<'a>>, ResultItem>>, Exception> {
    let Some(layer) = layers.get(depth).map(|layer| layer.value()) else {
        return Ok(None);
    };
    let Some(folders) = field(config, layer)? else {
        let message = format!(
            "Layer \"{layer}\" has no corresponding entry config entry. Either\n      add to spec.config.{layer} or \
             remove it from spec.layers\n      "
        );
        return Ok(Some(Err(ResultItem {
            message,
            severity: Severity::Error.as_str().to_owned(),
            ..ResultItem::default()
        })));
    };
    match js_type(folders) {
        JsType::Array => Ok(Some(Ok(folders.items().collect()))),
        _ => Err(Exception::type_error("folders is not iterable")),
    }
}
