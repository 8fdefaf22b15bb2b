//! Modules in registries: which images are modules, and the modules themselves, by digest.
//!
//! An image is looked up when it first runs. What a reference resolved to is remembered, in memory and on disk; modules are
//! stored by their digest and checked when they are read. `fetch` knows the forms of images, `publish` pushes them.

mod contents;
mod evaluator;
mod fetch;
mod module_command;
mod publish;
mod store;
mod unpacked;

use std::collections::HashMap;
use std::ffi::OsString;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kiln_oci::{
    Digest, ImageReference, ImageReferenceError, PullPolicy, PushError, RegistryClient,
    RegistryError, RegistryOptions,
};
use kiln_runtime::{CancelToken, RunContext};
use kiln_store::{Store, StoreOptions};

pub use contents::ContentsProblem;
pub use evaluator::WasmImageEvaluator;
use module_command::ModuleCommand;
pub use publish::{ImageFormat, PushedModule};
use store::{ModuleStore, StoredResolution};
pub use unpacked::module_platforms;

use crate::module::{MAX_MODULE, ModuleError, WasmModule, WeakModule};

/// How images are looked up.
#[derive(Clone, Debug)]
pub struct WasmImageOptions {
    pub registry: RegistryOptions,
    /// When a registry is asked about an image that was looked up before.
    pub pull: PullPolicy,
    /// Whether an image that is also there for this machine runs as a module.
    pub prefers_modules: bool,
    /// Whether every image is a module, as with kpt's `--allow-alpha-wasm`.
    pub is_every_image_a_module: bool,
    /// How long a tag is taken to be the same image without a request.
    pub max_age: Duration,
    /// The directory of the image store: what is there is looked up no further.
    pub image_store: Option<PathBuf>,
    /// The environment of this program: functions get the variables that they ask for by name.
    pub environment: Vec<(OsString, OsString)>,
    /// Ends lookups that belong to no call.
    pub cancel: CancelToken,
}

/// Why an image is not a module, or cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum WasmImageError {
    #[error(transparent)]
    Reference(#[from] ImageReferenceError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Push(Box<PushError>),
    #[error("image {0} is not a WebAssembly module")]
    NotWasm(String),
    #[error("image {0} is not on this machine, and --image-pull-policy is Never")]
    NotPulled(String),
    #[error("image {image} does not contain a module")]
    Contents {
        image: String,
        #[source]
        source: ContentsProblem,
    },
    #[error("image {image} cannot be run")]
    Module {
        image: String,
        #[source]
        source: ModuleError,
    },
    #[error("the registry of {0} did not respond in time")]
    TimedOut(String),
    #[error("interrupted")]
    Cancelled,
    #[error(
        "unexpected media type: {found}, expect either {} or {}",
        kiln_oci::media_type::DOCKER_LIST,
        kiln_oci::media_type::OCI_INDEX
    )]
    NotAnIndex { found: String },
    #[error("cannot start the network client")]
    Client(#[source] io::Error),
    /// A step of a push in kpt's form, in kpt's words.
    #[error("{step}")]
    PushStep {
        step: String,
        source: Box<WasmImageError>,
    },
    /// In kpt's words.
    #[error("unable to compress {path}: failed to read from file {path}: open {path}: {reason}")]
    ReadFile { path: String, reason: String },
    #[error("a tag is needed, not a digest")]
    NoTag,
}

impl WasmImageError {
    fn in_step(self, step: impl Into<String>) -> WasmImageError {
        WasmImageError::PushStep {
            step: step.into(),
            source: Box::new(self),
        }
    }
}

impl From<PushError> for WasmImageError {
    fn from(error: PushError) -> WasmImageError {
        WasmImageError::Push(Box::new(error))
    }
}

