//! Prepares the mounts of a run, with the rights of this process.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use libc::MOUNT_ATTR_RDONLY;
use rustix::fs::CWD;

use super::super::kernel::MountReach;
use super::super::step::ConfineStep;
use super::mounts::{
    ChosenDirectory, FOREIGN, ImageMounts, LAYER, MountPointLayer, MountSource, MountTarget,
    PreparedMount, WritableDirectory,
};
use super::paths::UnpackedImage;
use crate::image::{ImageMount, ImageProcess, MountAccess};
use crate::measure::SandboxError;

/// Files of the file system in memory: each takes memory of the kernel, too.
const MOST_FILES: u64 = 1 << 16;

/// The mounts of a run with so many bytes for files. `is_other_user` is whether the function has another user than we,
/// which may not be able to reach files by their path.
pub(super) fn mounts(
    process: &ImageProcess,
    is_other_user: bool,
    memory: u64,
) -> Result<ImageMounts, SandboxError> {
    let root = process.root.canonicalize();
    let root = root.map_err(|source| SandboxError::Path {
        path: process.root.clone(),
        source,
    })?;
    let root = mount_source(&root, is_other_user, MountReach::One);
    // Nothing here depends on the image: this system does not let this process mount.
    let root = root.map_err(|source| super::refused(ConfineStep::Root, source))?;
    let mut targets: Vec<&PathBuf> = process.writable.iter().collect();
    targets.sort();
    let writable = targets.into_iter().enumerate().map(|(number, target)| {
        let made_at = inside(Path::new(&format!("/dev/writable-{number}")))?;
        let target = chosen_directory(target)?;
        Ok(WritableDirectory { made_at, target })
    });
    let mounts = process.mounts.iter().enumerate();
    let mounts = mounts.map(|(number, mount)| prepare_mount(mount, number, is_other_user));
    let mounts: Vec<PreparedMount> = mounts.collect::<Result<_, SandboxError>>()?;
    let options = format!("size={memory},nr_inodes={MOST_FILES},mode=755");
    Ok(ImageMounts {
        root,
        layer: layer(process, &mounts)?,
        memory_options: inside(Path::new(&options))?,
        writable: writable.collect::<Result<_, SandboxError>>()?,
        directory: chosen_directory(&process.directory)?,
        mounts,
    })
}

/// Checks the paths that the image or the user chose.
pub(super) fn check_paths(process: &ImageProcess) -> Result<(), SandboxError> {
    let image = UnpackedImage::open(&process.root)?;
    let chosen = process.writable.iter().chain([&process.directory]);
    let chosen = chosen.chain(process.mounts.iter().map(|mount| &mount.target));
    let program = Some(&process.program).filter(|program| !program.as_os_str().is_empty());
    for path in chosen.chain(program) {
        image.check(path)?;
    }
    Ok(())
}

fn prepare_mount(
    mount: &ImageMount,
    number: usize,
    is_other_user: bool,
) -> Result<PreparedMount, SandboxError> {
    let failed = |source| SandboxError::Mount {
        source_path: mount.source.clone(),
        target: mount.target.clone(),
        source,
    };
    let is_directory = std::fs::metadata(&mount.source).map_err(failed)?.is_dir();
    let source = mount.source.canonicalize();
    let source =
        source.and_then(|source| mount_source(&source, is_other_user, MountReach::AllBelow));
    Ok(PreparedMount {
        source: source.map_err(failed)?,
        kept_at: inside(Path::new(&format!("/dev/mount-{number}")))?,
        target: mount_target(&mount.target)?,
        attributes: match mount.access {
            MountAccess::ReadOnly => FOREIGN | MOUNT_ATTR_RDONLY,
            MountAccess::ReadWrite => FOREIGN,
        },
        is_directory,
    })
}

fn mount_target(path: &Path) -> Result<MountTarget, SandboxError> {
    Ok(MountTarget {
        path: inside(path)?,
        parent: inside(path.parent().unwrap_or(Path::new("/")))?,
        name: inside(Path::new(path.file_name().unwrap_or_default()))?,
    })
}

fn chosen_directory(path: &Path) -> Result<ChosenDirectory, SandboxError> {
    let parents = path
        .ancestors()
        .filter(|parent| parent.file_name().is_some());
    let mut steps = parents.map(mount_target).collect::<Result<Vec<_>, _>>()?;
    steps.reverse();
    Ok(ChosenDirectory {
        path: inside(path)?,
        steps,
    })
}

/// Files of this machine. The path has no links: it is resolved below the root of this machine, and again later.
fn mount_source(path: &Path, is_other_user: bool, reach: MountReach) -> io::Result<MountSource> {
    if is_other_user {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let made = MountSource::clone_tree(CWD, &path, reach)?;
        return Ok(MountSource::Made(made));
    }
    let below = path.strip_prefix("/").unwrap_or(path).as_os_str();
    let below = if below.is_empty() {
        OsStr::new(".")
    } else {
        below
    };
    Ok(MountSource::Path(CString::new(below.as_bytes())?))
}

/// The layer with the mount points that the image does not have; `None` if it has all.
fn layer(
    process: &ImageProcess,
    mounts: &[PreparedMount],
) -> Result<Option<MountPointLayer>, SandboxError> {
    let image = UnpackedImage::open(&process.root)?;
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let targets = process.mounts.iter().zip(mounts);
    let targets = targets.map(|(mount, prepared)| (&mount.target, prepared.is_directory));
    let targets = targets.chain(process.writable.iter().map(|target| (target, true)));
    for (target, is_directory) in targets {
        let below_writable = process.writable.iter();
        let mut below_writable = below_writable.filter(|directory| *directory != target);
        if image.has(target) || below_writable.any(|directory| target.starts_with(directory)) {
            continue;
        }
        // The names only, so that it stays inside the layer.
        let names = target.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let mut path = PathBuf::from(LAYER);
        let mut names = names.peekable();
        while let Some(name) = names.next() {
            path.push(name);
            match is_directory || names.peek().is_some() {
                true => directories.insert(path.clone()),
                false => files.insert(path.clone()),
            };
        }
    }
    if directories.is_empty() && files.is_empty() {
        return Ok(None);
    }
    // Parents sort before what is in them.
    let prepared = |paths: BTreeSet<PathBuf>| -> Result<Vec<CString>, SandboxError> {
        paths.iter().map(|path| inside(path)).collect()
    };
    Ok(Some(MountPointLayer {
        directories: prepared(directories)?,
        files: prepared(files)?,
    }))
}

/// A path inside an image, or another text for the kernel.
pub(super) fn inside(path: &Path) -> Result<CString, SandboxError> {
    let malformed = || SandboxError::MalformedPath {
        path: path.to_owned(),
    };
    CString::new(path.as_os_str().as_bytes()).map_err(|_| malformed())
}
