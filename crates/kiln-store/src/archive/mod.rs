//! Images as archives, for machines without a registry: written in OCI's form, read in OCI's and Docker's.
//!
//! Layers are copied between archive and store without being held in memory. Equal images give equal archives.

mod docker;
mod files;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use kiln_oci::{
    Descriptor, Digest, DigestHasher, ImageIndex, ImageReference, Platform, media_type,
};

use crate::add::{AddError, ImageParts, NewImage};
use crate::cancel::CancelFlag;
use crate::error::StoreError;
use crate::image::StoredImage;
use crate::list::remove_file;
use crate::references::ResolvedReference;
use crate::store::Store;
use crate::work::WorkDirectory;
use files::{ArchiveFiles, FoundImage};

const LAYOUT_FILE: &str = "oci-layout";
const LAYOUT_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX_FILE: &str = "index.json";
/// The annotations with the name of an image: containerd's and Docker's, and OCI's.
const NAMES: [&str; 2] = [
    "io.containerd.image.name",
    "org.opencontainers.image.ref.name",
];

/// Why an archive cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write the archive")]
    Write(#[source] io::Error),
    #[error("cannot read the archive")]
    Read(#[source] io::Error),
    #[error(
        "it is neither an OCI archive ({0} is missing) nor one of Docker (manifest.json is missing)"
    )]
    MissingFile(&'static str),
    #[error("{name} in the archive is invalid")]
    Invalid {
        name: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the archive has no blob {0}, which a manifest refers to")]
    MissingBlob(Digest),
    #[error("the archive has no file {0:?}, which its manifest.json refers to")]
    MissingPath(String),
    /// The image is unpacked, but a layer or document of it was removed.
    #[error("the store no longer has the blob {0} of the image")]
    NotStored(Digest),
    #[error("the blob {0} of the image is damaged in the store")]
    DamagedBlob(Digest),
    #[error("{0} in the archive has another digest than its name")]
    Digest(Digest),
    #[error("{digest} in the archive has {actual} bytes, but a manifest says {expected}")]
    Size {
        digest: Digest,
        expected: u64,
        actual: u64,
    },
    #[error("the archive has no image for {platform}; it has {available}")]
    NoPlatform {
        platform: Platform,
        /// The platforms that it has images for.
        available: String,
    },
    #[error("the archive is larger than the limit of {0} bytes")]
    TooLarge(u64),
    #[error("cannot unpack the image {manifest_digest}")]
    Unpack {
        manifest_digest: Digest,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// An image that was imported.
#[derive(Clone, Debug)]
pub struct ImportedImage {
    pub image: StoredImage,
    /// The name under which the store finds it; `None` if the archive has no name and the caller gave none.
    pub reference: Option<ImageReference>,
}

impl Store {
    /// Writes an image as an OCI archive, in the form that the registry has it.
    pub fn export(
        &self,
        reference: &ImageReference,
        platform: &Platform,
        to: &mut dyn Write,
    ) -> Result<(), ArchiveError> {
        let not_found = || StoreError::NotFound(reference.to_string());
        let image = self.find(reference, platform)?.ok_or_else(not_found)?;
        let manifest_digest = &image.meta().manifest_digest;
        let stored = self.manifest(manifest_digest)?;
        let stored = stored.ok_or_else(|| ArchiveError::NotStored(manifest_digest.clone()))?;
        let mut descriptor = stored.descriptor;
        let named = &image.meta().platform;
        descriptor.platform = Some(match named.architecture.as_str() {
            // The config of kpt's modules names none.
            "" => platform.clone(),
            _ => named.clone(),
        });
        let names = NAMES.map(|key| (key.to_owned(), reference.to_string()));
        descriptor.annotations.extend(names);
        self.write_layout(vec![descriptor], self.blobs_of(manifest_digest)?, to)
    }

    /// Writes images as one OCI archive in which they have the digests that the references resolve to: those of indexes, where
    /// there are some. Of an index, only the image for the platform is written.
    pub fn export_all(
        &self,
        references: &[ImageReference],
        platform: &Platform,
        to: &mut dyn Write,
    ) -> Result<(), ArchiveError> {
        let mut roots = Vec::new();
        let mut blobs = BTreeSet::new();
        for reference in references {
            let chain = self.image_chain(reference, platform)?.unwrap_or_default();
            let (Some(root), Some(manifest_digest)) = (chain.first(), chain.last()) else {
                return Err(StoreError::NotFound(reference.to_string()).into());
            };
            let stored = self.manifest(root)?;
            let stored = stored.ok_or_else(|| ArchiveError::NotStored(root.clone()))?;
            let mut descriptor = stored.descriptor;
            let names = NAMES.map(|key| (key.to_owned(), reference.to_string()));
            descriptor.annotations.extend(names);
            blobs.extend(self.blobs_of(manifest_digest)?);
            blobs.extend(chain);
            roots.push(descriptor);
        }
        self.write_layout(roots, blobs, to)
    }

    /// Writes an archive of blobs, with an index of its images.
    fn write_layout(
        &self,
        manifests: Vec<Descriptor>,
        blobs: BTreeSet<Digest>,
        to: &mut dyn Write,
    ) -> Result<(), ArchiveError> {
        let index = ImageIndex {
            schema_version: 2,
            media_type: Some(media_type::OCI_INDEX.to_owned()),
            manifests,
        };
        let index = serde_json::to_vec(&index).map_err(|error| invalid(INDEX_FILE, error))?;
        let mut archive = tar::Builder::new(to);
        let mut add = |path: &str, size: u64, content: &mut dyn Read| {
            let mut header = tar::Header::new_ustar();
            header.set_size(size);
            header.set_mode(0o644);
            header.set_mtime(0);
            let added = archive.append_data(&mut header, path, content);
            added.map_err(ArchiveError::Write)
        };
        add(LAYOUT_FILE, LAYOUT_TEXT.len() as u64, &mut &*LAYOUT_TEXT)?;
        add(INDEX_FILE, index.len() as u64, &mut index.as_slice())?;
        for digest in blobs {
            let mut blob = match self.open_blob(&digest) {
                Err(StoreError::NotFound(_)) => return Err(ArchiveError::NotStored(digest)),
                blob => blob?,
            };
            let size = blob.metadata().map_err(ArchiveError::Write)?.len();
            let path = format!("blobs/{}/{}", digest.algorithm(), digest.hex());
            let mut hashed = HashedReader {
                from: &mut blob,
                hasher: digest.hasher(),
            };
            add(&path, size, &mut hashed)?;
            if hashed.hasher.finish() != digest {
                return Err(ArchiveError::DamagedBlob(digest));
            }
        }
        let to = archive.into_inner().map_err(ArchiveError::Write)?;
        to.flush().map_err(ArchiveError::Write)
    }

    /// Adds the images of an archive of OCI or Docker, compressed or not: of each one that for the first platform that it is
    /// for. `name` is the name of the images instead of that in the archive.
    pub fn import(
        &self,
        from: &mut dyn Read,
        platforms: &[Platform],
        name: Option<&ImageReference>,
    ) -> Result<Vec<ImportedImage>, ArchiveError> {
        self.remove_abandoned_work()?;
        let _blob_lock = self.lock_blobs(&CancelFlag::default())?;
        let work = self.work_directory()?;
        let files = ArchiveFiles::read(from, &work, self.options().limits.image_bytes)?;
        let mut imported = Vec::new();
        let mut added = BTreeSet::new();
        for root in &files.index.manifests {
            let mut found = None;
            for platform in platforms {
                if let Some(image) = files.image_below(root, platform)? {
                    found = Some((platform, image));
                    break;
                }
            }
            let Some((platform, found)) = found else {
                continue;
            };
            let reference = name.cloned().or_else(|| reference_of(root));
            let image = self.import_image(&files, &work, &found)?;
            if let Some(reference) = &reference {
                let digest = &root.digest;
                let manifest_digest = &image.meta().manifest_digest;
                let resolved = ResolvedReference::new(reference, platform, digest, manifest_digest);
                self.write_resolved(&work, &resolved)?;
            }
            let key = (reference.clone(), image.meta().manifest_digest.clone());
            if added.insert(key) {
                imported.push(ImportedImage { image, reference });
            }
        }
        match platforms.first() {
            Some(platform) if imported.is_empty() => Err(ArchiveError::NoPlatform {
                platform: platform.clone(),
                available: files.platforms(),
            }),
            _ => Ok(imported),
        }
    }

    fn import_image(
        &self,
        files: &ArchiveFiles,
        work: &WorkDirectory,
        found: &FoundImage,
    ) -> Result<StoredImage, ArchiveError> {
        let parts = &found.parts;
        let layers = parts.layers.iter().map(|layer| &layer.digest);
        for digest in found.documents.iter().chain(layers) {
            let path = match files.blob_path(digest) {
                Err(ArchiveError::MissingBlob(_)) if self.blob_path(digest).exists() => continue,
                path => path?,
            };
            // Another image of the archive may need it too.
            let copy = work.path().join("import");
            std::fs::hard_link(path, &copy).map_err(StoreError::io("write", &copy))?;
            // Also if the store has it: it may be damaged there.
            self.adopt_blob(&copy, digest)?;
            // A blob is not renamed onto itself.
            remove_file(&copy)?;
        }
        for layer in &parts.layers {
            self.check_size(layer)?;
        }
        let never = CancelFlag::default();
        let _image_lock = self.lock_image(&parts.manifest_digest, &never, &|| {})?;
        match StoredImage::open(self, &parts.manifest_digest) {
            Err(StoreError::Damaged { .. }) | Ok(None) => {}
            Err(error) => return Err(error.into()),
            Ok(Some(image)) => return Ok(image),
        }
        let unpack = || -> Result<StoredImage, AddError> {
            let mut image = NewImage::begin(self, parts.clone())?;
            for layer in 0..parts.layers.len() {
                image.unpack_layer(layer, &never)?;
            }
            image.publish()
        };
        unpack().map_err(|error| match error {
            AddError::Store(error) => error.into(),
            AddError::LayerFormat(source) => unpack_error(parts, source),
            AddError::Unpack(source) => unpack_error(parts, source),
        })
    }

    /// Checks the size that a manifest gives for a layer: a limit for unpacking depends on it.
    fn check_size(&self, layer: &Descriptor) -> Result<(), ArchiveError> {
        let path = self.blob_path(&layer.digest);
        let metadata = std::fs::metadata(&path).map_err(StoreError::io("read", &path))?;
        match metadata.len() == layer.size {
            true => Ok(()),
            false => Err(ArchiveError::Size {
                digest: layer.digest.clone(),
                expected: layer.size,
                actual: metadata.len(),
            }),
        }
    }
}

/// Hashes what is read.
struct HashedReader<'a> {
    from: &'a mut dyn Read,
    hasher: DigestHasher,
}

impl Read for HashedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

fn unpack_error(
    parts: &ImageParts,
    source: impl std::error::Error + Send + Sync + 'static,
) -> ArchiveError {
    ArchiveError::Unpack {
        manifest_digest: parts.manifest_digest.clone(),
        source: Box::new(source),
    }
}

fn invalid(
    name: impl ToString,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ArchiveError {
    ArchiveError::Invalid {
        name: name.to_string(),
        source: source.into(),
    }
}

/// The name of an image in an archive. A tag alone is not a name.
fn reference_of(root: &Descriptor) -> Option<ImageReference> {
    let names = NAMES.iter().filter_map(|key| root.annotations.get(*key));
    let mut names = names.filter(|name| name.contains(['/', ':']));
    names.find_map(|name| name.parse().ok())
}
