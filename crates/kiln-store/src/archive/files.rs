//! Reads an archive: its files are copied into the store's file system, and their digests computed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use kiln_oci::{
    Descriptor, Digest, DigestHasher, ImageConfig, ImageIndex, LayerReader, Manifest, Platform,
    StoredManifest, media_type, select_platform,
};

use super::docker::{self, ArchivePaths};
use super::{ArchiveError, INDEX_FILE, LAYOUT_FILE, invalid};
use crate::add::ImageParts;
use crate::error::StoreError;
use crate::find::MAX_NESTING;
use crate::store::file_name;
use crate::unpack::{ArchiveReader, EntryKind, StreamBudget, UnpackProblem};
use crate::work::WorkDirectory;

/// The largest manifest, index or config.
const MAX_DOCUMENT: u64 = 8 << 20;

/// The files of an archive, with its blobs in a work directory.
pub(super) struct ArchiveFiles {
    pub(super) index: ImageIndex,
    blobs: BTreeMap<Digest, PathBuf>,
}

/// An image in an archive.
pub(super) struct FoundImage {
    pub(super) parts: ImageParts,
    /// Indexes, manifest and config.
    pub(super) documents: Vec<Digest>,
}

impl ArchiveFiles {
    /// Copies the blobs of an archive into a directory, and checks their digests. The archive may be compressed.
    pub(super) fn read(
        from: &mut dyn Read,
        work: &WorkDirectory,
        limit: u64,
    ) -> Result<ArchiveFiles, ArchiveError> {
        let unpacked = LayerReader::from_reader(media_type::OCI_LAYER, from, None);
        let mut unpacked = unpacked.map_err(|error| invalid("the archive", error))?;
        let mut archive = ArchiveReader::new(&mut unpacked, StreamBudget::new(limit));
        let mut blobs = BTreeMap::new();
        let mut paths = ArchivePaths::default();
        let (mut index, mut has_layout, mut saved) = (None, false, None);
        while let Some(entry) = archive.next_entry().map_err(read_error)? {
            let path = docker::plain(&String::from_utf8_lossy(&entry.path));
            match &entry.kind {
                EntryKind::File => {}
                EntryKind::Symlink(target) => {
                    paths.add_symlink(path, &String::from_utf8_lossy(target));
                    continue;
                }
                EntryKind::HardLink(target) => {
                    paths.add_hard_link(path, &String::from_utf8_lossy(target));
                    continue;
                }
                _ => continue,
            }
            match path.as_str() {
                LAYOUT_FILE => has_layout = true,
                INDEX_FILE => {
                    let text = read_document(EntryData(&mut archive));
                    let parsed = serde_json::from_slice(&text.map_err(ArchiveError::Read)?);
                    index = Some(parsed.map_err(|error| invalid(INDEX_FILE, error))?);
                }
                docker::MANIFEST_FILE => {
                    let text = read_document(EntryData(&mut archive));
                    saved = Some(text.map_err(ArchiveError::Read)?);
                }
                _ => match blob_digest(&path) {
                    Some(digest) => {
                        let (copy, actual) = copy_file(&mut archive, work, digest.hasher())?;
                        if actual != digest {
                            return Err(ArchiveError::Digest(digest));
                        }
                        paths.add_file(path, &digest);
                        blobs.insert(digest, copy);
                    }
                    None if paths.may_need(&path) => {
                        let hasher = DigestHasher::sha256();
                        let (copy, digest) = copy_file(&mut archive, work, hasher)?;
                        paths.add_file(path, &digest);
                        blobs.insert(digest, copy);
                    }
                    None => {}
                },
            }
        }
        let index = match (has_layout, index, saved) {
            (true, Some(index), _) => index,
            (_, None, Some(saved)) => docker::index(&saved, &paths, work, &mut blobs)?,
            (true, None, None) => return Err(ArchiveError::MissingFile(INDEX_FILE)),
            (false, ..) => return Err(ArchiveError::MissingFile(LAYOUT_FILE)),
        };
        Ok(ArchiveFiles { index, blobs })
    }