/// Looks up images.
pub struct WasmImages {
    options: WasmImageOptions,
    store: Option<ModuleStore>,
    known: Mutex<HashMap<String, KnownImage>>,
    /// Held while an image is looked up, so that it is looked up once.
    looking_up: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

/// What an image was when it was looked up.
#[derive(Clone)]
struct KnownImage {
    at: Instant,
    /// The digest of the manifest or index, if the registry was asked.
    digest: Option<Digest>,
    resolution: KnownResolution,
}

/// What an image is.
pub(crate) enum Resolution {
    Module(ImageModule),
    NotWasm,
}

/// The module of an image.
#[derive(Clone)]
pub(crate) struct ImageModule {
    pub(crate) module: WasmModule,
    /// How the image runs it.
    pub(crate) command: ModuleCommand,
}

/// What an image is, without the bytes of the module: evaluators keep a limited number of bytes in memory.
#[derive(Clone)]
enum KnownResolution {
    Module(WeakModule, ModuleCommand),
    NotWasm,
}

impl Resolution {
    fn module(module: WasmModule, command: ModuleCommand) -> Resolution {
        Resolution::Module(ImageModule { module, command })
    }
}

impl KnownResolution {
    fn of(resolution: &Resolution) -> KnownResolution {
        match resolution {
            Resolution::Module(image) => {
                KnownResolution::Module(image.module.downgrade(), image.command.clone())
            }
            Resolution::NotWasm => KnownResolution::NotWasm,
        }
    }

    /// `None` if the module is no longer in memory.
    fn get(&self) -> Option<Resolution> {
        match self {
            KnownResolution::Module(module, command) => {
                Some(Resolution::module(module.upgrade()?, command.clone()))
            }
            KnownResolution::NotWasm => Some(Resolution::NotWasm),
        }
    }
}

/// How long a registry may take to describe an image that may be none of ours.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a module may take to arrive.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// How long an image that could not be looked up is left to other evaluators.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);

/// How many images are remembered.
const MAX_KNOWN: usize = 1000;

impl Default for WasmImageOptions {
    fn default() -> WasmImageOptions {
        WasmImageOptions {
            registry: RegistryOptions::default(),
            pull: PullPolicy::IfNotPresent,
            prefers_modules: false,
            is_every_image_a_module: false,
            max_age: Duration::from_secs(300),
            image_store: None,
            environment: Vec::new(),
            cancel: CancelToken::new(),
        }
    }
}

impl WasmImages {
    /// `cache` is the directory for modules; without one, they stay in memory.
    pub fn new(mut options: WasmImageOptions, cache: Option<&Path>) -> WasmImages {
        options.registry.limits.blob = MAX_MODULE;
        WasmImages {
            options,
            store: cache.map(ModuleStore::new),
            known: Mutex::default(),
            looking_up: Mutex::default(),
        }
    }

    /// The module of an image, from the registry if it is not here.
    pub fn module(&self, image: &str, ctx: &RunContext) -> Result<WasmModule, WasmImageError> {
        Ok(self.image_module(image, ctx)?.module)
    }

    /// The same, with how the image runs it.
    pub(crate) fn image_module(
        &self,
        image: &str,
        ctx: &RunContext,
    ) -> Result<ImageModule, WasmImageError> {
        match self.resolve(image, ctx)? {
            Resolution::Module(module) => Ok(module),
            Resolution::NotWasm => Err(WasmImageError::NotWasm(image.to_owned())),
        }
    }

    /// The bytes of an image's module from its registry. They may be for another runtime, or no module at all.
    pub fn fetch(&self, image: &str, ctx: &RunContext) -> Result<Bytes, WasmImageError> {
        let reference: ImageReference = image.parse()?;
        let client = RegistryClient::new(self.options.registry.clone());
        let fetching = async {
            match fetch::describe(&client, &reference, true).await? {
                (_, Some(described)) => described.fetch(&client, &reference).await,
                (_, None) => Err(WasmImageError::NotWasm(image.to_owned())),
            }
        };
        self.wait(image, FETCH_TIMEOUT, ctx, fetching)
    }

