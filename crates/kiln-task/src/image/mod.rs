//! Packages in images: the files of all layers, each on top of the ones below.
//!
//! Layers are not trusted: paths are checked, devices are refused, and the unpacked size is limited.

mod lock;
mod registry;

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Read};

use kiln_oci::{Digest, LayerReader};

use crate::contents::{Contents, ContentsError, FileMode, PackageFile, PackagePath, UnsafePath};

pub use lock::{ImageLock, ImageUpdates, SCHEME};
pub(crate) use lock::{image_locks, newer_tags};
pub use registry::RegistryImages;

/// Why an image cannot be read.
pub type ImageError = Box<dyn Error + Send + Sync>;

/// Reads packages from images.
pub trait PackageImages: Send + Sync + std::fmt::Debug {
    /// The package in an image.
    fn read(&self, image: &str) -> Result<PackageImage, ImageError>;

    /// The tags of the image's repository.
    fn tags(&self, image: &str) -> Result<Vec<String>, ImageError>;

    /// The current digest of an image.
    fn digest(&self, image: &str) -> Result<String, ImageError>;
}

/// A package from an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageImage {
    pub contents: Contents,
    pub digest: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Layer<'a> {
    media_type: &'a str,
    bytes: &'a [u8],
    /// The expected digest of the unpacked archive, if it is known.
    diff_id: Option<&'a Digest>,
}

/// Why layers are not a package.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    #[error(transparent)]
    Layer(#[from] kiln_oci::LayerFormatError),
    #[error("cannot read the layer")]
    Archive(#[source] io::Error),
    #[error(transparent)]
    Path(#[from] UnsafePath),
    #[error(transparent)]
    Contents(#[from] ContentsError),
    #[error("the name of a file in the layer is not valid UTF-8")]
    NotText,
    #[error("{0} is not a file")]
    NotAFile(String),
    #[error("{0} is a link to a file that is not in the image")]
    NoTarget(String),
    #[error("the package is larger than {0} bytes")]
    TooLarge(u64),
}

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// The files of layers, the lowest layer first.
fn contents_of_layers(layers: &[Layer<'_>], largest: u64) -> Result<Contents, LayerError> {
    let mut contents = Contents::new();
    let mut left = largest;
    for layer in layers {
        let archive = LayerReader::new(layer.media_type, layer.bytes, layer.diff_id)?;
        let mut unpacked = archive.take(left.saturating_add(1));
        let added = add_layer(&mut contents, &mut unpacked).and_then(|()| {
            // The rest of the archive counts towards the limit too.
            let rest = io::copy(&mut unpacked, &mut io::sink());
            rest.map(drop).map_err(LayerError::Archive)
        });
        let taken = left.saturating_add(1) - unpacked.limit();
        // An archive that was cut at the limit looks damaged, so the limit is checked first.
        left = left
            .checked_sub(taken)
            .ok_or(LayerError::TooLarge(largest))?;
        added?;
    }
    Ok(contents)
}

fn add_layer(contents: &mut Contents, archive: &mut dyn Read) -> Result<(), LayerError> {
    let mut archive = tar::Archive::new(archive);
    let mut new = HashSet::new();
    // Each directory is cleared once, however often a layer hides it.
    let mut hidden = HashSet::new();
    for entry in archive.entries().map_err(LayerError::Archive)? {
        let mut entry = entry.map_err(LayerError::Archive)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let path = String::from_utf8(entry.path_bytes().into_owned());
        let path = inner(&path.map_err(|_| LayerError::NotText)?);
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
        // A whiteout hides only the files of lower layers.
        if name == OPAQUE {
            if hidden.insert(directory.to_owned()) {
                remove_below(contents, directory, &new);
            }
            continue;
        }
        if let Some(name) = name.strip_prefix(WHITEOUT) {
            let removed = join(directory, name);
            if !new.contains(&removed) {
                contents.remove(&removed);
            }
            if hidden.insert(removed.clone()) {
                remove_below(contents, &removed, &new);
            }
            continue;
        }
        let file = if kind.is_file() || kind.is_contiguous() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(LayerError::Archive)?;
            let mode = entry.header().mode().unwrap_or(0);
            PackageFile {
                bytes: bytes.into(),
                mode: match mode & 0o111 {
                    0 => FileMode::Regular,
                    _ => FileMode::Executable,
                },
            }
        } else if kind.is_symlink() || kind.is_hard_link() {
            let target = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
            let target = target.ok_or_else(|| LayerError::NoTarget(path.clone()))?;
            match kind.is_symlink() {
                true => PackageFile {
                    bytes: target.into(),
                    mode: FileMode::Symlink,
                },
                false => {
                    let target = String::from_utf8(target).map_err(|_| LayerError::NotText)?;
                    let file = contents.get(&inner(&target)).cloned();
                    file.ok_or(LayerError::NoTarget(path.clone()))?
                }
            }
        } else {
            return Err(LayerError::NotAFile(path));
        };
        let path = PackagePath::new(path)?;
        replace(contents, &path, file)?;
        new.insert(path.to_string());
    }
    Ok(())
}

/// The path relative to the root of the image.
fn inner(path: &str) -> String {
    let mut path = path.trim_start_matches('/');
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path.to_owned()
}

fn join(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

/// Removes the files below a directory, except new ones.
fn remove_below(contents: &mut Contents, directory: &str, new: &HashSet<String>) {
    let paths = contents.paths_below(directory).map(ToString::to_string);
    let hidden = paths.filter(|path| !new.contains(path));
    for path in hidden.collect::<Vec<String>>() {
        contents.remove(&path);
    }
}

/// Adds a file, and removes files of lower layers that are in its way.
fn replace(
    contents: &mut Contents,
    path: &PackagePath,
    file: PackageFile,
) -> Result<(), LayerError> {
    let name = path.as_str();
    for (index, _) in name.match_indices('/') {
        contents.remove(name.get(..index).unwrap_or_default());
    }
    remove_below(contents, name, &HashSet::new());
    Ok(contents.insert(path.clone(), file)?)
}

#[cfg(test)]
mod tests;
