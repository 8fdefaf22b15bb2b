//! The evaluator of modules in files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kiln_runtime::{
    Evaluator, FindError, Found, FunctionIdentity, FunctionSpec, Input, Outcome, ReproducibleCall,
    RunContext, RunError, Runner, Target,
};

use crate::engine::EngineError;
use crate::module::{MAX_MODULE, ModuleDigest, ModuleError, WasmModule, check_is_wasm, is_wasm};
use crate::options::WasmOptions;
use crate::run::{CallSettings, interrupt, interrupted, run};
use crate::tier::{LoadedModule, Tiers};

/// Runs modules. Clones share what is loaded.
#[derive(Clone)]
pub struct WasmEvaluator {
    pub(crate) shared: Arc<LoadedState>,
}

/// Why a module cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot run {name}")]
    Module {
        name: String,
        #[source]
        source: ModuleError,
    },
    #[error("cannot push {name}")]
    Push {
        name: String,
        #[source]
        source: ModuleError,
    },
    #[error("cannot compile {name}")]
    Compile {
        name: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("cannot run {name}")]
    Engine {
        name: String,
        #[source]
        source: EngineError,
    },
}

pub(crate) struct LoadedState {
    pub(crate) options: WasmOptions,
    tiers: Arc<Tiers>,
    loaded: Mutex<LoadedModules>,
}

/// The modules in memory.
#[derive(Default)]
struct LoadedModules {
    by_digest: HashMap<ModuleDigest, (u64, Arc<LoadedModule>)>,
    files: HashMap<PathBuf, (FileState, ModuleDigest)>,
    /// Increases with every use, to find what was not used for longest.
    uses: u64,
}

/// What changes when a file does.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How many bytes of modules stay in memory.
const MAX_LOADED: u64 = 512 << 20;

impl WasmEvaluator {
    pub fn new(options: WasmOptions) -> WasmEvaluator {
        let compiled = options.cache.as_ref().map(|cache| cache.join("compiled"));
        let tiers = Tiers::new(
            options.engine,
            options.usage,
            compiled,
            options.on_step.clone(),
        );
        WasmEvaluator {
            shared: Arc::new(LoadedState {
                tiers: Arc::new(tiers),
                options,
                loaded: Mutex::default(),
            }),
        }
    }

    /// The function in a file, if the file is WebAssembly.
    pub fn file(&self, path: &Path, arguments: &[String]) -> Option<Found> {
        let mut first = [0; 4];
        // Before it is opened: a pipe would wait for a writer.
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut file = File::open(path).ok()?;
        file.read_exact(&mut first).ok()?;
        if !is_wasm(&first) {
            return None;
        }
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let settings = self.shared.settings(name, arguments, &[]);
        Some(Found::blocking(FileRunner {
            shared: Arc::clone(&self.shared),
            path: path.to_owned(),
            settings,
        }))
    }

    /// The function in a module.
    pub fn module(&self, name: &str, module: WasmModule) -> Found {
        Found::blocking(ModuleRunner {
            settings: self.shared.settings(name.to_owned(), &[], &[]),
            loaded: self.shared.keep(module),
            shared: Arc::clone(&self.shared),
        })
    }

    /// Compiles a module and stores the code, so that the first call finds it.
    pub fn compile(&self, name: &str, module: WasmModule) -> Result<(), WasmError> {
        let loaded = self.shared.keep(module);
        let compiled = self.shared.tiers.compile_and_store(&loaded);
        compiled.map_err(|source| WasmError::Compile {
            name: name.to_owned(),
            source: Box::new(source),
        })
    }
}

/// Files of modules, by their path.
impl Evaluator for WasmEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let found = match &function.target {
            Target::Program(path) => self.file(Path::new(path), &[]),
            Target::Image(_) | Target::Exec(_) => None,
        };
        found.ok_or_else(|| FindError::not_found(function))
    }
}

impl LoadedState {
    pub(crate) fn settings(
        &self,
        name: String,
        arguments: &[String],
        environment: &[String],
    ) -> CallSettings {
        let mut words = vec![name];
        words.extend_from_slice(arguments);
        CallSettings {
            arguments: words,
            environment: environment.to_vec(),
            clock: self.options.clock,
            random: self.options.random,
            memory: self.options.memory,
        }
    }

    /// Runs a loaded module.
    pub(crate) fn run(
        &self,
        loaded: &Arc<LoadedModule>,
        settings: &CallSettings,
        input: &Input<'_>,
        ctx: &RunContext,
    ) -> Result<Outcome, RunError> {
        let code = self.tiers.code(loaded, &interrupt(ctx));
        let code = code.map_err(|source| {
            let name = settings.arguments.first().cloned().unwrap_or_default();
            interrupted(ctx).unwrap_or_else(|| unavailable(WasmError::Engine { name, source }))
        })?;
        let listener = self.options.on_step.as_ref();
        let interface = loaded.module.interface;
        let outcome = run(&*code, interface, settings, input.wire(), ctx, listener)?;
        let module = &loaded.module;
        let identity = FunctionIdentity::wasm(&module.digest.to_string(), module.interface.name());
        Ok(Outcome {
            identity: Some(identity),
            ..outcome
        })
    }

