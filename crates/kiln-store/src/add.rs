//! Unpacks an image whose blobs are in the store, and makes it visible.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use kiln_oci::{Descriptor, Digest, ImageConfig, LayerFormatError, Platform, media_type};

use crate::cancel::{CancelFlag, CancelledReader};
use crate::decompress::PackedLayer;
use crate::error::StoreError;
use crate::image::{StoredImage, names};
use crate::lock::{FileLock, LockMode};
use crate::meta::{ArtifactLayer, ImageKind, ImageMeta, ImageSizes, UNPACK_VERSION};
use crate::program::find_program;
use crate::store::{Durability, Store, create_directory, file_name, image_directory_name};
use crate::unpack::{UnpackError, Unpacker, completion_error};
use crate::work::WorkDirectory;

/// What is known about an image before its layers are there.
#[derive(Clone, Debug)]
pub(crate) struct ImageParts {
    pub(crate) manifest_digest: Digest,
    pub(crate) config_digest: Digest,
    pub(crate) config_media_type: String,
    pub(crate) config: ImageConfig,
    /// Lowest first.
    pub(crate) layers: Vec<Descriptor>,
}

/// Why an image cannot be added.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    LayerFormat(#[from] LayerFormatError),
    #[error(transparent)]
    Unpack(#[from] UnpackError),
}

/// An image that is being unpacked. It is removed when it is dropped.
pub(crate) struct NewImage {
    store: Store,
    parts: ImageParts,
    diff_ids: Vec<Option<Digest>>,
    kind: ImageKind,
    unpacker: Unpacker,
    /// After the unpacker, which has files in it open.
    work: WorkDirectory,
}

/// Excludes other processes from adding the same image.
#[derive(Debug)]
pub(crate) struct AddLock {
    path: PathBuf,
    _lock: FileLock,
}

impl Drop for AddLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Store {
    /// Locks an image while it is added. `on_wait` is called before waiting for another process.
    pub(crate) fn lock_image(
        &self,
        manifest_digest: &Digest,
        cancel: &CancelFlag,
        on_wait: &dyn Fn(),
    ) -> Result<AddLock, StoreError> {
        let path = self.locks_path().join(file_name(manifest_digest));
        let tried = FileLock::try_acquire(&path, LockMode::Exclusive);
        let locked = match tried {
            Ok(None) => {
                on_wait();
                FileLock::acquire(&path, LockMode::Exclusive, cancel)
            }
            Ok(Some(lock)) => Ok(lock),
            Err(error) => Err(error),
        };
        let lock = locked.map_err(StoreError::io("lock", &path))?;
        Ok(AddLock { path, _lock: lock })
    }

    /// Keeps blobs from being removed while an image is added.
    pub(crate) fn lock_blobs(&self, cancel: &CancelFlag) -> Result<FileLock, StoreError> {
        let path = self.lock_path();
        let locked = FileLock::acquire(&path, LockMode::Shared, cancel);
        locked.map_err(StoreError::io("lock", &path))
    }
}

impl NewImage {
    /// Starts to unpack an image.
    pub(crate) fn begin(store: &Store, parts: ImageParts) -> Result<NewImage, AddError> {
        let is_layer = |layer: &Descriptor| media_type::is_layer(&layer.media_type);
        let kind = match parts.layers.iter().all(is_layer) {
            true => ImageKind::Image,
            false => ImageKind::Artifact,
        };
        let layers = parts.layers.len();
        let diff_ids = parts.config.diff_ids(layers)?;
        let is_image =
            kind == ImageKind::Image && media_type::is_image_config(&parts.config_media_type);
        if is_image && diff_ids.iter().any(Option::is_none) {
            let diff_ids = 0;
            return Err(LayerFormatError::Count { layers, diff_ids }.into());
        }
        let work = store.work_directory()?;
        let root = work.path().join(names::ROOT);
        create_directory(&root).map_err(StoreError::io("create", &root))?;
        // A function may run as another user. The directories around the root are closed to others.
        rustix::fs::chmod(&root, rustix::fs::Mode::from_raw_mode(0o755))
            .map_err(|error| StoreError::io("create", &root)(error.into()))?;
        let unpacker = Unpacker::new(&root, store.options().limits.clone());
        let unpacker = unpacker.map_err(StoreError::io("open", &root))?;
        Ok(NewImage {
            kind,
            store: store.clone(),
            parts,
            diff_ids,
            unpacker,
            work,
        })
    }

    /// Unpacks the next layer, a blob of the store.
    pub(crate) fn unpack_layer(
        &mut self,
        index: usize,
        cancel: &CancelFlag,
    ) -> Result<(), AddError> {
        let Some(layer) = self.parts.layers.get(index) else {
            return Ok(());
        };
        if self.kind == ImageKind::Artifact {
            return Ok(());
        }
        let blob = self.store.open_blob(&layer.digest)?;
        let diff_id = self.diff_ids.get(index).and_then(Option::as_ref);
        let packed = PackedLayer {
            blob,
            media_type: &layer.media_type,
            size: layer.size,
            diff_id,
        };
        let unpacker = &mut self.unpacker;
        let unpack = |stream: &mut dyn Read| {
            let mut archive = CancelledReader { stream, cancel };
            unpacker.apply(&mut archive, layer.size)
        };
        Ok(packed.decompress(unpack)??)
    }

