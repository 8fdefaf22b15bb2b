//! Where in a package the resource or the field is that a function reports.

use kiln_krm::package::{FileSource, ListOptions, PackageFile, Subpackages, list_package_files};
use kiln_krm::results::{ResourceRef, ResultItem};
use kiln_krm::{Dialect, paths};
use kiln_yaml::NodeRef;

use crate::error::position::field_line;

/// The files that functions run on, as they were before.
#[derive(Clone, Copy)]
pub(crate) struct ReportedFiles<'a> {
    pub(crate) files: &'a dyn FileSource,
    /// The path on the command line.
    pub(crate) named: &'a str,
}

impl ReportedFiles<'_> {
    /// `app/cm.yaml:6`, for an item about a resource of the package in `directory`.
    pub(crate) fn position(&self, directory: &str, item: &ResultItem) -> Option<String> {
        let file = item.file.as_ref().filter(|file| !file.path.is_empty());
        let (path, index) = match file {
            Some(file) => {
                let path = paths::join(&[directory, &file.path]);
                (path, usize::try_from(file.index).ok()?)
            }
            None => self.find(directory, item.resource_ref.as_ref()?)?,
        };
        let field = item.field.as_ref().map_or("", |field| &field.path);
        let line = field_line(self.files, &path, index, field)?;
        let shown = match self.named {
            "" | "." => path,
            named => paths::join(&[named, &path]),
        };
        Some(format!("{shown}:{line}"))
    }

    /// The file of a resource, and the index of its document.
    fn find(&self, directory: &str, wanted: &ResourceRef) -> Option<(String, usize)> {
        let options = ListOptions::new(Dialect::Current, Subpackages::Include);
        let files = list_package_files(self.files, &options).ok()?;
        let inside = |path: &str| {
            let rest = path.strip_prefix(directory);
            directory.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let mut inside = files.into_iter().filter(|file| inside(&file.path));
        inside.find_map(|PackageFile { path, .. }| {
            let documents = kiln_yaml::parse_all(&self.files.read(&path).ok()?).ok()?;
            let index = documents
                .iter()
                .position(|document| is_same(document.root(), wanted))?;
            Some((path, index))
        })
    }
}

fn is_same(resource: NodeRef<'_>, wanted: &ResourceRef) -> bool {
    let field = |path: &[&str]| {
        let node = resource.get_path(path);
        node.map(NodeRef::value).unwrap_or_default()
    };
    let agrees = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
    !wanted.name.is_empty()
        && wanted.name == field(&["metadata", "name"])
        && agrees(&wanted.kind, field(&["kind"]))
        && agrees(&wanted.api_version, field(&["apiVersion"]))
        && agrees(&wanted.namespace, field(&["metadata", "namespace"]))
}
