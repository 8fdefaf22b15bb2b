//! Images as OCI archives, for machines without a registry.
//!
//! Layers are copied between archive and store without being held in memory. Equal images give equal archives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use kiln_oci::{
    Descriptor, Digest, ImageConfig, ImageIndex, ImageReference, Manifest, Platform,
    StoredManifest, media_type, select_platform,
};

use crate::add::{AddError, ImageParts, NewImage};
use crate::error::StoreError;
use crate::find::MAX_NESTING;
use crate::image::StoredImage;
use crate::references::ResolvedReference;
use crate::store::{Store, file_name};
use crate::unpack::{ArchiveReader, EntryKind, StreamBudget, UnpackProblem};
use crate::work::WorkDirectory;

/// The largest manifest, index or config.
const MAX_DOCUMENT: u64 = 8 << 20;
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
    #[error("it is not an OCI archive: {0} is missing")]
    MissingFile(&'static str),
    #[error("{name} in the archive is invalid")]
    Invalid {
        name: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the archive has no blob {0}, which a manifest refers to")]
    MissingBlob(Digest),
    /// The image is unpacked, but a layer or document of it was removed.
    #[error("the store no longer has the blob {0} of the image")]
    NotStored(Digest),
    #[error("{0} in the archive has another digest than its name")]
    Digest(Digest),
    #[error("the archive has no image for {0}")]
    NoPlatform(Platform),
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
        let stored = self.read_manifest(manifest_digest)?;
        let stored = stored.ok_or_else(|| ArchiveError::NotStored(manifest_digest.clone()))?;
        let mut descriptor = stored.descriptor;
        descriptor.platform = Some(image.meta().platform.clone());
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
            let stored = self.read_manifest(root)?;
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
            add(&path, size, &mut blob)?;
        }
        let to = archive.into_inner().map_err(ArchiveError::Write)?;
        to.flush().map_err(ArchiveError::Write)
    }

    /// Adds the images of an OCI archive for a platform. `name` is the name of an image that has none in the archive.
    pub fn import(
        &self,
        from: &mut dyn Read,
        platform: &Platform,
        name: Option<&ImageReference>,
    ) -> Result<Vec<ImportedImage>, ArchiveError> {
        self.remove_abandoned_work()?;
        let _blob_lock = self.lock_blobs()?;
        let work = self.work_directory()?;
        let files = ArchiveFiles::read(from, &work, self.options().limits.image_bytes)?;
        let mut imported = Vec::new();
        let mut added = BTreeSet::new();
        for root in &files.index.manifests {
            let Some(found) = files.image_below(root, platform)? else {
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
        match imported.is_empty() {
            true => Err(ArchiveError::NoPlatform(platform.clone())),
            false => Ok(imported),
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
            if !self.has_blob(digest) {
                let path = files.blob_path(digest)?;
                // Another image of the archive may need it too.
                let copy = work.path().join("import");
                std::fs::hard_link(path, &copy).map_err(StoreError::io("write", &copy))?;
                self.adopt_blob(&copy, digest)?;
            }
        }
        let _image_lock = self.lock_image(&parts.manifest_digest, &|| {})?;
        match StoredImage::open(self, &parts.manifest_digest) {
            Err(StoreError::Damaged { .. }) | Ok(None) => {}
            Err(error) => return Err(error.into()),
            Ok(Some(image)) => return Ok(image),
        }
        let unpack = || -> Result<StoredImage, AddError> {
            let mut image = NewImage::begin(self, parts.clone())?;
            for layer in 0..parts.layers.len() {
                image.unpack_layer(layer)?;
            }
            image.publish()
        };
        unpack().map_err(|error| match error {
            AddError::Store(error) => error.into(),
            AddError::LayerFormat(source) => unpack_error(parts, source),
            AddError::Unpack(source) => unpack_error(parts, source),
        })
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

/// The files of an archive, with its blobs in a work directory.
struct ArchiveFiles {
    index: ImageIndex,
    blobs: BTreeMap<Digest, PathBuf>,
}

/// An image in an archive.
struct FoundImage {
    parts: ImageParts,
    /// Indexes, manifest and config.
    documents: Vec<Digest>,
}

impl ArchiveFiles {
    /// Copies the blobs of an archive into a directory, and checks their digests.
    fn read(
        from: &mut dyn Read,
        work: &WorkDirectory,
        limit: u64,
    ) -> Result<ArchiveFiles, ArchiveError> {
        let mut archive = ArchiveReader::new(from, StreamBudget::new(limit));
        let mut blobs = BTreeMap::new();
        let (mut index, mut has_layout) = (None, false);
        while let Some(entry) = archive.next_entry().map_err(read_error)? {
            if entry.kind != EntryKind::File {
                continue;
            }
            let path = String::from_utf8_lossy(&entry.path);
            match path.strip_prefix("./").unwrap_or(&path) {
                LAYOUT_FILE => has_layout = true,
                INDEX_FILE => {
                    let text =
                        read_document(EntryData(&mut archive)).map_err(ArchiveError::Read)?;
                    let parsed = serde_json::from_slice(&text);
                    index = Some(parsed.map_err(|error| invalid(INDEX_FILE, error))?);
                }
                path => {
                    let name = path.strip_prefix("blobs/");
                    let name = name.map(|name| name.replacen('/', ":", 1));
                    if let Some(Ok(digest)) = name.map(|name| name.parse::<Digest>()) {
                        let copy = copy_blob(&mut archive, work, &digest)?;
                        blobs.insert(digest, copy);
                    }
                }
            }
        }
        if !has_layout {
            return Err(ArchiveError::MissingFile(LAYOUT_FILE));
        }
        let index = index.ok_or(ArchiveError::MissingFile(INDEX_FILE))?;
        Ok(ArchiveFiles { index, blobs })
    }

    /// The image for a platform that an entry of the index leads to. `None` if that is for other platforms.
    fn image_below(
        &self,
        root: &Descriptor,
        platform: &Platform,
    ) -> Result<Option<FoundImage>, ArchiveError> {
        let mut descriptor = root.clone();
        let mut documents = Vec::new();
        for _ in 0..=MAX_NESTING {
            // Attestations have manifests too.
            let is_known = media_type::is_manifest(&descriptor.media_type)
                || media_type::is_index(&descriptor.media_type);
            if !is_known || !fits(&descriptor, platform) {
                return Ok(None);
            }
            let bytes = self.document(&descriptor.digest)?;
            let stored = StoredManifest::parse(bytes.into(), Some(&descriptor.media_type))
                .map_err(|error| invalid(&descriptor.digest, error))?;
            documents.push(descriptor.digest.clone());
            let image = match stored.manifest {
                Manifest::Image(image) => image,
                Manifest::Index(index) => match select_platform(&index, platform) {
                    Some(entry) => {
                        descriptor = entry.clone();
                        continue;
                    }
                    None => return Ok(None),
                },
            };
            let config_digest = image.config.digest;
            let config = ImageConfig::parse(&self.document(&config_digest)?)
                .map_err(|error| invalid(&config_digest, error))?;
            documents.push(config_digest.clone());
            return Ok(Some(FoundImage {
                parts: ImageParts {
                    manifest_digest: descriptor.digest,
                    config_digest,
                    config,
                    layers: image.layers,
                },
                documents,
            }));
        }
        Ok(None)
    }

    fn document(&self, digest: &Digest) -> Result<Vec<u8>, ArchiveError> {
        let file = File::open(self.blob_path(digest)?).map_err(ArchiveError::Read)?;
        read_document(file).map_err(ArchiveError::Read)
    }

    fn blob_path(&self, digest: &Digest) -> Result<&Path, ArchiveError> {
        let path = self.blobs.get(digest);
        let path = path.ok_or_else(|| ArchiveError::MissingBlob(digest.clone()))?;
        Ok(path)
    }
}

/// Whether an entry of an index may be for a platform.
fn fits(descriptor: &Descriptor, platform: &Platform) -> bool {
    descriptor.platform.as_ref().is_none_or(|offered| {
        offered.os == platform.os && offered.architecture == platform.architecture
    })
}

/// Reads a manifest, index or config.
fn read_document(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_DOCUMENT {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// The data of an entry as a stream.
struct EntryData<'a, 'b>(&'a mut ArchiveReader<'b>);

impl Read for EntryData<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_data(buffer).map_err(|problem| match problem {
            UnpackProblem::Io(error) => error,
            problem => io::Error::other(problem),
        })
    }
}

fn read_error(problem: UnpackProblem) -> ArchiveError {
    match problem {
        UnpackProblem::Io(error) => ArchiveError::Read(error),
        UnpackProblem::Limit { limit, .. } => ArchiveError::TooLarge(limit),
        problem => ArchiveError::Read(io::Error::other(problem)),
    }
}

/// Copies a blob into a work directory and checks its digest.
fn copy_blob(
    from: &mut ArchiveReader<'_>,
    work: &WorkDirectory,
    digest: &Digest,
) -> Result<PathBuf, ArchiveError> {
    let path = work.path().join(file_name(digest));
    let file = File::create(&path);
    let mut file = file.map_err(StoreError::io("write", &path))?;
    let mut hasher = digest.hasher();
    let mut buffer = vec![0; 128 << 10];
    loop {
        let read = from.read_data(&mut buffer).map_err(read_error)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        let written = file.write_all(bytes);
        written.map_err(StoreError::io("write", &path))?;
    }
    match hasher.finish() == *digest {
        true => Ok(path),
        false => Err(ArchiveError::Digest(digest.clone())),
    }
}