    /// Pushes a module, whichever runtime it is for. Returns the digests of what was pushed.
    pub fn push(
        &self,
        image: &str,
        file_name: &str,
        module: &Bytes,
        format: ImageFormat,
        ctx: &RunContext,
    ) -> Result<PushedModule, WasmImageError> {
        let reference: ImageReference = image.parse()?;
        let client = RegistryClient::new(self.options.registry.clone());
        let pushing = async {
            match format {
                ImageFormat::Oci => publish::push_artifact(&client, &reference, module).await,
                ImageFormat::Kpt => {
                    let read = || Ok(module.clone());
                    publish::push_for_kpt(&client, &reference, file_name, read).await
                }
            }
        };
        self.wait(image, FETCH_TIMEOUT, ctx, pushing)
    }

    /// Pushes any file as kpt does: in its form, with its errors in their order, and without a look at what the file is.
    pub fn push_as_kpt(
        &self,
        image: &str,
        path: &Path,
        ctx: &RunContext,
    ) -> Result<PushedModule, WasmImageError> {
        let step = format!("unable to parse tag {image:?}");
        let reference = image
            .parse::<ImageReference>()
            .map_err(WasmImageError::from);
        let reference = reference
            .and_then(|reference| match reference.digest() {
                None => Ok(reference),
                Some(_) => Err(WasmImageError::NoTag),
            })
            .map_err(|error| error.in_step(step))?;
        let client = RegistryClient::new(self.options.registry.clone());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = || match std::fs::read(path) {
            Ok(bytes) => Ok(Bytes::from(bytes)),
            Err(error) => Err(WasmImageError::ReadFile {
                path: path.display().to_string(),
                reason: kiln_go::errno_text(&error),
            }),
        };
        let pushing = publish::push_for_kpt(&client, &reference, &name, read);
        self.wait(image, FETCH_TIMEOUT, ctx, pushing)
    }

    /// What is known of an image without a request.
    pub(crate) fn known(&self, image: &str) -> Option<Resolution> {
        let in_memory = self.lock().get(image).cloned();
        if let Some(known) = in_memory
            && (known.at.elapsed() < self.age_of(&known) || has_digest(image))
            && let Some(resolution) = known.resolution.get()
        {
            return Some(resolution);
        }
        if self.options.pull == PullPolicy::Always && !has_digest(image) {
            return None;
        }
        let resolution = self.stored(image)?;
        self.remember(image, None, &resolution);
        Some(resolution)
    }

    /// What the disk says about an image.
    fn stored(&self, image: &str) -> Option<Resolution> {
        if let Some(resolution) = self.in_image_store(image) {
            return Some(resolution);
        }
        let store = self.store.as_ref()?;
        match store.resolution(image)? {
            StoredResolution::NotWasm => Some(Resolution::NotWasm),
            StoredResolution::Module(digest, command) => {
                Some(Resolution::module(store.module(digest)?, command))
            }
        }
    }

    /// What the image store says about an image: it was pulled or imported there.
    fn in_image_store(&self, image: &str) -> Option<Resolution> {
        let options = &self.options;
        let is_asked_for = options.prefers_modules || options.is_every_image_a_module;
        let directory = options
            .image_store
            .as_deref()
            .filter(|path| path.is_dir())?;
        let store = Store::open(directory, StoreOptions::default()).ok()?;
        unpacked::resolve(&store, &image.parse().ok()?, is_asked_for)
    }

    /// How long what is known of a tag holds.
    fn age_of(&self, known: &KnownImage) -> Duration {
        match known.resolution {
            KnownResolution::Module(..) => self.options.max_age,
            KnownResolution::NotWasm if known.digest.is_some() => store::NOT_WASM_FOR,
            KnownResolution::NotWasm => UNKNOWN_FOR,
        }
    }

