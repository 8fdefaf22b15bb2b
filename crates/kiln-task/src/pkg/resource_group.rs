//! The inventory of a package: a ResourceGroup in a file of its own.

use kiln_krm::EditableText;
use kiln_krm::kptfile::{FILE_NAME, Kptfile, KptfileError};
use kiln_yaml::{Document, SequenceStyle};

use super::PkgRules;
use super::kptfile::read;
use crate::contents::Contents;

/// The identity of a new inventory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewInventory {
    pub name: String,
    pub namespace: String,
    pub id: String,
}

/// Whether existing inventories are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExistingInventory {
    Refuse,
    Replace,
}

#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    #[error(
        "Inventory information has already been added to the package Kptfile object. Please consider migrating to a standalone resourcegroup object using the 'kpt live migrate' command."
    )]
    InKptfile,
    #[error(
        "Inventory information has already been added to the package ResourceGroup object. Changing it after a package has been applied to the cluster can lead to undesired results. Use the --force flag to suppress this error."
    )]
    InResourceGroup,
    #[error(transparent)]
    Kptfile(#[from] KptfileError),
}

/// The files to write: the ResourceGroup, and the Kptfile if an inventory is removed from it.
pub fn resource_group(
    contents: &Contents,
    file: &str,
    inventory: &NewInventory,
    existing: ExistingInventory,
    shown: &str,
    rules: PkgRules,
) -> Result<Vec<(String, Vec<u8>)>, InventoryError> {
    let mut files = Vec::new();
    if let Some(text) = contents.bytes(FILE_NAME) {
        let kptfile = read(contents, "", shown)?;
        if kptfile.inventory.is_some() {
            if existing == ExistingInventory::Refuse {
                return Err(InventoryError::InKptfile);
            }
            files.push((
                FILE_NAME.to_owned(),
                without_inventory(text, kptfile, rules),
            ));
        }
    }
    if contents.get(file).is_some() && existing == ExistingInventory::Refuse {
        return Err(InventoryError::InResourceGroup);
    }
    files.push((file.to_owned(), text_of(inventory).into_bytes()));
    Ok(files)
}

fn text_of(inventory: &NewInventory) -> String {
    let mut document = Document::new_mapping();
    let fields: [(&[&str], &str); 5] = [
        (&["apiVersion"], "kpt.dev/v1alpha1"),
        (&["kind"], "ResourceGroup"),
        (&["metadata", "name"], &inventory.name),
        (&["metadata", "namespace"], &inventory.namespace),
        (
            &["metadata", "labels", "cli-utils.sigs.k8s.io/inventory-id"],
            &inventory.id,
        ),
    ];
    for (path, value) in fields {
        // A new tree takes any field.
        let _ = document.root_mut().set_string(path, value);
    }
    kiln_yaml::to_string(&document, SequenceStyle::Wide)
}

fn without_inventory(text: &[u8], mut kptfile: Kptfile, rules: PkgRules) -> Vec<u8> {
    if rules == PkgRules::Kiln
        && let Some(mut editable) = EditableText::read_kptfile(text)
    {
        // The field exists.
        let _ = editable.document_mut().root_mut().remove(&["inventory"]);
        return editable.changed().unwrap_or_else(|| text.to_vec());
    }
    kptfile.inventory = None;
    kptfile.to_struct_yaml().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(kptfile: &str, existing: ExistingInventory) -> Result<String, InventoryError> {
        let mut contents = Contents::new();
        contents
            .insert_text(FILE_NAME, kptfile)
            .expect("a good path");
        let inventory = NewInventory {
            name: "inv".to_owned(),
            namespace: "ns".to_owned(),
            id: "1".to_owned(),
        };
        let files = resource_group(
            &contents,
            "rg.yaml",
            &inventory,
            existing,
            "p",
            PkgRules::Kiln,
        )?;
        let texts = files
            .into_iter()
            .map(|(path, text)| format!("{path}: {}", String::from_utf8_lossy(&text)));
        Ok(texts.collect())
    }

    #[test]
    fn the_inventory_moves_from_the_kptfile() {
        let head = "apiVersion: kpt.dev/v1 # v\nkind: Kptfile\nmetadata:\n  name: p\n";
        let group = "rg.yaml: apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n  name: inv\n  namespace: ns\n  labels:\n    cli-utils.sigs.k8s.io/inventory-id: \"1\"\n";
        assert_eq!(
            files(head, ExistingInventory::Refuse).expect("it is new"),
            group
        );
        let old = format!("{head}inventory:\n  name: old\n  namespace: ns\n  inventoryID: x\n");
        let refused = files(&old, ExistingInventory::Refuse);
        assert!(matches!(refused, Err(InventoryError::InKptfile)));
        let replaced = files(&old, ExistingInventory::Replace).expect("it is replaced");
        assert_eq!(replaced, format!("Kptfile: {head}{group}"));
    }
}
