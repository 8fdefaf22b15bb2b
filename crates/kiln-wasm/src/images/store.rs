//! Modules on disk, and what references resolved to.
//!
//! | path | content |
//! |---|---|
//! | `modules/HEX.wasm` | a module, by its SHA-256 |
//! | `references/HEX.json` | what a reference resolved to, by the SHA-256 of the reference |
//!
//! It is a cache: what cannot be read or written is as if it were not there, and what was not used for longest is removed if the
//! directories become too large.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::module_command::ModuleCommand;
use super::{Resolution, has_digest};
use crate::disk_limit::remove_unused;
use crate::module::{ModuleDigest, WasmModule};

/// How long an image that is not a module is not looked up again.
pub(super) const NOT_WASM_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// How many bytes all modules may take, and all that references resolved to. The latter are some thousand files.
const MAX_MODULES: u64 = 2 << 30;
const MAX_REFERENCES: u64 = 1 << 20;

pub(super) struct ModuleStore {
    modules: PathBuf,
    references: PathBuf,
}

/// What a reference resolved to.
pub(super) enum StoredResolution {
    Module(ModuleDigest, ModuleCommand),
    NotWasm,
}

#[derive(Serialize, Deserialize)]
struct ReferenceFile {
    image: String,
    /// The SHA-256 of the module; missing if the image is not a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// How the image runs the module.
    #[serde(flatten)]
    command: ModuleCommand,
    /// When it was looked up, in seconds since 1970.
    at: u64,
}

impl ModuleStore {
    pub(super) fn new(cache: &Path) -> ModuleStore {
        ModuleStore {
            modules: cache.join("modules"),
            references: cache.join("references"),
        }
    }

    pub(super) fn resolution(&self, image: &str) -> Option<StoredResolution> {
        let bytes = fs::read(self.reference_path(image)).ok()?;
        let file: ReferenceFile = serde_json::from_slice(&bytes).ok()?;
        if file.image != image {
            return None;
        }
        let age = Duration::from_secs(now().checked_sub(file.at)?);
        match file.module {
            Some(hex) => {
                let digest = ModuleDigest::parse(&hex)?;
                Some(StoredResolution::Module(digest, file.command))
            }
            None if has_digest(image) || age < NOT_WASM_FOR => Some(StoredResolution::NotWasm),
            None => None,
        }
    }

    /// A stored module. Its digest is checked.
    pub(super) fn module(&self, digest: ModuleDigest) -> Option<WasmModule> {
        let bytes = fs::read(self.modules.join(format!("{digest}.wasm"))).ok()?;
        let module = WasmModule::parse(bytes.into()).ok()?;
        (module.digest == digest).then_some(module)
    }

    pub(super) fn keep(&self, image: &str, resolution: &Resolution) {
        let kept = || -> io::Result<()> {
            let (module, command) = match resolution {
                Resolution::NotWasm => (None, ModuleCommand::default()),
                Resolution::Module(image) => {
                    let module = &image.module;
                    let name = format!("{}.wasm", module.digest);
                    write_whole(&self.modules, &name, &module.bytes)?;
                    remove_unused(&self.modules, MAX_MODULES);
                    (Some(module.digest.to_string()), image.command.clone())
                }
            };
            let file = ReferenceFile {
                image: image.to_owned(),
                module,
                command,
                at: now(),
            };
            let path = self.reference_path(image);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            write_whole(&self.references, &name, &serde_json::to_vec(&file)?)?;
            remove_unused(&self.references, MAX_REFERENCES);
            Ok(())
        };
        if let Err(error) = kept() {
            tracing::warn!(
                "cannot store what {image} is in {}: {error}",
                self.references.display()
            );
        }
    }

    fn reference_path(&self, image: &str) -> PathBuf {
        let name = ModuleDigest::of(image.as_bytes());
        self.references.join(format!("{name}.json"))
    }
}

/// Writes a file under a temporary name and renames it, so that a reader finds a whole file or none.
fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let partial = directory.join(format!(".{name}.{}", std::process::id()));
    let written =
        fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, directory.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