    pub(crate) fn resolve(
        &self,
        image: &str,
        ctx: &RunContext,
    ) -> Result<Resolution, WasmImageError> {
        if let Some(known) = self.known(image) {
            return Ok(known);
        }
        if self.options.pull == PullPolicy::Never {
            return Err(WasmImageError::NotPulled(image.to_owned()));
        }
        let lock = {
            let mut looking_up = self
                .looking_up
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(looking_up.entry(image.to_owned()).or_default())
        };
        let _looking_up = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.known(image) {
            return Ok(known);
        }
        let looked_up = self.look_up(image, ctx);
        let is_out_of_time = ctx
            .deadline
            .is_some_and(|deadline| deadline.at <= Instant::now());
        if let Err(WasmImageError::Registry(_) | WasmImageError::TimedOut(_)) = &looked_up
            && !is_out_of_time
            && !self.options.is_every_image_a_module
        {
            // So that not every call waits for a registry that does not respond.
            self.remember(image, None, &Resolution::NotWasm);
        }
        let mut looking_up = self
            .looking_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        looking_up.remove(image);
        looked_up
    }

    fn look_up(&self, image: &str, ctx: &RunContext) -> Result<Resolution, WasmImageError> {
        let reference: ImageReference = image.parse()?;
        let client = RegistryClient::new(self.options.registry.clone());
        let is_asked_for = self.options.prefers_modules || self.options.is_every_image_a_module;
        let described = fetch::describe(&client, &reference, is_asked_for);
        let timeout = match self.options.is_every_image_a_module {
            true => FETCH_TIMEOUT,
            false => LOOKUP_TIMEOUT,
        };
        let (digest, described) = self.wait(image, timeout, ctx, described)?;
        let unchanged = self.lock().get(image).cloned();
        let unchanged = unchanged
            .filter(|known| known.digest.as_ref() == Some(&digest))
            .and_then(|known| known.resolution.get());
        let resolution = match (unchanged, described) {
            (Some(known), _) => known,
            (None, None) => Resolution::NotWasm,
            (None, Some(described)) => {
                let command = described.command();
                let fetching = described.fetch(&client, &reference);
                let bytes = self.wait(image, FETCH_TIMEOUT, ctx, fetching)?;
                let module = WasmModule::parse(bytes);
                let module = module.map_err(|source| WasmImageError::Module {
                    image: image.to_owned(),
                    source,
                })?;
                Resolution::module(module, command)
            }
        };
        if let Some(store) = &self.store {
            store.keep(image, &resolution);
        }
        self.remember(image, Some(digest), &resolution);
        Ok(resolution)
    }

    fn remember(&self, image: &str, digest: Option<Digest>, resolution: &Resolution) {
        let mut known = self.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let at = Instant::now();
        let image_known = KnownImage {
            at,
            digest,
            resolution: KnownResolution::of(resolution),
        };
        known.insert(image.to_owned(), image_known);
    }

    /// Runs a request to its end, or until the deadline of the call or its cancellation.
    fn wait<T>(
        &self,
        image: &str,
        timeout: Duration,
        ctx: &RunContext,
        request: impl Future<Output = Result<T, WasmImageError>>,
    ) -> Result<T, WasmImageError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(WasmImageError::Client)?;
        let left = ctx
            .deadline
            .map(|deadline| deadline.at.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(timeout, |left| left.min(timeout));
        let cancelled = Arc::new(tokio::sync::Notify::new());
        let on_cancel = Arc::clone(&cancelled);
        let _guard = ctx.cancel.on_cancel(move || on_cancel.notify_one());
        runtime.block_on(async {
            let mut request = pin!(tokio::time::timeout(timeout, request));
            let mut cancelled = pin!(cancelled.notified());
            poll_fn(|task| {
                if let Poll::Ready(done) = request.as_mut().poll(task) {
                    let late = |_| WasmImageError::TimedOut(image.to_owned());
                    return Poll::Ready(done.map_err(late).flatten());
                }
                let cancelled = cancelled.as_mut().poll(task);
                cancelled.map(|()| Err(WasmImageError::Cancelled))
            })
            .await
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, KnownImage>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a reference can never mean another image.
fn has_digest(image: &str) -> bool {
    image.contains('@')
}