    /// Keeps a module in memory; what was not used for longest is dropped if there are too many.
    pub(crate) fn keep(&self, module: WasmModule) -> Arc<LoadedModule> {
        let mut loaded = self.lock();
        let kept = match loaded.get(module.digest) {
            Some(known) => known,
            None => {
                let digest = module.digest;
                let new = Arc::new(LoadedModule::new(module));
                let uses = loaded.uses;
                loaded.by_digest.insert(digest, (uses, Arc::clone(&new)));
                new
            }
        };
        loaded.drop_unused();
        kept
    }

    /// The module in a file, which is read only if it has changed.
    fn load_file(&self, path: &Path) -> Result<Arc<LoadedModule>, WasmError> {
        let read_error = |source: io::Error| WasmError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(read_error)?;
        let state = FileState::of(&file).map_err(read_error)?;
        {
            let mut loaded = self.lock();
            let digest = loaded
                .files
                .get(path)
                .filter(|(known, _)| *known == state)
                .map(|(_, digest)| *digest);
            if let Some(known) = digest.and_then(|digest| loaded.get(digest)) {
                return Ok(known);
            }
        }
        let module = read_module(file).map_err(read_error)?;
        let module = module.map_err(|source| WasmError::Module {
            name: path.display().to_string(),
            source,
        })?;
        let digest = module.digest;
        let kept = self.keep(module);
        self.lock().files.insert(path.to_owned(), (state, digest));
        Ok(kept)
    }

    fn lock(&self) -> MutexGuard<'_, LoadedModules> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedModules {
    fn get(&mut self, digest: ModuleDigest) -> Option<Arc<LoadedModule>> {
        self.uses += 1;
        let (used, module) = self.by_digest.get_mut(&digest)?;
        *used = self.uses;
        Some(Arc::clone(module))
    }

    fn drop_unused(&mut self) {
        let size = |(_, loaded): &(u64, Arc<LoadedModule>)| loaded.memory();
        while self.by_digest.len() > 1
            && self.by_digest.values().map(size).sum::<u64>() > MAX_LOADED
        {
            let oldest = self.by_digest.iter().min_by_key(|(_, (used, _))| *used);
            let Some((&digest, _)) = oldest else {
                return;
            };
            self.by_digest.remove(&digest);
            self.files.retain(|_, (_, known)| *known != digest);
        }
    }
}

impl FileState {
    fn of(file: &File) -> io::Result<FileState> {
        let metadata = file.metadata()?;
        Ok(FileState {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Reads a module from a file. A file that is too large is not read to its end.
pub(crate) fn read_module(file: File) -> io::Result<Result<WasmModule, ModuleError>> {
    Ok(WasmModule::parse(read_bytes(file)?))
}

fn read_bytes(file: File) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    file.take(MAX_MODULE + 1).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Reads a module from a file.
pub fn read_module_file(path: &Path) -> Result<WasmModule, WasmError> {
    let read = open_regular(path).and_then(read_module);
    let read = read.map_err(|source| WasmError::Read {
        path: path.to_owned(),
        source,
    })?;
    read.map_err(|source| WasmError::Module {
        name: path.display().to_string(),
        source,
    })
}

/// Reads a file of WebAssembly, whichever runtime it is for.
pub fn read_wasm_file(path: &Path) -> Result<Bytes, WasmError> {
    let read = open_regular(path).and_then(read_bytes);
    let bytes = read.map_err(|source| WasmError::Read {
        path: path.to_owned(),
        source,
    })?;
    check_is_wasm(&bytes).map_err(|source| WasmError::Push {
        name: path.display().to_string(),
        source,
    })?;
    Ok(bytes)
}

fn open_regular(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

pub(crate) fn unavailable(error: WasmError) -> RunError {
    RunError::Unavailable(Box::new(error))
}

struct ModuleRunner {
    shared: Arc<LoadedState>,
    loaded: Arc<LoadedModule>,
    settings: CallSettings,
}

impl Runner for ModuleRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        self.shared.run(&self.loaded, &self.settings, input, ctx)
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        self.settings.reproducible(&self.loaded.module, ctx)
    }

    fn is_native(&self) -> bool {
        self.shared.options.is_deterministic()
    }

    fn is_module(&self) -> bool {
        true
    }
}

struct FileRunner {
    shared: Arc<LoadedState>,
    path: PathBuf,
    settings: CallSettings,
}

impl Runner for FileRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let loaded = self.shared.load_file(&self.path).map_err(unavailable)?;
        self.shared.run(&loaded, &self.settings, input, ctx)
    }

    fn reproducible(&self, ctx: &RunContext) -> Option<ReproducibleCall> {
        let loaded = self.shared.load_file(&self.path).ok()?;
        self.settings.reproducible(&loaded.module, ctx)
    }

    fn is_native(&self) -> bool {
        self.shared.options.is_deterministic()
    }

    fn is_module(&self) -> bool {
        true
    }
}
