//! generate-folders: a Folder of Config Connector for every folder of a ResourceHierarchy.
//!
//! Newer hierarchies are trees with subtrees that may be used several times; the oldest ones have layers, each with the
//! same folders below every folder of the layer above.

mod folder;
mod info;
mod layers;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use info::INFO;

use folder::Source;
use kiln_krm::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_krm::results::{File, ResourceRef, ResultItem};
use kiln_yaml::NodeRef;
use tree::TreeError;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::typescript_sdk::{Exception, Objects, in_step};

/// The function, in all its versions.
struct GenerateFolders(Order);

/// Whether folders say in what order they are to be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// They do not.
    Unsaid,
    /// By an annotation, if they are in a namespace.
    DependsOn,
}

/// How a hierarchy names the parents of its folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum References {
    /// By fields.
    Fields,
    /// By annotations, before v1alpha3.
    Annotations,
}

impl Function for GenerateFolders {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        if let Err(stopped) = ctx.check() {
            return stopped.into();
        }
        // The SDK writes neither back.
        list.config = None;
        list.results.clear();
        let results = &mut list.results;
        let items = std::mem::take(&mut list.items);
        let outcome = Objects::new(items).and_then(|mut objects| {
            in_step(&mut objects, |objects| self.generate(objects, results))?;
            Ok(objects)
        });
        match outcome {
            Err(exception) => exception.into(),
            Ok(objects) => {
                list.items = objects.into_items();
                list.unsettled = (0..list.items.len()).collect();
                let has_failed = list.results.iter().any(|result| result.severity == "error");
                match has_failed {
                    true => Ending::Exit {
                        code: 1,
                        stderr: String::new(),
                    },
                    false => Ending::Success,
                }
            }
        }
    }
}

impl GenerateFolders {
    fn generate(&self, objects: &mut Objects, results: &mut Results) -> Result<(), Exception> {
        let of_type = |objects: &Objects, api_version: &str| -> Vec<kiln_krm::Resource> {
            let is_wanted = |object: &&kiln_krm::Resource| {
                let text = |key| object.root().get(key).map(NodeRef::value);
                text("apiVersion") == Some(api_version) && text("kind") == Some("ResourceHierarchy")
            };
            objects.iter().filter(is_wanted).cloned().collect()
        };
        for hierarchy in of_type(objects, "cft.dev/v1alpha1") {
            results.push(older(hierarchy.root()));
            match layers::folders(hierarchy.root())? {
                Ok(folders) => folders.into_iter().try_for_each(|it| objects.insert(it))?,
                Err(result) => results.push(result),
            }
        }
        let newer = of_type(objects, "blueprints.cloud.google.com/v1alpha3");
        let older_ones = of_type(objects, "cft.dev/v1alpha2");
        let newer = newer.into_iter().map(|it| (it, References::Fields));
        let older_ones = older_ones
            .into_iter()
            .map(|it| (it, References::Annotations));
        for (hierarchy, references) in newer.chain(older_ones) {
            let root = hierarchy.root();
            if references == References::Annotations {
                results.push(older(root));
            }
            let source = match Source::of(root, references, self.0)? {
                Ok(source) => source,
                Err(problem) => {
                    results.push(about(root, "error", &problem));
                    continue;
                }
            };
            match tree::folders(root, &source) {
                Ok(folders) => folders.into_iter().try_for_each(|it| objects.insert(it))?,
                Err(TreeError::MissingSubtree(name)) => {
                    let problem = format!("references non-existent subtree \"{name}\"");
                    results.push(about(root, "error", &problem));
                }
                Err(TreeError::Exception(exception)) => return Err(exception),
            }
        }
        Ok(())
    }
}

fn older(hierarchy: NodeRef<'_>) -> ResultItem {
    let problem = "references an older Resource Hierarchy GroupVersion. Latest GroupVersion is \
                   blueprints.cloud.google.com/v1alpha3.";
    about(hierarchy, "warn", problem)
}

/// A result about a hierarchy.
fn about(hierarchy: NodeRef<'_>, severity: &str, problem: &str) -> ResultItem {
    let metadata = hierarchy.get("metadata");
    let text = |node: Option<NodeRef<'_>>| node.map(NodeRef::value).unwrap_or_default().to_owned();
    let field = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    let annotation = |keys: [&str; 2]| {
        let texts = keys.map(|key| text(annotations.and_then(|all| all.get(key))));
        texts.into_iter().find(|text| !text.is_empty())
    };
    let index = annotation([INDEX, LEGACY_INDEX]).and_then(|text| text.parse().ok());
    let name = field("name");
    ResultItem {
        message: format!("ResourceHierarchy {name} {problem}"),
        severity: severity.to_owned(),
        resource_ref: Some(ResourceRef {
            api_version: text(hierarchy.get("apiVersion")),
            kind: text(hierarchy.get("kind")),
            name,
            namespace: field("namespace"),
        }),
        file: Some(File {
            path: annotation([PATH, LEGACY_PATH]).unwrap_or_default(),
            index: index.unwrap_or_default(),
        }),
        ..ResultItem::default()
    }
}
