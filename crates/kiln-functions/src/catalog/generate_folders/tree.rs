//! Newer hierarchies: lists of names, and of names with lists or subtrees below.

use std::collections::HashMap;

use kiln_krm::Resource;
use kiln_yaml::NodeRef;

use super::HierarchyError;
use super::folder::{FolderSource, field};
use crate::budget::is_stopped;
use crate::port::typescript_sdk::{Exception, JsType, js_type};

/// The limit of folders: a subtree may be used any number of times, also by other subtrees.
const MAX_FOLDERS: usize = 200_000;

/// All folders of a hierarchy, parents before children.
pub(super) fn folders(
    hierarchy: NodeRef<'_>,
    source: &FolderSource<'_>,
) -> Result<Vec<Resource>, HierarchyError> {
    let spec = hierarchy.get("spec");
    let mut tree = FolderTree::default();
    let mut subtrees = HashMap::new();
    let declared = field(spec, "subtrees")?.into_iter();
    for (name, children) in declared.flat_map(NodeRef::entries) {
        let subtree = tree.build(Some(children), &subtrees)?;
        subtrees.insert(name.value(), subtree);
    }
    let root = tree.build(field(spec, "config")?, &subtrees)?;
    tree.folders(root, source)
}

/// Nodes by number; lists of children may be shared.
#[derive(Default)]
struct FolderTree<'a> {
    lists: Vec<Vec<FolderNode<'a>>>,
}

#[derive(Clone, Copy)]
struct FolderNode<'a> {
    /// `None` for invalid entries.
    name: Option<&'a str>,
    /// The list of its children.
    below: Option<usize>,
}

impl<'a> FolderTree<'a> {
    /// Builds the list at a node of a hierarchy, and all lists below it, depth first.
    fn build(
        &mut self,
        children: Option<NodeRef<'a>>,
        subtrees: &HashMap<&str, usize>,
    ) -> Result<usize, HierarchyError> {
        let children = children.filter(|children| js_type(*children) == JsType::Array);
        let Some(children) = children else {
            return Err(Exception::type_error("children is not iterable").into());
        };
        let top = self.new_list();
        let mut open = vec![(top, children.children())];
        while let Some((list, children)) = open.last_mut() {
            let list = *list;
            let Some(child) = children.next() else {
                open.pop();
                continue;
            };
            let Some((name, value)) = name_and_value(child) else {
                continue;
            };
            let below = match value.map(|value| (value, js_type(value))) {
                Some((value, JsType::Array)) => {
                    let below = self.new_list();
                    open.push((below, value.children()));
                    Some(below)
                }
                Some((value, JsType::Object | JsType::Null | JsType::Date)) => {
                    let subtree = field(Some(value), "$subtree")?;
                    let name = subtree.map(NodeRef::value).unwrap_or_default();
                    let missing = || HierarchyError::MissingSubtree(name.to_owned());
                    Some(*subtrees.get(name).ok_or_else(missing)?)
                }
                _ => None,
            };
            if let Some(list) = self.lists.get_mut(list) {
                list.push(FolderNode { name, below });
            }
        }
        Ok(top)
    }

    fn new_list(&mut self) -> usize {
        self.lists.push(Vec::new());
        self.lists.len() - 1
    }

    fn folders(
        &self,
        root: usize,
        source: &FolderSource<'_>,
    ) -> Result<Vec<Resource>, HierarchyError> {
        let children = |list: usize| self.lists.get(list).map(|list| list.iter());
        let mut folders = Vec::new();
        let mut path: Vec<&str> = Vec::new();
        let mut open: Vec<_> = children(root).into_iter().collect();
        while let Some(list) = open.last_mut() {
            let Some(node) = list.next() else {
                open.pop();
                path.pop();
                continue;
            };
            if is_stopped() {
                break;
            }
            folders.push(source.folder(node.name, None, &path));
            if folders.len() > MAX_FOLDERS {
                let text = "RangeError: too many folders";
                return Err(Exception(text.to_owned()).into());
            }
            if let Some(below) = node.below.and_then(children) {
                path.push(node.name.unwrap_or_default());
                open.push(below);
            }
        }
        Ok(folders)
    }
}

/// The name of a folder, and the value below it. Numbers and booleans are not folders.
fn name_and_value(child: NodeRef<'_>) -> Option<(Option<&str>, Option<NodeRef<'_>>)> {
    let first = match js_type(child) {
        JsType::String => return Some((Some(child.value()), None)),
        JsType::Object => child
            .entries()
            .next()
            .map(|(key, value)| (key.value(), value)),
        JsType::Array => child.items().next().map(|first| ("0", first)),
        JsType::Date => None,
        JsType::Null | JsType::Boolean | JsType::Number => return None,
    };
    Some(first.map_or((None, None), |(name, value)| (Some(name), Some(value))))
}
