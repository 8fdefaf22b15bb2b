//! The store of unpacked images that the command line uses, and pulling into it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use futures_util::future::{Either, select};
use kiln_image::PullObserver;
use kiln_oci::{ImageReference, PlainHttp, Platform, RegistryClient, RegistryError};
use kiln_store::{
    PullEvent, PullOrigin, PullProgress, PullRequest, PulledImage, Store, StoreOptions,
    pull_signatures,
};
use kiln_wasm::module_platforms;

use crate::environment::{KILN_STORE, cache_directory};
use crate::functions::registry_tags::registry_options;
use crate::interrupt;
use crate::ui::{Progress, Ui, Work};

/// The flags of commands that use the store.
#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    /// Directory of the image store [env: KILN_STORE] [default: $XDG_CACHE_HOME/kiln/store]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Opens the store, and creates it if it does not exist.
    pub(crate) fn open(&self) -> Result<Store> {
        let directory = match &self.store {
            Some(directory) => directory.clone(),
            None => store_directory(),
        };
        Ok(Store::open(&directory, StoreOptions::default())?)
    }
}

/// The platform of images.
#[derive(Args, Debug)]
pub(crate) struct PlatformArgs {
    /// Platform of the image: OS/ARCHITECTURE[/VARIANT] [default: this machine's]
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,
}

impl PlatformArgs {
    pub(crate) fn platform(&self) -> Platform {
        let platform = self.platform.clone();
        platform.unwrap_or_else(Platform::this_machine)
    }

    /// The platform for which the store has an image.
    pub(crate) fn of_stored(&self, store: &Store, reference: &ImageReference) -> Result<Platform> {
        for platform in self.to_add() {
            if store.find(reference, &platform)?.is_some() {
                return Ok(platform);
            }
        }
        Ok(self.platform())
    }

    /// The platforms to add an image for, preferred one first: without the flag that of this machine, else one of modules.
    pub(crate) fn to_add(&self) -> Vec<Platform> {
        match &self.platform {
            Some(platform) => vec![platform.clone()],
            None => {
                let mut platforms = vec![Platform::this_machine()];
                platforms.extend(module_platforms());
                platforms
            }
        }
    }
}

/// The directory of the store without a flag.
pub(crate) fn store_directory() -> PathBuf {
    match std::env::var_os(KILN_STORE).filter(|value| !value.is_empty()) {
        Some(directory) => directory.into(),
        None => cache_directory().join("kiln/store"),
    }
}

/// The client for the registry of an image.
pub(crate) fn registry_client(reference: &ImageReference) -> Result<RegistryClient> {
    let mut options = registry_options()?;
    // Traffic to this machine can be read by no other one.
    if kiln_oci::is_local(reference.registry()) {
        let plain_http = options.plain_http.entry(reference.registry().to_owned());
        plain_http.or_insert(PlainHttp::WithCredentials);
    }
    Ok(RegistryClient::new(options))
}

/// Pulls an image, with its progress on a terminal. Warns if the registry was not available. Ends when kiln is interrupted.
pub(crate) fn pull(ui: &Ui, store: &Store, request: &PullRequest) -> Result<PulledImage> {
    let reference = request.reference.to_string();
    let registry = registry_client(&request.reference)?;
    let progress = ui.progress(Work::Pull(reference.clone()));
    let progress = Arc::new(TerminalProgress::new(progress));
    let pulled = until_interrupted(store.pull(&registry, request, progress))?;
    let Some(pulled) = pulled else {
        bail!("the pull of {reference} was interrupted; the next one continues it");
    };
    let pulled = pulled?;
    if let PullOrigin::Offline(error) = &pulled.origin {
        warn_offline(ui, &reference, error);
    }
    Ok(pulled)
}

