//! The package context generator: writes the name and the repository of a package into its ConfigMap `kptfile.kpt.dev`.
//!
//! It creates the ConfigMap if the package has none, keeps other keys, and is idempotent. Subpackages that have such a ConfigMap
//! get their own names.

use kiln_go::quote;
use kiln_krm::EditableText;
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_krm::kptfile::FILE_NAME;
use kiln_krm::read::{ReadError, read_loose_file};
use kiln_krm::{Dialect, Resource};
use kiln_render::GENERATE_PACKAGE_CONTEXT;
use kiln_yaml::{Document, EditError, Slot};

use crate::contents::{Contents, ContentsError, PackagePath};
use crate::git::read_kptfile;
use crate::merge::file::{is_resource_file, rebuild};

/// The file of a new ConfigMap.
pub(crate) const FILE: &str = "package-context.yaml";

const NAME: &str = "kptfile.kpt.dev";

/// The keys of [`PackageContextStyle::Seed`] that Porch does not write.
const SEED_KEYS: [&str; 3] = ["deployment", "namespace", "repository"];

/// Which keys are written, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PackageContextStyle {
    /// In every new revision: the name in the Kptfile, the path, the repository, its namespace and `deployment`. In
    /// subpackages too.
    #[default]
    Seed,
    /// In clones only: the path of the package, as name and as path. Subpackages are not changed.
    Porch,
}

/// The values to write.
#[derive(Clone, Debug)]
pub(crate) struct PackageContext<'a> {
    /// The path of the package in its repository.
    pub(crate) path: &'a str,
    pub(crate) repository: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) deployment: bool,
    pub(crate) style: PackageContextStyle,
}

/// Why the package context was not written.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to generate deployment context: failed to evaluate function {}: {reason}",
    quote(GENERATE_PACKAGE_CONTEXT)
)]
pub struct PackageContextError {
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("{path}: {error}")]
    Read { path: String, error: Box<ReadError> },
    #[error("{path}: {error}")]
    Edit { path: String, error: EditError },
    #[error(transparent)]
    Contents(#[from] ContentsError),
}

/// The ConfigMap of a package in a repository that is not a deployment repository.
pub(crate) fn abstract_text() -> String {
    format!("{}data:\n  name: example\n", empty_text())
}

/// The ConfigMap without data.
fn empty_text() -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {NAME}\n  annotations:\n    {LOCAL_CONFIG}: \"true\"\n"
    )
}

/// Writes the contexts of the packages in `contents`.
pub(crate) fn generate(
    contents: &mut Contents,
    context: &PackageContext<'_>,
) -> Result<(), PackageContextError> {
    generate_all(contents, context).map_err(|reason| PackageContextError { reason })
}

fn generate_all(contents: &mut Contents, context: &PackageContext<'_>) -> Result<(), Reason> {
    let packages: Vec<String> = contents
        .paths()
        .filter(|path| path.name() == FILE_NAME)
        .map(|path| path.directory().to_owned())
        .collect();
    let is_written = |package: &&String| match context.style {
        PackageContextStyle::Seed => true,
        PackageContextStyle::Porch => package.is_empty(),
    };
    for package in packages.iter().filter(is_written) {
        let files: Vec<PackagePath> = contents
            .paths()
            .filter(|path| is_resource_file(path.name()) && owner(path, &packages) == Some(package))
            .cloned()
            .collect();
        let data = data_of(contents, package, context);
        let mut is_written = false;
        for path in files {
            let Some(bytes) = contents.bytes(path.as_str()).map(<[u8]>::to_vec) else {
                continue;
            };
            // Files that do not contain the name are not parsed, so that their errors do not matter.
            if !contains(&bytes, NAME.as_bytes()) {
                continue;
            }
            if let Some(new) = with_data(path.as_str(), &bytes, &data)? {
                is_written = true;
                contents.write(path, &new)?;
            }
        }
        if package.is_empty() && !is_written {
            add(contents, &data)?;
        }
    }
    Ok(())
}

