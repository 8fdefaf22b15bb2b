//! A package to render: its Kptfile, its own resources and its direct sub-packages.

use kiln_krm::kptfile::{Kptfile, KptfileError, KptfileProblem, OpenConfigError, Pipeline};
use kiln_krm::package::{
    Entry, EntryKind, FileError, FileSource, ListOptions, PACKAGE_FILE, Subpackages,
    list_package_files,
};
use kiln_krm::parallel::{Worth, try_map};
use kiln_krm::read::{FileOptions, TrailingText, read_inner_file, read_loose_file};
use kiln_krm::record::UnknownKeys;
use kiln_krm::{Dialect, Resource, paths};
use kiln_yaml::Document;

use crate::error::{Failure, Raised, Trace, UnreadableFile};
use crate::options::{FunctionOptions, RenderCompat, RenderOptions};

/// The files of one directory, by paths relative to it.
struct Subdirectory<'a> {
    source: &'a dyn FileSource,
    directory: &'a str,
}

impl<'a> Subdirectory<'a> {
    fn new(source: &'a dyn FileSource, directory: &'a str) -> Subdirectory<'a> {
        Subdirectory { source, directory }
    }
}

impl FileSource for Subdirectory<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        self.source.list(&paths::join(&[self.directory, dir]))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.source.read(&paths::join(&[self.directory, path]))
    }
}

/// A package whose Kptfile has been read and checked.
pub(crate) struct Package {
    /// Relative to the root package; empty for the root package.
    pub(crate) directory: String,
    /// The absolute path.
    pub(crate) path: String,
    /// The names of the directories of packages, from the root down.
    pub(crate) name: String,
    pub(crate) kptfile: Kptfile,
}

impl Package {
    /// Reads the Kptfile of a package and checks its pipeline.
    pub(crate) fn open(
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
        directory: &str,
        parent_name: Option<&str>,
    ) -> Result<Package, Trace> {
        let root = options.root;
        let path = paths::join(&[root, directory]);
        let kptfile = read_kptfile(files, directory, &path, options.unknown_fields);
        let kptfile = kptfile.map_err(|failure| Trace::new("pkg.read", &path, failure))?;
        let package = Package {
            directory: directory.to_owned(),
            name: match parent_name {
                Some(parent) => format!("{parent}/{}", paths::base(directory)),
                None => paths::base(root).to_owned(),
            },
            path,
            kptfile,
        };
        let valid = package
            .kptfile
            .validate(|config| package.open_config(files, config));
        match valid {
            Ok(()) => Ok(package),
            Err(invalid) => {
                let failure = Failure::Pipeline(Box::new(invalid));
                Err(Trace::new("pkg.read", &package.path, failure))
            }
        }
    }

    /// The pipeline; `None` if it has no functions.
    pub(crate) fn pipeline(&self) -> Option<&Pipeline> {
        let pipeline = self.kptfile.pipeline.as_ref();
        pipeline.filter(|pipeline| !pipeline.is_empty())
    }

    /// A file's path relative to the root package.
    pub(crate) fn path_in_root(&self, path: &str) -> String {
        paths::join(&[&self.directory, path])
    }

    fn open_config(
        &self,
        files: &dyn FileSource,
        path: &str,
    ) -> Result<Vec<Document>, OpenConfigError> {
        let outer = self.path_in_root(path);
        let absolute = paths::join(&[&self.path, path]);
        let bytes = files.read(&outer).map_err(|error| match error {
            FileError::NotFound(_) => {
                OpenConfigError::Open(format!("open {absolute}: no such file or directory"))
            }
            FileError::IsDirectory(_) => {
                OpenConfigError::Read(format!("read {absolute}: is a directory"))
            }
            FileError::Failed { reason, .. } => {
                OpenConfigError::Open(format!("open {absolute}: {reason}"))
            }
        })?;
        let resources = read_loose_file(bytes, Dialect::Current)
            .map_err(|error| OpenConfigError::Read(error.to_string()))?;
        Ok(resources.into_iter().map(Resource::into_document).collect())
    }

    /// The package's own resources, without those of sub-packages.
    pub(crate) fn read(
        &self,
        files: &dyn FileSource,
        options: &FunctionOptions<'_>,
    ) -> Result<Vec<Resource>, Trace> {
        let read = self.read_resources(files, options);
        read.map_err(|failure| Trace::new("pkg.readResources", &self.path, failure))
    }

