//! A package of the tree that is rendered: its Kptfile, its own resources, the packages directly below it.

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
use crate::options::{Behaviour, FunctionOptions, RenderOptions};

/// A directory below which everything is relative to it.
pub(crate) struct Below<'a> {
    source: &'a dyn FileSource,
    directory: &'a str,
}

impl<'a> Below<'a> {
    pub(crate) fn new(source: &'a dyn FileSource, directory: &'a str) -> Below<'a> {
        Below { source, directory }
    }
}

impl FileSource for Below<'_> {
    fn list(&self, dir: &str) -> Result<Vec<Entry>, FileError> {
        self.source.list(&paths::join(&[self.directory, dir]))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.source.read(&paths::join(&[self.directory, path]))
    }
}

/// A package whose Kptfile has been read and checked.
pub(crate) struct Package {
    /// Relative to the root package; empty for that itself.
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

    /// The functions; none if there is no pipeline.
    pub(crate) fn pipeline(&self) -> Option<&Pipeline> {
        let pipeline = self.kptfile.pipeline.as_ref();
        pipeline.filter(|pipeline| !pipeline.is_empty())
    }

    /// A file's path relative to the root package.
    pub(crate) fn outer(&self, path: &str) -> String {
        paths::join(&[&self.directory, path])
    }

    fn open_config(
        &self,
        files: &dyn FileSource,
        path: &str,
    ) -> Result<Vec<Document>, OpenConfigError> {
        let outer = self.outer(path);
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

    /// The package's own resources, without those of packages below.
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
        let own = Below::new(files, &self.directory);
        let list = ListOptions::new(Dialect::Current, Subpackages::Skip);
        let absolute = |path: &str| paths::join(&[&self.path, path]);
        let listed = list_package_files(&own, &list);
        let listed = listed.map_err(|error| {
            let (path, reason) = parts(&error);
            Failure::Text(format!(
                "open {}: {reason}",
                absolute_of(&self.path, &self.directory, path)
            ))
        })?;
        let options = FileOptions {
            dialect: Dialect::Current,
            package_path: Some(&self.path),
            trailing_text: match functions.behaviour {
                Behaviour::Kiln => TrailingText::Refused,
                Behaviour::Kpt => TrailingText::Ignored,
            },
        };
        let read = try_map(listed, functions.threads, Worth::Files, |file| {
            let absolute = absolute(&file.path);
            let bytes = own.read(&file.path).map_err(|error| {
                Failure::Text(match &error {
                    FileError::IsDirectory(_) => {
                        format!("{absolute}: read {absolute}: is a directory")
                    }
                    error => format!("{absolute}: open {absolute}: {}", parts(error).1),
                })
            })?;
            let outer = self.outer(&file.path);
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

    /// The directories of the packages directly below, relative to the root package, in order.
    pub(crate) fn below(
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
                        parts(&error).1
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

fn parts(error: &FileError) -> (&str, &str) {
    match error {
        FileError::NotFound(path) => (path, "no such file or directory"),
        FileError::IsDirectory(path) => (path, "is a directory"),
        FileError::Failed { path, reason } => (path, reason),
    }
}

/// The absolute path of something that is named relative to the root package.
fn absolute_of(package: &str, directory: &str, path: &str) -> String {
    let inner = path.strip_prefix(directory).unwrap_or(path);
    paths::join(&[package, inner.trim_start_matches('/')])
}
