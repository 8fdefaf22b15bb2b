//! generate-folders: generates a Folder of Config Connector for every folder of a ResourceHierarchy.
//!
//! Newer hierarchies are trees with subtrees that may be used several times; the oldest ones have layers, each with
//! the same folders below every folder of the layer above.

mod folder;
mod layers;
#[cfg(test)]
mod tests;
mod tree;

use folder::FolderSource;
use kiln_krm::Resource;
use kiln_krm::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use kiln_krm::results::{File, ResourceRef, ResultItem, Severity};
use kiln_yaml::NodeRef;

use crate::function::{Context, Ending, Function, FunctionList};
use crate::output::Results;
use crate::port::typescript_sdk::{Exception, Objects, in_step};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::Sdk;

/// A port to Go was written but never released: `latest` is still the original.
pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "generate-folders",
    former_names: &[],
    summary: "Generates the folders of a Google Cloud organization from a hierarchy",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.1"],
            Sdk::Plain,
            &GenerateFolders(Order::Unspecified),
        ),
        FunctionVersion::new(
            &["unstable", "latest"],
            Sdk::Plain,
            &GenerateFolders(Order::DependsOn),
        ),
    ],
};

struct GenerateFolders(Order);

/// Whether folders declare the order in which they are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Unspecified,
    /// With `depends-on`, for folders in a namespace.
    DependsOn,
}

/// How a hierarchy refers to the parents of its folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum References {
    Fields,
    /// Before v1alpha3.
    Annotations,
}

/// Why a hierarchy has no folders. The messages are the original's.
#[derive(Debug, thiserror::Error)]
enum HierarchyError {
    #[error("has an undefined parentRef")]
    UndefinedParent,
    #[error("has an unsupported parentRef kind")]
    UnsupportedParentKind,
    #[error("references non-existent subtree \"{0}\"")]
    MissingSubtree(String),
    #[error(
        "Layer \"{0}\" has no corresponding entry config entry. Either\n      add to spec.config.{0} or \
         remove it from spec.layers\n      "
    )]
    MissingLayer(String),
    /// Ends the function; all others are results.
    #[error(transparent)]
    Exception(#[from] Exception),
}

impl Function for GenerateFolders {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        if let Err(stopped) = ctx.check() {
            return stopped.into();
        }
        // The SDK writes neither of them.
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
        let of_type = |objects: &Objects, api_version: &str| -> Vec<Resource> {
            let is_wanted = |object: &&Resource| {
                let text = |key| object.root().get(key).map(NodeRef::value);
                text("apiVersion") == Some(api_version) && text("kind") == Some("ResourceHierarchy")
            };
            objects.iter().filter(is_wanted).cloned().collect()
        };
        for hierarchy in of_type(objects, "cft.dev/v1alpha1") {
            let root = hierarchy.root();
            results.push(older(root));
            add(objects, results, root, layers::folders(root))?;
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
            let source = FolderSource::of(root, references, self.0);
            let folders = source.and_then(|source| tree::folders(root, &source));
            add(objects, results, root, folders)?;
        }
        Ok(())
    }
}

/// Adds the folders of a hierarchy, or a result about its error.
fn add(
    objects: &mut Objects,
    results: &mut Results,
    hierarchy: NodeRef<'_>,
    folders: Result<Vec<Resource>, HierarchyError>,
) -> Result<(), Exception> {
    match folders {
        Ok(folders) => return folders.into_iter().try_for_each(|it| objects.insert(it)),
        Err(HierarchyError::Exception(exception)) => return Err(exception),
        Err(error @ HierarchyError::MissingLayer(_)) => {
            results.push(ResultItem::new(Severity::Error, error.to_string()))
        }
        Err(error) => results.push(about(hierarchy, "error", &error.to_string())),
    }
    Ok(())
}

fn older(hierarchy: NodeRef<'_>) -> ResultItem {
    let problem = "references an older Resource Hierarchy GroupVersion. Latest GroupVersion is \
                   blueprints.cloud.google.com/v1alpha3.";
    about(hierarchy, "warn", problem)
}

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
