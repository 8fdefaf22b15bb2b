//! Packages in images: the files of all layers, one over the other.
//!
//! Nothing in a layer is believed: paths are checked, devices are refused, and there is a limit to what unpacking gives.

mod lock;
mod registry;

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Read};

use kiln_oci::{Digest, LayerReader};

use crate::contents::{Contents, ContentsError, File, FileMode, PackagePath, UnsafePath};

pub(crate) use lock::image_locks;
pub use lock::{ImageLock, ImageUpdates, SCHEME};
pub use registry::{RegistryImageError, RegistryImages};

/// Why an image cannot be had, or there can be none.
pub type ImageError = Box<dyn Error + Send + Sync>;

/// Finds packages in images.
pub trait PackageImages: Send + Sync + std::fmt::Debug {
    /// The package in an image.
    fn read(&self, image: &str) -> Result<PackageImage, ImageError>;

    /// The tags that the image's repository has.
    fn tags(&self, image: &str) -> Result<Vec<String>, ImageError>;

    /// The digest that an image has now.
    fn digest(&self, image: &str) -> Result<String, ImageError>;
}

/// A package that was in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageImage {
    /// Its files.
    pub contents: Contents,
    /// The digest of the image.
    pub digest: String,
}

/// A layer of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer<'a> {
    /// What kind of archive it is.
    pub media_type: &'a str,
    /// The archive.
    pub bytes: &'a [u8],
    /// What the archive has to hash to when it is unpacked, if that is known.
    pub diff_id: Option<&'a Digest>,
}

/// Why layers are no package.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// A kind of archive that is not read, or one of another image.
    #[error(transparent)]
    Layer(#[from] kiln_oci::LayerFormatError),
    /// The archive is damaged.
    #[error("cannot read the layer")]
    Archive(#[source] io::Error),
    /// A file has a path that no package has.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// A file has a path that another file does not leave room for.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A file's name is not text.
    #[error("the name of a file in the layer is not valid UTF-8")]
    NotText,
    /// A device, a pipe or something else that is no file.
    #[error("{0} is no file")]
    NotAFile(String),
    /// A link to a file that is not there.
    #[error("{0} is a link to a file that is not in the image")]
    NoTarget(String),
    /// There is too much.
    #[error("the package is larger than {0} bytes")]
    TooLarge(u64),
}

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// The files of layers, the lowest layer first.
pub fn contents_of_layers(layers: &[Layer<'_>], largest: u64) -> Result<Contents, LayerError> {
    let mut contents = Contents::new();
    let mut left = largest;
    for layer in layers {
        let archive = LayerReader::new(layer.media_type, layer.bytes, layer.diff_id)?;
        let mut unpacked = archive.take(left.saturating_add(1));
        let added = add_layer(&mut contents, &mut unpacked).and_then(|()| {
            // The rest of the archive counts too, whatever is in it.
            let rest = io::copy(&mut unpacked, &mut io::sink());
            rest.map(drop).map_err(LayerError::Archive)
        });
        let taken = left.saturating_add(1) - unpacked.limit();
        // What was cut off looks damaged, and is not.
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
    // Whoever hides the same over and over again does not make us look over and over again.
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
        // Only what lower layers have is hidden.
        if name == OPAQUE {
            if hidden.insert(directory.to_owned()) {
                remove_below(contents, directory, &new);
            }
            continue;
        }
        if let Some(name) = name.strip_prefix(WHITEOUT) {
            let gone = join(directory, name);
            if !new.contains(&gone) {
                contents.remove(&gone);
            }
            if hidden.insert(gone.clone()) {
                remove_below(contents, &gone, &new);
            }
            continue;
        }
        let file = if kind.is_file() || kind.is_contiguous() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(LayerError::Archive)?;
            let mode = entry.header().mode().unwrap_or(0);
            File {
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
                true => File {
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

/// Paths in archives begin at the root of the image, however that is written.
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

/// Removes the files below a directory, but for those that are new.
fn remove_below(contents: &mut Contents, directory: &str, new: &HashSet<String>) {
    let paths = contents.paths_below(directory).map(ToString::to_string);
    let hidden = paths.filter(|path| !new.contains(path));
    for path in hidden.collect::<Vec<String>>() {
        contents.remove(&path);
    }
}

/// Puts a file over whatever a lower layer has at its path, or on the way to it.
fn replace(contents: &mut Contents, path: &PackagePath, file: File) -> Result<(), LayerError> {
    let name = path.as_str();
    for (place, _) in name.match_indices('/') {
        contents.remove(name.get(..place).unwrap_or_default());
    }
    remove_below(contents, name, &HashSet::new());
    Ok(contents.insert(path.clone(), file)?)
}

#[cfg(test)]
mod tests;