/// Waits for a future; `None` if kiln is interrupted.
pub(crate) fn until_interrupted<T>(future: impl Future<Output = T>) -> Result<Option<T>> {
    let cancel = interrupt::on_interrupt();
    let (sender, cancelled) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let _guard = cancel.on_cancel(move || {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = sender.map(|sender| sender.send(()));
    });
    let runtime = async_runtime()?;
    let output = runtime.block_on(async {
        match select(pin!(future), pin!(cancelled)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    });
    // Without waiting for blocking work, such as a layer that is being unpacked. The future is dropped already.
    runtime.shutdown_background();
    Ok(output)
}

fn warn_offline(ui: &Ui, image: &str, error: &RegistryError) {
    let error = kiln_go::error_chain(error);
    ui.warn(&format!("using the cached image {image}: {error}"));
}

/// Brings the signatures of a pulled image into the store, so that they can be verified without a network. Warns if the registry
/// does not return them.
pub(crate) fn keep_signatures(ui: &Ui, store: &Store, request: &PullRequest) {
    let PullRequest {
        reference,
        platform,
        ..
    } = request;
    let keep = || -> Result<()> {
        let registry = registry_client(reference)?;
        let pulled = pull_signatures(&registry, store, reference, platform);
        Ok(async_runtime()?.block_on(pulled)?)
    };
    if let Err(error) = keep() {
        ui.warn(&format!(
            "cannot keep the signatures of {reference}: {error:#}"
        ));
    }
}

/// A runtime for the requests of one command.
pub(crate) fn async_runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}

/// A file that gets its name when it is complete.
pub(crate) struct NewFile {
    file: File,
    path: PathBuf,
    target: PathBuf,
}

impl NewFile {
    pub(crate) fn create(target: &Path) -> Result<NewFile> {
        let mut name = OsString::from(target);
        name.push(format!(".{}.tmp", std::process::id()));
        let path = PathBuf::from(name);
        let file = File::create_new(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        Ok(NewFile {
            file,
            path,
            target: target.to_owned(),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn rename(self) -> Result<()> {
        let renamed = fs::rename(&self.path, &self.target);
        renamed.with_context(|| format!("cannot write {}", self.target.display()))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After it was renamed there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// Shows the progress of a pull on a terminal.
struct TerminalProgress {
    line: Option<Progress>,
    state: Mutex<PullState>,
}

#[derive(Default)]
struct PullState {
    received: u64,
    bytes: u64,
    is_unpacking: Option<(usize, usize)>,
}

impl TerminalProgress {
    fn new(line: Option<Progress>) -> TerminalProgress {
        TerminalProgress {
            line,
            state: Mutex::default(),
        }
    }
}

/// Shows pulls with the functions that wait for them.
pub(crate) struct FunctionPulls(pub(crate) Ui);

impl PullObserver for FunctionPulls {
    fn begin(&self, image: &str) -> Arc<dyn PullProgress> {
        Arc::new(TerminalProgress::new(self.0.screen().pull(image)))
    }

    fn offline(&self, image: &str, error: &RegistryError) {
        warn_offline(&self.0, image, error);
    }
}

impl PullProgress for TerminalProgress {
    fn event(&self, event: PullEvent) {
        let Some(line) = &self.line else {
            return;
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            PullEvent::Waiting => return line.describe("waiting for another kiln command"),
            PullEvent::Started { bytes, .. } => state.bytes = bytes,
            PullEvent::Received { bytes } => state.received += bytes,
            PullEvent::Unpacked { layer, layers } => state.is_unpacking = Some((layer, layers)),
        }
        let mut text = format!(
            "{} of {}",
            human_size(state.received),
            human_size(state.bytes)
        );
        if let Some((layer, layers)) = state.is_unpacking {
            text.push_str(&format!(", {layer} of {layers} layers unpacked"));
        }
        line.describe(&text);
    }
}

/// A size with one decimal, as 12.3 MB.
pub(crate) fn human_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::human_size;

    #[test]
    fn sizes_have_one_decimal() {
        let sizes = [0, 999, 1000, 12_345_678, 999_999_999, 8 << 30].map(human_size);
        assert_eq!(
            sizes,
            ["0 B", "999 B", "1.0 kB", "12.3 MB", "999.9 MB", "8.5 GB"]
        );
    }
}