    /// The image for a platform that an entry of the index leads to. `None` if that is for other platforms.
    pub(super) fn image_below(
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
            let stored = self.manifest(&descriptor)?;
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
            let (config_digest, config_media_type) = (image.config.digest, image.config.media_type);
            let config = ImageConfig::parse(&self.document(&config_digest)?)
                .map_err(|error| invalid(&config_digest, error))?;
            documents.push(config_digest.clone());
            return Ok(Some(FoundImage {
                parts: ImageParts {
                    manifest_digest: descriptor.digest,
                    config_digest,
                    config_media_type,
                    config,
                    layers: image.layers,
                },
                documents,
            }));
        }
        Ok(None)
    }

    /// The platforms of the images, for messages. Attestations are for `unknown`.
    pub(super) fn platforms(&self) -> String {
        let mut named: Vec<String> = Vec::new();
        let mut add = |descriptor: &Descriptor| {
            if let Some(platform) = &descriptor.platform
                && platform.os != "unknown"
                && named.len() < MAX_LISTED
            {
                let name = platform.to_string();
                if !named.contains(&name) {
                    named.push(name);
                }
            }
        };
        for root in &self.index.manifests {
            add(root);
            if media_type::is_index(&root.media_type)
                && let Ok(stored) = self.manifest(root)
                && let Manifest::Index(index) = &stored.manifest
            {
                index.manifests.iter().for_each(&mut add);
            }
        }
        match named.is_empty() {
            true => "nothing".to_owned(),
            false => named.join(", "),
        }
    }

    fn manifest(&self, descriptor: &Descriptor) -> Result<StoredManifest, ArchiveError> {
        let bytes = self.document(&descriptor.digest)?;
        StoredManifest::parse(bytes.into(), Some(&descriptor.media_type))
            .map_err(|error| invalid(&descriptor.digest, error))
    }

    fn document(&self, digest: &Digest) -> Result<Vec<u8>, ArchiveError> {
        read_blob(&self.blobs, digest)
    }

    pub(super) fn blob_path(&self, digest: &Digest) -> Result<&Path, ArchiveError> {
        blob_path(&self.blobs, digest)
    }
}

/// The largest number of platforms in a message.
const MAX_LISTED: usize = 20;

pub(super) fn blob_path<'a>(
    blobs: &'a BTreeMap<Digest, PathBuf>,
    digest: &Digest,
) -> Result<&'a Path, ArchiveError> {
    let path = blobs.get(digest);
    let path = path.ok_or_else(|| ArchiveError::MissingBlob(digest.clone()))?;
    Ok(path)
}

/// Reads a manifest, index or config.
pub(super) fn read_blob(
    blobs: &BTreeMap<Digest, PathBuf>,
    digest: &Digest,
) -> Result<Vec<u8>, ArchiveError> {
    let file = File::open(blob_path(blobs, digest)?).map_err(ArchiveError::Read)?;
    read_document(file).map_err(ArchiveError::Read)
}

/// The digest of a blob in the OCI layout, by its path.
fn blob_digest(path: &str) -> Option<Digest> {
    let name = path.strip_prefix("blobs/")?;
    name.replacen('/', ":", 1).parse().ok()
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

/// Copies a file into a work directory, where it is named after its digest.
fn copy_file(
    from: &mut ArchiveReader<'_>,
    work: &WorkDirectory,
    mut hasher: DigestHasher,
) -> Result<(PathBuf, Digest), ArchiveError> {
    let new = work.path().join("copy");
    let file = File::create(&new);
    let mut file = file.map_err(StoreError::io("write", &new))?;
    let mut buffer = vec![0; 128 << 10];
    loop {
        let read = from.read_data(&mut buffer).map_err(read_error)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
        let written = file.write_all(bytes);
        written.map_err(StoreError::io("write", &new))?;
    }
    let digest = hasher.finish();
    let path = work.path().join(file_name(&digest));
    std::fs::rename(&new, &path).map_err(StoreError::io("write", &path))?;
    Ok((path, digest))
}