    fn read_resources(
        &self,
        files: &dyn FileSource,
        functions: &FunctionOptions<'_>,
    ) -> Result<Vec<Resource>, Failure> {
        let own = Subdirectory::new(files, &self.directory);
        let list = ListOptions::new(Dialect::Current, Subpackages::Skip);
        let absolute = |path: &str| paths::join(&[&self.path, path]);
        let listed = list_package_files(&own, &list);
        let listed = listed.map_err(|error| {
            let (path, reason) = error.parts();
            Failure::Text(format!(
                "open {}: {reason}",
                absolute_of(&self.path, &self.directory, path)
            ))
        })?;
        let options = FileOptions {
            dialect: Dialect::Current,
            package_path: Some(&self.path),
            trailing_text: match functions.compat {
                RenderCompat::Kiln => TrailingText::Refused,
                RenderCompat::Kpt => TrailingText::Ignored,
            },
        };
        let read = try_map(listed, functions.threads, Worth::Files, |file| {
            let absolute = absolute(&file.path);
            let bytes = own.read(&file.path).map_err(|error| {
                Failure::Text(match &error {
                    FileError::IsDirectory(_) => {
                        format!("{absolute}: read {absolute}: is a directory")
                    }
                    error => format!("{absolute}: open {absolute}: {}", error.parts().1),
                })
            })?;
            let outer = self.path_in_root(&file.path);
            let read = read_inner_file(&outer, &file.path, bytes, &options);
            read.map_err(|error| {
                Failure::File(Box::new(UnreadableFile {
                    path: outer,
                    absolute,
                    error,
                }))
            })
        })?;
        Ok(read.into_iter().flatten().collect())
    }

    /// The directories of the direct sub-packages, relative to the root package, in order.
    pub(crate) fn sub_packages(
        &self,
        files: &dyn FileSource,
        options: &RenderOptions<'_>,
    ) -> Result<Vec<String>, Raised> {
        let root = options.root;
        let mut found = Vec::new();
        let mut pending = vec![self.directory.clone()];
        while let Some(directory) = pending.pop() {
            let entries = match files.list(&directory) {
                Ok(entries) => entries,
                Err(error) => {
                    let at = &self.path;
                    let path = paths::join(&[root, &directory]);
                    return Err(Raised::Failure(Failure::Text(format!(
                        "failed to read package at {at}: failed to read package {at}: open {path}: {}",
                        error.parts().1
                    ))));
                }
            };
            let is_package = entries
                .iter()
                .any(|entry| entry.name == PACKAGE_FILE && entry.kind != EntryKind::Other);
            if is_package && directory != self.directory {
                let path = paths::join(&[root, &directory]);
                if let Err(failure) = read_kptfile(files, &directory, &path, options.unknown_fields)
                {
                    let trace = Trace::new("pkg.Subpackages", &path, failure);
                    return Err(Raised::Enclosed(trace));
                }
                found.push(directory);
                continue;
            }
            let is_walked =
                |entry: &Entry| entry.kind == EntryKind::Directory && entry.name != ".git";
            let mut names: Vec<String> = entries
                .into_iter()
                .filter(is_walked)
                .map(|entry| entry.name)
                .collect();
            names.sort_by(|a, b| b.cmp(a));
            let paths = names.iter().map(|name| paths::join(&[&directory, name]));
            pending.extend(paths);
        }
        found.sort();
        Ok(found)
    }
}

fn read_kptfile(
    files: &dyn FileSource,
    directory: &str,
    absolute: &str,
    unknown_fields: UnknownKeys,
) -> Result<Kptfile, Failure> {
    let failed = |problem| {
        Failure::Kptfile(Box::new(KptfileError {
            path: absolute.to_owned(),
            problem,
        }))
    };
    let file = paths::join(&[absolute, PACKAGE_FILE]);
    let bytes = files
        .read(&paths::join(&[directory, PACKAGE_FILE]))
        .map_err(|error| {
            failed(match &error {
                FileError::NotFound(_) => {
                    KptfileProblem::Missing(format!("open {file}: no such file or directory"))
                }
                FileError::IsDirectory(_) => {
                    KptfileProblem::Io(format!("read {file}: is a directory"))
                }
                FileError::Failed { reason, .. } => {
                    KptfileProblem::Io(format!("open {file}: {reason}"))
                }
            })
        })?;
    Kptfile::read_with(&bytes, unknown_fields).map_err(failed)
}

/// The absolute path of a file that is named relative to the root package.
fn absolute_of(package: &str, directory: &str, path: &str) -> String {
    let inner = path.strip_prefix(directory).unwrap_or(path);
    paths::join(&[package, inner.trim_start_matches('/')])
}
