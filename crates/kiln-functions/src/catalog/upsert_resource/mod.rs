//! upsert-resource: replaces the resources with the same identity, or appends a new resource.

use std::collections::{BTreeMap, BTreeSet};

use kiln_krm::Resource;
use kiln_krm::annotations::{
    FUNCTION, FamilyError, INDEX, LEGACY_FUNCTION, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PATH,
    Snapshot, follow_changes, mirror,
};
use kiln_yaml::{Document, EditError, NodeRef};

use crate::function::{Context, Ending, Function, FunctionList, ListHeads};
use crate::port::kyaml::{
    KyamlRelease, MissingMetadata, annotation_map, families, set_annotation_map,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice);

pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "upsert-resource",
    former_names: &[],
    summary: "Replaces the resource with the same identity, or adds a new one",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            SDK,
            &UpsertResource {
                inserts: Inserts::One,
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["v0.2.0"],
            SDK,
            &UpsertResource {
                inserts: Inserts::Several,
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["v0.2.1", "unstable", "latest"],
            SDK,
            &UpsertResource {
                inserts: Inserts::Several,
                kyaml: KyamlRelease::V0_13,
            },
        ),
    ],
};

/// The annotation with the file of a resource.
const TARGET_PATH: &str = "config.kubernetes.io/target-path";

struct UpsertResource {
    inserts: Inserts,
    kyaml: KyamlRelease,
}

/// The form of the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inserts {
    /// One resource, compared without its group.
    One,
    /// One resource or a list, each for the file that it names.
    Several,
}

#[derive(Debug, thiserror::Error)]
enum UpsertError {
    #[error("failed to upsert resource: {0}")]
    MissingMetadata(#[from] MissingMetadata),
    #[error("failed to upsert resource: {0}")]
    Edit(#[from] EditError),
    #[error(transparent)]
    AnnotationFamilies(#[from] FamilyError),
}

impl Function for UpsertResource {
    fn list_heads(&self) -> ListHeads {
        match self.kyaml {
            KyamlRelease::V0_10 => ListHeads::ItemOrFirstField,
            KyamlRelease::V0_12 | KyamlRelease::V0_13 => ListHeads::Own,
        }
    }

    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        match self.run_on(list, ctx) {
            Ok(ending) => ending,
            Err(error) => Ending::Error(error.to_string()),
        }
    }
}

impl UpsertResource {
    fn run_on(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Result<Ending, UpsertError> {
        let families = match self.kyaml {
            KyamlRelease::V0_10 | KyamlRelease::V0_12 => None,
            KyamlRelease::V0_13 => Some(families(&list.items)?),
        };
        let mut touched = BTreeSet::new();
        let mut outcome = Ok(());
        let inserted = self.inserted(list.config.as_ref())?;
        let snapshot = snapshot(&inserted, &list.items);
        for resource in inserted {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            outcome = self.upsert(&mut list.items, &resource, &mut touched);
            if outcome.is_err() {
                break;
            }
        }
        if let Some(families) = families {
            for place in touched {
                if let Some(resource) = list.items.get_mut(place) {
                    mirror(resource)?;
                    follow_changes(resource, &snapshot)?;
                    families.adapt(resource)?;
                    resource.remove_annotation(MIGRATION_ID)?;
                }
            }
        }
        outcome.map(|()| Ending::Success)
    }

    fn inserted(&self, config: Option<&Document>) -> Result<Vec<Resource>, UpsertError> {
        let config = config.ok_or(MissingMetadata)?;
        let root = config.root();
        let resource = |node: NodeRef<'_>| Resource::new(Document::from_node(node));
        let one = resource(root);
        if one.meta().is_missing {
            return Err(MissingMetadata.into());
        }
        match (self.inserts, one.kind()) {
            (Inserts::Several, "List") => {
                let items = root.get("items").into_iter();
                Ok(items.flat_map(NodeRef::children).map(resource).collect())
            }
            _ => Ok(vec![one]),
        }
    }

    /// Replaces or appends a resource, and returns the indices.
    fn upsert(
        &self,
        items: &mut Vec<Resource>,
        new: &Resource,
        touched: &mut BTreeSet<usize>,
    ) -> Result<(), UpsertError> {
        let is_missing = |resource: &Resource| resource.meta().is_missing;
        // Later releases number all items, which gives them metadata.
        let counts_items = self.kyaml != KyamlRelease::V0_13;
        if is_missing(new) || counts_items && items.iter().any(is_missing) {
            return Err(MissingMetadata.into());
        }
        let finish = |annotations: &BTreeMap<String, String>| {
            let mut resource = new.clone();
            set_annotation_map(resource.document_mut(), annotations, self.kyaml)?;
            Ok::<Resource, EditError>(resource)
        };
        let (path, index) = match self.kyaml {
            KyamlRelease::V0_10 => (LEGACY_PATH, LEGACY_INDEX),
            KyamlRelease::V0_12 | KyamlRelease::V0_13 => (PATH, INDEX),
        };
        let mut annotations = annotation_map(new);
        let target_path = match self.inserts {
            Inserts::One => None,
            Inserts::Several => annotations.remove(TARGET_PATH),
        };
        let target_path = target_path.unwrap_or_default();
        for key in [FUNCTION, LEGACY_FUNCTION] {
            annotations.remove(key);
        }
        let mut is_replaced = false;
        for (place, old) in items.iter_mut().enumerate() {
            let value = |key| old.annotation(key).unwrap_or_default().to_owned();
            let is_function = [FUNCTION, LEGACY_FUNCTION]
                .iter()
                .any(|key| !value(key).is_empty());
            let is_elsewhere = !target_path.is_empty() && value(path) != target_path;
            if is_function || is_elsewhere || !self.is_same(old, new) {
                continue;
            }
            for key in [path, index] {
                annotations.insert(key.to_owned(), value(key));
            }
            *old = finish(&annotations)?.with_origin(old.origin().cloned());
            touched.insert(place);
            is_replaced = true;
        }
        if !is_replaced {
            annotations.remove(path);
            annotations.remove(index);
            if !target_path.is_empty() {
                annotations.insert(path.to_owned(), target_path);
            }
            touched.insert(items.len());
            items.push(finish(&annotations)?);
        }
        Ok(())
    }

    fn is_same(&self, one: &Resource, other: &Resource) -> bool {
        let (one, other) = (one.id(), other.id());
        let has_same_group = self.inserts == Inserts::One || one.gvk.group == other.gvk.group;
        has_same_group
            && one.gvk.kind == other.gvk.kind
            && one.name == other.name
            && one.namespace == other.namespace
    }
}

/// The path annotations of the resources that share their migration id with an inserted one.
///
/// A configuration that is part of the package has the id and the path of its own resource. The framework takes a
/// different path for the function's output.
fn snapshot(inserted: &[Resource], items: &[Resource]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for resource in inserted {
        let id = resource.annotation(MIGRATION_ID).unwrap_or_default();
        // The framework numbers the items again, by their index.
        let place = id
            .parse()
            .ok()
            .filter(|place: &usize| place.to_string() == id);
        if let Some(item) = place.and_then(|place| items.get(place)) {
            snapshot.remember(id, item);
        }
    }
    snapshot
}
