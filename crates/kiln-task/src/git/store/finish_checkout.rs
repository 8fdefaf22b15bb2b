//! Finishes an interrupted update of checked-out files.
//!
//! Git refuses to, because it takes updated files for the user's changes. Here a file with its old content, its new content or a
//! beginning of that may be overwritten. Any other file was changed by the user and stays; git shows it as changed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::id::ObjectId;
use super::super::objects::ObjectReader;
use super::super::program::{GitError, GitProgram};
use super::PublishError;
use super::index_lock::IndexLock;
use super::work_tree::{CheckoutUpdate, work_tree_git};

/// A file that differs between the commits, with its old and new object.
struct ChangedFile {
    path: String,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

pub(super) fn finish_checkout(
    git: &GitProgram,
    checkout: &CheckoutUpdate,
    lock: &IndexLock,
) -> Result<(), PublishError> {
    let refusal = |error: &std::io::Error| checkout.refusal(&error.to_string());
    lock.copy_index().map_err(|error| refusal(&error))?;
    let work_tree = &checkout.work_tree;
    let git = work_tree_git(git, work_tree, lock)?;
    let (old, new) = (checkout.old_tree(), checkout.new.as_str());
    let arguments = ["-i", "-m", old, new].map(OsStr::new);
    match git.run("read-tree", &arguments, b"") {
        Ok(_) => {}
        Err(GitError::Failed { message, .. }) => return Err(checkout.refusal(&message)),
        Err(error) => return Err(error.into()),
    }
    let mut reader = ObjectReader::start(&git)?;
    let mut written = Vec::new();
    for changed in changes(&git, old, new)? {
        if !may_overwrite(&mut reader, work_tree, &changed)? {
            continue;
        }
        match changed.new {
            Some(_) => {
                written.extend_from_slice(changed.path.as_bytes());
                written.push(0);
            }
            None => remove(work_tree, &changed.path).map_err(|error| refusal(&error))?,
        }
    }
    let arguments = ["-f", "-q", "-z", "--stdin"].map(OsStr::new);
    git.run("checkout-index", &arguments, &written)?;
    let _ = git.run("update-index", &["-q", "--refresh"].map(OsStr::new), b"");
    Ok(())
}

fn changes(git: &GitProgram, old: &str, new: &str) -> Result<Vec<ChangedFile>, GitError> {
    let arguments = ["-r", "-z", "--no-renames", old, new].map(OsStr::new);
    let output = git.run("diff-tree", &arguments, b"")?;
    let mut fields = output.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    // `:100644 100644 OLD NEW M`, and the path.
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header);
        let mut ids = header.split(' ').skip(2).take(2).map(|id| {
            let is_none = id.bytes().all(|byte| byte == b'0');
            ObjectId::new(id).filter(|_| !is_none)
        });
        let (old, new) = (ids.next().flatten(), ids.next().flatten());
        // Files of packages have UTF-8 names; other files are not kiln's.
        if let Ok(path) = std::str::from_utf8(path) {
            let path = path.to_owned();
            changes.push(ChangedFile { path, old, new });
        }
    }
    Ok(changes)
}

fn may_overwrite(
    reader: &mut ObjectReader,
    work_tree: &Path,
    changed: &ChangedFile,
) -> Result<bool, GitError> {
    let file = work_tree.join(&changed.path);
    if !is_reached_without_links(work_tree, &changed.path) {
        return Ok(false);
    }
    let Ok(metadata) = fs::symlink_metadata(&file) else {
        return Ok(true);
    };
    let found = if metadata.is_symlink() {
        let target = fs::read_link(&file);
        target.map(|target| target.as_os_str().as_encoded_bytes().to_vec())
    } else if metadata.is_file() {
        fs::read(&file)
    } else {
        return Ok(false);
    };
    let Ok(found) = found else { return Ok(false) };
    let mut blob = |id: &Option<ObjectId>| -> Result<Option<Vec<u8>>, GitError> {
        let Some(id) = id else { return Ok(None) };
        let object = reader.read(id.as_str(), u64::MAX)?;
        Ok(object.and_then(|object| object.bytes))
    };
    // The user's git may convert line endings.
    let lines = |bytes: Vec<u8>| -> Vec<u8> { bytes.into_iter().filter(|b| *b != b'\r').collect() };
    let (old, new) = (blob(&changed.old)?, blob(&changed.new)?);
    let found = lines(found);
    Ok(old.map(lines).is_some_and(|old| old == found)
        || new.map(lines).is_some_and(|new| new.starts_with(&found)))
}

/// Whether no directory on the path is a symbolic link or a file.
fn is_reached_without_links(work_tree: &Path, path: &str) -> bool {
    let mut directory = PathBuf::from(work_tree);
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        directory.push(segment);
        let is_parent = segments.peek().is_some();
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if is_parent && !metadata.is_dir() => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
    true
}

/// Removes a file, and the directories that it leaves empty.
fn remove(work_tree: &Path, path: &str) -> std::io::Result<()> {
    let file = work_tree.join(path);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let parents = file.ancestors().skip(1);
    for parent in parents.take_while(|parent| *parent != work_tree) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(())
}
