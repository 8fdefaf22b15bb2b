//! Compiled code on disk.
//!
//! The directory belongs to this user alone and is never shared: its files are machine code. A file's name has the digest of the
//! module, the settings of the compiler and the digest of the file itself. Files are written under temporary names and renamed, so that a
//! reader finds a whole file or none; a file that does not fit is a miss.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use kiln_sandbox::{CompiledCodeError, check_private_directory, load_compiled};
use rustix::fs::{FlockOperation, flock};

use crate::disk_limit::{LOCK, remove_unused};
use crate::engine::compiler;
use crate::module::{ModuleDigest, WasmModule};

/// How many bytes all files together may take.
const MAX_SIZE: u64 = 2 << 30;

const EXTENSION: &str = ".cwasm";
/// The extension of a file that is being written.
const PARTIAL: &str = ".partial";

pub(crate) struct CompiledCache {
    directory: PathBuf,
}

/// Why code cannot be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeNotStored {
    #[error(transparent)]
    NotPrivate(CompiledCodeError),
    #[error("cannot write to {}", directory.display())]
    Write {
        directory: PathBuf,
        source: io::Error,
    },
}

/// Held while a module is compiled, so that only one process does it.
pub(crate) struct CompileLock {
    _file: File,
}

impl CompiledCache {
    pub(crate) fn new(directory: PathBuf) -> CompiledCache {
        CompiledCache { directory }
    }

    /// The stored code of a module. Any problem is a miss.
    pub(crate) fn load(&self, module: &WasmModule) -> Option<wasmtime::Module> {
        let engine = compiler::engine().ok()?;
        let prefix = prefix(module)?;
        let entries = fs::read_dir(&self.directory).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for name in names.filter(|name| name.starts_with(&prefix)) {
            let Some(digest) = file_digest(&name, &prefix) else {
                continue;
            };
            match load_compiled(engine, &self.directory, &name, digest.bytes()) {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!("{}", kiln_go::error_chain(&error));
                    if let CompiledCodeError::Damaged { path }
                    | CompiledCodeError::NotForThisProgram { path, .. } = error
                    {
                        let _ = fs::remove_file(path);
                    }
                }
            }
        }
        None
    }

    /// Notes that a module is used; returns whether that was noted before.
    pub(crate) fn note_use(&self, module: &WasmModule) -> bool {
        let path = self.directory.join(format!("{}.used", module.digest));
        if path.exists() {
            return true;
        }
        let _ = self.make_directory().and_then(|()| new_file(&path));
        false
    }

    /// Waits until no other process compiles the module. An error means that code cannot be stored.
    pub(crate) fn lock(&self, module: &WasmModule) -> Result<CompileLock, CodeNotStored> {
        let failed = |error: io::Error| self.failed(error);
        self.make_directory().map_err(failed)?;
        check_private_directory(&self.directory).map_err(CodeNotStored::NotPrivate)?;
        let path = self.directory.join(format!("{}{LOCK}", module.digest));
        let file = private_options().truncate(false).open(path);
        let file = file.map_err(failed)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        self.remove_partial(module);
        Ok(CompileLock { _file: file })
    }

    fn failed(&self, source: io::Error) -> CodeNotStored {
        CodeNotStored::Write {
            directory: self.directory.clone(),
            source,
        }
    }

    /// Removes what a killed process has begun to write. The lock of the module is held, so no process writes now.
    fn remove_partial(&self, module: &WasmModule) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        let digest = module.digest.to_string();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&digest) && name.ends_with(PARTIAL) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Stores code while its module is locked.
    pub(crate) fn store(
        &self,
        module: &WasmModule,
        compiled: &wasmtime::Module,
        _: &CompileLock,
    ) -> Result<(), CodeNotStored> {
        let stored = || -> io::Result<()> {
            let bytes = compiled.serialize().map_err(io::Error::other)?;
            let prefix = prefix(module).ok_or_else(|| io::Error::other("no compiler"))?;
            let digest = ModuleDigest::of(&bytes);
            let partial = self
                .directory
                .join(format!("{prefix}{}{PARTIAL}", std::process::id()));
            let written = write(&partial, &bytes).and_then(|()| {
                fs::rename(
                    &partial,
                    self.directory.join(format!("{prefix}{digest}{EXTENSION}")),
                )
            });
            if written.is_err() {
                let _ = fs::remove_file(&partial);
            }
            written
        };
        stored().map_err(|error| self.failed(error))?;
        remove_unused(&self.directory, MAX_SIZE);
        Ok(())
    }

    fn make_directory(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
    }
}

/// The beginning of the names of files with the code of a module for these settings.
fn prefix(module: &WasmModule) -> Option<String> {
    let settings = compiler::settings().ok()?;
    Some(format!("{}-{settings:016x}-", module.digest))
}

/// The digest in the name of a file.
fn file_digest(name: &str, prefix: &str) -> Option<ModuleDigest> {
    ModuleDigest::parse(name.strip_prefix(prefix)?.strip_suffix(EXTENSION)?)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

fn new_file(path: &Path) -> io::Result<File> {
    private_options().truncate(true).open(path)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
