//! The setters of a package: the values that its pipelines pass to apply-setters.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use kiln_krm::image::ImageRef;
use kiln_krm::kptfile::{FILE_NAME, Function};
use kiln_krm::package::FileSource;
use kiln_krm::{EditableText, paths};
use kiln_yaml::NodeId;

use crate::package::kptfiles;

/// A value that a package can be configured by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setter {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The setters of a package and its sub-packages, sorted by name. The value of the topmost package counts.
pub(crate) fn setters(files: &dyn FileSource) -> Result<Vec<Setter>> {
    let mut values = BTreeMap::new();
    for place in places(files) {
        for (name, value) in place.values(files)? {
            values.entry(name).or_insert(value);
        }
    }
    let setters = values.into_iter();
    Ok(setters
        .map(|(name, value)| Setter { name, value })
        .collect())
}

/// The files of a package in which setters have other values, by path. Names that no pipeline has are not written.
pub(crate) fn override_setters(
    files: &dyn FileSource,
    values: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut replaced: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for place in places(files) {
        let known = place.values(files)?;
        let mut wanted = values.iter().filter(|(name, _)| known.contains_key(*name));
        let Some(first) = wanted.next() else {
            continue;
        };
        let bytes = match replaced.remove(&place.file) {
            Some(bytes) => bytes,
            None => files.read(&place.file)?,
        };
        let mut text = place.read(&bytes)?;
        let map = place.map(&text);
        let map = map.with_context(|| format!("{}: no setters", place.file))?;
        let document = text.document_mut();
        for (name, value) in std::iter::once(first).chain(wanted) {
            document.node_mut(map).set_string(&[name], value)?;
        }
        replaced.insert(place.file.clone(), text.changed().unwrap_or(bytes));
    }
    Ok(replaced)
}

/// The mapping with the setters of one function.
struct SetterPlace {
    file: String,
    kind: PlaceKind,
}

enum PlaceKind {
    /// The `configMap` of the mutator with this number.
    Mutator(usize),
    /// The `data` of a ConfigMap.
    ConfigFile,
}

fn places(files: &dyn FileSource) -> Vec<SetterPlace> {
    let mut places = Vec::new();
    for (directory, kptfile) in kptfiles(files) {
        let mutators = kptfile.pipeline.unwrap_or_default().mutators;
        for (number, function) in mutators.iter().enumerate() {
            if !applies_setters(function) {
                continue;
            }
            places.push(match function.config_path.as_str() {
                "" => SetterPlace {
                    file: paths::join(&[&directory, FILE_NAME]),
                    kind: PlaceKind::Mutator(number),
                },
                config => SetterPlace {
                    file: paths::join(&[&directory, config]),
                    kind: PlaceKind::ConfigFile,
                },
            });
        }
    }
    places
}

fn applies_setters(function: &Function) -> bool {
    let image = ImageRef::parse(&function.image);
    image.is_ok_and(|image| image.base_name() == "apply-setters")
}

impl SetterPlace {
    fn read(&self, bytes: &[u8]) -> Result<EditableText> {
        let text = match self.kind {
            PlaceKind::Mutator(_) => EditableText::read_kptfile(bytes),
            PlaceKind::ConfigFile => EditableText::read_resource(bytes),
        };
        text.ok_or_else(|| anyhow!("{} is not a resource in YAML", self.file))
    }

    fn map(&self, text: &EditableText) -> Option<NodeId> {
        let root = text.document().root();
        let map = match self.kind {
            PlaceKind::Mutator(number) => {
                let mutators = root.get_path(&["pipeline", "mutators"])?;
                mutators.items().nth(number)?.get("configMap")
            }
            PlaceKind::ConfigFile => root.get("data"),
        };
        map.filter(|map| map.is_mapping()).map(|map| map.id())
    }

    fn values(&self, files: &dyn FileSource) -> Result<BTreeMap<String, String>> {
        let text = self.read(&files.read(&self.file)?)?;
        let Some(map) = self.map(&text) else {
            return Ok(BTreeMap::new());
        };
        let entries = text.document().node(map).entries();
        let entries =
            entries.map(|(key, value)| (key.value().to_owned(), value.value().to_owned()));
        Ok(entries.collect())
    }
}