/// The nearest package around a file.
fn owner<'a>(path: &PackagePath, packages: &'a [String]) -> Option<&'a String> {
    let is_around = |package: &&String| {
        let rest = path.directory().strip_prefix(package.as_str());
        rest.is_some_and(|rest| package.is_empty() || rest.is_empty() || rest.starts_with('/'))
    };
    packages
        .iter()
        .filter(is_around)
        .max_by_key(|package| package.len())
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// The keys of the ConfigMap's data, sorted. A key without a value is removed.
type ContextData = Vec<(&'static str, Option<String>)>;

fn data_of(contents: &Contents, package: &str, context: &PackageContext<'_>) -> ContextData {
    if context.style == PackageContextStyle::Porch {
        let path = || Some(context.path.to_owned());
        let mut data = vec![("name", path()), ("package-path", path())];
        // They were written for the upstream repository and are wrong in a clone.
        data.extend(SEED_KEYS.map(|key| (key, None)));
        return data;
    }
    let path = match package {
        "" => FILE_NAME.to_owned(),
        package => format!("{package}/{FILE_NAME}"),
    };
    let kptfile = read_kptfile(contents.bytes(&path).unwrap_or_default());
    let package_path = match package {
        "" => context.path.to_owned(),
        package => format!("{}/{package}", context.path),
    };
    vec![
        ("deployment", Some(context.deployment.to_string())),
        ("name", Some(kptfile.metadata.name)),
        ("namespace", Some(context.namespace.to_owned())),
        ("package-path", Some(package_path)),
        ("repository", Some(context.repository.to_owned())),
    ]
}

/// The file with the data in every such ConfigMap; `None` if it contains none. Everything else keeps its bytes.
fn with_data(path: &str, bytes: &[u8], data: &ContextData) -> Result<Option<Vec<u8>>, Reason> {
    let resources = read_loose_file(bytes.to_vec(), Dialect::Current);
    let resources = resources.map_err(|error| Reason::Read {
        path: path.to_owned(),
        error: Box::new(error),
    })?;
    let (mut is_written, mut is_changed) = (false, false);
    let mut pieces = Vec::new();
    for resource in &resources {
        let Some(origin) = resource.origin() else {
            continue;
        };
        let mut body = origin.body().to_vec();
        if is_context(resource)
            && let Some(mut text) = EditableText::read_resource(&body)
        {
            is_written = true;
            let document = text.document_mut();
            let edited = data.iter().try_for_each(|(key, value)| match value {
                Some(value) => set_data(document, key, value),
                None => document.root_mut().remove(&["data", key]).map(|_| ()),
            });
            edited.map_err(|error| Reason::Edit {
                path: path.to_owned(),
                error,
            })?;
            if let Some(new) = text.changed() {
                is_changed = true;
                body = new;
            }
        }
        pieces.push((Some(origin.clone()), body));
    }
    Ok(is_written.then(|| match is_changed {
        true => rebuild(&pieces),
        false => bytes.to_vec(),
    }))
}

/// Sets a key of the data, and keeps its comments.
fn set_data(document: &mut Document, key: &str, value: &str) -> Result<(), EditError> {
    let old = document.root().lookup(&["data", key])?;
    if old.is_some_and(|old| old.is_scalar() && old.as_text() == Some(value)) {
        return Ok(());
    }
    let comment = old.map(|old| old.comment(Slot::Line).to_owned());
    let new = document.root_mut().set_string(&["data", key], value)?;
    if let (Some(new), Some(comment)) = (new, comment) {
        document.set_comment(new, Slot::Line, &comment);
    }
    Ok(())
}

fn is_context(resource: &Resource) -> bool {
    let meta = resource.meta();
    (meta.api_version, meta.kind, meta.name) == ("v1", "ConfigMap", NAME)
}

/// Adds the ConfigMap, to the end of the file if it exists.
fn add(contents: &mut Contents, data: &ContextData) -> Result<(), Reason> {
    let new = with_data(FILE, empty_text().as_bytes(), data)?.unwrap_or_default();
    let present = contents.bytes(FILE).map(<[u8]>::to_vec).unwrap_or_default();
    let text = match present.is_empty() {
        true => new,
        false => [present.as_slice(), b"\n---\n", &new].concat(),
    };
    let path = PackagePath::new(FILE).map_err(ContentsError::from)?;
    contents.remove(FILE);
    contents.write(path, &text)?;
    Ok(())
}

#[cfg(test)]
mod tests;