    /// Makes the image visible, after its last layer.
    pub(crate) fn publish(self) -> Result<StoredImage, AddError> {
        let NewImage {
            store,
            parts,
            kind,
            mut unpacker,
            work,
            ..
        } = self;
        let ImageConfig { config: run, .. } = &parts.config;
        unpacker.add_mount_points(run)?;
        let unpacked = unpacker.finish()?;
        let command = parts.config.command_line();
        let program = match command.first() {
            Some(program) => find_program(unpacked.root.as_fd(), run, program),
            None => Ok(None),
        };
        let artifact_layers = parts.layers.iter().map(|layer| ArtifactLayer {
            media_type: layer.media_type.clone(),
            digest: layer.digest.clone(),
            size: layer.size,
        });
        let meta = ImageMeta {
            unpack_version: UNPACK_VERSION,
            manifest_digest: parts.manifest_digest.clone(),
            config_digest: parts.config_digest.clone(),
            kind,
            platform: Platform {
                architecture: parts.config.architecture.clone(),
                os: parts.config.os.clone(),
                variant: None,
            },
            run: run.clone(),
            program: program.map_err(|error| completion_error(error.into()))?,
            writable_directories: unpacked.record.writable_directories,
            skipped: unpacked.skipped,
            artifact_layers: match kind {
                ImageKind::Image => Vec::new(),
                ImageKind::Artifact => artifact_layers.collect(),
            },
            sizes: ImageSizes {
                packed: parts.layers.iter().map(|layer| layer.size).sum(),
                unpacked: unpacked.record.bytes,
                entries: unpacked.record.entries,
            },
            record_digest: Digest::of(unpacked.record.text.as_bytes()),
        };
        if store.options().durability == Durability::Synced {
            sync_files(&unpacked.root).map_err(|error| completion_error(error.into()))?;
        }
        write_files(work.path(), &unpacked.record.text, &meta)?;
        // Until the image is opened, so that no collection removes it as soon as it is visible.
        let use_path = work.path().join(names::USE);
        let locked = FileLock::acquire_existing(&use_path, LockMode::Shared);
        let _use_lock = locked.map_err(StoreError::io("lock", &use_path))?;
        move_into_place(&store, &work, &parts.manifest_digest)?;
        let image = StoredImage::open(&store, &parts.manifest_digest)?;
        let missing = || StoreError::NotFound(parts.manifest_digest.to_string());
        Ok(image.ok_or_else(missing)?)
    }
}

/// Waits until all files of the file system are on the disk.
fn sync_files(root: &std::os::fd::OwnedFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(root)?;
    #[cfg(not(target_os = "linux"))]
    rustix::fs::fsync(root)?;
    Ok(())
}

/// Writes the files beside the root, `meta.json` last.
fn write_files(directory: &Path, record: &str, meta: &ImageMeta) -> Result<(), StoreError> {
    let path = |name| directory.join(name);
    let record_path = path(names::RECORD);
    std::fs::write(&record_path, record).map_err(StoreError::io("write", &record_path))?;
    let use_path = path(names::USE);
    std::fs::write(&use_path, b"").map_err(StoreError::io("write", &use_path))?;
    let meta_path = path(names::META);
    let text = serde_json::to_vec_pretty(meta).map_err(|source| StoreError::Damaged {
        path: meta_path.clone(),
        source,
    })?;
    let write = || -> io::Result<()> {
        let mut file = File::create_new(&meta_path)?;
        file.write_all(&text)?;
        file.sync_all()?;
        File::open(directory)?.sync_all()
    };
    write().map_err(StoreError::io("write", &meta_path))
}

/// Renames the directory of an image into place. The work directory is gone then, and its lock remains.
fn move_into_place(
    store: &Store,
    work: &WorkDirectory,
    manifest_digest: &Digest,
) -> Result<(), StoreError> {
    let directory = store.image_directory(manifest_digest);
    let move_error = StoreError::io("write", &directory);
    match std::fs::rename(work.path(), &directory) {
        Ok(()) => {}
        // The image that is there is damaged: nothing else adds an image that the store has.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            let trash = store.work_directory()?;
            let moved = trash.path().join(image_directory_name(manifest_digest));
            std::fs::rename(&directory, &moved)
                .and_then(|()| std::fs::rename(work.path(), &directory))
                .map_err(move_error)?;
        }
        Err(error) => return Err(move_error(error)),
    }
    let roots = store.roots_path();
    let synced = File::open(&roots).and_then(|directory| directory.sync_all());
    synced.map_err(StoreError::io("write", &roots))
}
