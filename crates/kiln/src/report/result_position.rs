//! Where in a package the resource or the field is that a function reports.

use std::collections::HashMap;
use std::sync::OnceLock;

use kiln_krm::package::{FileSource, ListOptions, Subpackages, list_package_files};
use kiln_krm::results::{ResourceRef, ResultItem};
use kiln_krm::{Dialect, paths};
use kiln_pages::report::FileLines;
use kiln_yaml::{NodeRef, parse_until_error};

/// The files that functions run on, as they were before.
pub(crate) struct ReportedFiles<'a> {
    files: &'a dyn FileSource,
    /// The path on the command line.
    named: &'a str,
    places: OnceLock<ResourcePlaces>,
}

impl<'a> ReportedFiles<'a> {
    pub(crate) fn new(files: &'a dyn FileSource, named: &'a str) -> ReportedFiles<'a> {
        ReportedFiles {
            files,
            named,
            places: OnceLock::new(),
        }
    }

    /// `app/cm.yaml:6`, for an item about a resource of the package in `directory`.
    pub(crate) fn position(&self, directory: &str, item: &ResultItem) -> Option<String> {
        let file = item.file.as_ref().filter(|file| !file.path.is_empty());
        let (path, index) = match file {
            Some(file) => {
                let path = paths::join(&[directory, &file.path]);
                (path, usize::try_from(file.index).ok()?)
            }
            None => {
                let (path, index) = self.places().find(directory, item.resource_ref.as_ref()?)?;
                (path.to_owned(), index)
            }
        };
        let field = item.field.as_ref().map_or("", |field| &field.path);
        let line = FileLines::of(&self.files.read(&path).ok()?).line(index, field)?;
        let shown = match self.named {
            "" | "." => path,
            named => paths::join(&[named, &path]),
        };
        Some(format!("{shown}:{line}"))
    }

    fn places(&self) -> &ResourcePlaces {
        self.places.get_or_init(|| {
            let paths = resource_files(self.files);
            ResourcePlaces::of(paths, |path| self.files.read(path).ok())
        })
    }
}

/// The files of a package that may contain resources.
pub(crate) fn resource_files(files: &dyn FileSource) -> Vec<String> {
    let options = ListOptions::new(Dialect::Current, Subpackages::Include);
    let files = list_package_files(files, &options).unwrap_or_default();
    files.into_iter().map(|file| file.path).collect()
}

/// Where the resources of a package are, by name.
pub(crate) struct ResourcePlaces(HashMap<String, Vec<ResourcePlace>>);

struct ResourcePlace {
    path: String,
    index: usize,
    api_version: String,
    kind: String,
    namespace: String,
}

impl ResourcePlaces {
    pub(crate) fn of(paths: Vec<String>, read: impl Fn(&str) -> Option<Vec<u8>>) -> ResourcePlaces {
        let mut places: HashMap<String, Vec<ResourcePlace>> = HashMap::new();
        for path in paths {
            let (documents, _) = parse_until_error(&read(&path).unwrap_or_default());
            for (index, document) in documents.iter().enumerate() {
                let text = |path: &[&str]| {
                    let node = document.root().get_path(path);
                    node.map_or("", NodeRef::value).to_owned()
                };
                let place = ResourcePlace {
                    path: path.clone(),
                    index,
                    api_version: text(&["apiVersion"]),
                    kind: text(&["kind"]),
                    namespace: text(&["metadata", "namespace"]),
                };
                let name = text(&["metadata", "name"]);
                places.entry(name).or_default().push(place);
            }
        }
        ResourcePlaces(places)
    }

    /// The file of a resource of the package in `directory`, and the index of its document.
    pub(crate) fn find(&self, directory: &str, wanted: &ResourceRef) -> Option<(&str, usize)> {
        let named = self.0.get(&wanted.name).filter(|_| !wanted.name.is_empty());
        let mut named = named?.iter();
        let found = named.find(|place| {
            let rest = place.path.strip_prefix(directory);
            let is_inside = directory.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'));
            is_inside && place.is_of(wanted)
        });
        found.map(|place| (place.path.as_str(), place.index))
    }
}

impl ResourcePlace {
    /// Functions may leave out what they do not know.
    fn is_of(&self, wanted: &ResourceRef) -> bool {
        let agrees = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        agrees(&wanted.kind, &self.kind)
            && agrees(&wanted.api_version, &self.api_version)
            && agrees(&wanted.namespace, &self.namespace)
    }
}
