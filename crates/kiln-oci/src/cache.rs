//! A cache of resolved images: one registry lookup at a time per reference, however many callers wait for it.
//!
//! A digest always resolves to the same image, so its entry never expires. A tag is looked up again: after the refresh age
//! callers get the cached image while a lookup runs in the background; after twice that age callers wait for the lookup, for
//! a few seconds. If the registry is unreachable or returns something invalid, the cached image stays in use.
//!
//! A lookup is cancelled when no caller waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use crate::error::RegistryError;
use crate::platform::Platform;
use crate::reference::ImageReference;
use crate::registry::{RegistryClient, ResolvedImage};

/// How long callers with an old image wait for a lookup.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);

/// The size and refresh age of a cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    pub platform: Platform,
    /// The age after which a tag is looked up again.
    pub refresh_age: Duration,
    /// The largest number of images; the least recently used are removed first.
    pub capacity: usize,
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions {
            platform: Platform::this_machine(),
            refresh_age: Duration::from_secs(300),
            capacity: 1000,
        }
    }
}

/// Images by reference. Clones share their entries.
#[derive(Clone, Debug)]
pub struct ImageCache {
    state: Arc<CacheState>,
}

#[derive(Debug)]
struct CacheState {
    registry: RegistryClient,
    options: CacheOptions,
    entries: Mutex<HashMap<ImageReference, ImageCacheEntry>>,
}

type ImageLookupResult = Result<Arc<ResolvedImage>, Arc<RegistryError>>;
type ImageLookup = Shared<BoxFuture<'static, ImageLookupResult>>;

#[derive(Default, Debug)]
struct ImageCacheEntry {
    cached: Option<CachedImage>,
    pending: Option<WeakShared<BoxFuture<'static, ImageLookupResult>>>,
    last_used: Option<Instant>,
}

#[derive(Clone, Debug)]
struct CachedImage {
    image: Arc<ResolvedImage>,
    looked_up: Instant,
}

/// The state of a reference in the cache, with the lookup to wait for or to start.
enum CacheStatus {
    Fresh(Arc<ResolvedImage>),
    Stale(Arc<ResolvedImage>, ImageLookup),
    Old(Arc<ResolvedImage>, ImageLookup),
    Unknown(ImageLookup),
}

impl ImageCache {
    /// An empty cache.
    pub fn new(registry: RegistryClient, options: CacheOptions) -> ImageCache {
        ImageCache {
            state: Arc::new(CacheState {
                registry,
                options,
                entries: Mutex::default(),
            }),
        }
    }

    /// The image of a reference.
    pub async fn get(
        &self,
        reference: &ImageReference,
    ) -> Result<Arc<ResolvedImage>, Arc<RegistryError>> {
        match self.look_up(reference) {
            CacheStatus::Fresh(image) => Ok(image),
            CacheStatus::Stale(image, lookup) => {
                tokio::spawn(lookup);
                Ok(image)
            }
            CacheStatus::Old(image, lookup) => {
                // A caller that stops waiting must not cancel the lookup.
                tokio::spawn(lookup.clone());
                match tokio::time::timeout(REFRESH_TIMEOUT, lookup).await {
                    Ok(result) => result,
                    Err(_) => {
                        self.postpone_refresh(reference);
                        Ok(image)
                    }
                }
            }
            CacheStatus::Unknown(lookup) => lookup.await,
        }
    }

    /// The number of images that are cached or being looked up.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn look_up(&self, reference: &ImageReference) -> CacheStatus {
        let now = Instant::now();
        let mut entries = self.lock();
        if !entries.contains_key(reference) {
            make_room(&mut entries, self.state.options.capacity);
        }
        let entry = entries.entry(reference.clone()).or_default();
        entry.last_used = Some(now);
        let refresh_age = self.state.options.refresh_age;
        let mut cached = None;
        let mut is_old = false;
        if let Some(CachedImage { image, looked_up }) = &entry.cached {
            let age = now.saturating_duration_since(*looked_up);
            if reference.digest().is_some() || age < refresh_age {
                return CacheStatus::Fresh(Arc::clone(image));
            }
            is_old = age >= refresh_age * 2;
            cached = Some(Arc::clone(image));
        }
        let pending = entry.pending.as_ref().and_then(WeakShared::upgrade);
        // The result of a finished lookup was stored already.
        let pending = pending.filter(|lookup| lookup.peek().is_none());
        match (cached, pending) {
            (Some(image), pending) if is_old => {
                let lookup = pending.unwrap_or_else(|| self.start_lookup(entry, reference));
                CacheStatus::Old(image, lookup)
            }
            // Another caller drives the pending lookup.
            (Some(image), Some(_)) => CacheStatus::Fresh(image),
            (Some(image), None) => CacheStatus::Stale(image, self.start_lookup(entry, reference)),
            (None, Some(lookup)) => CacheStatus::Unknown(lookup),
            (None, None) => CacheStatus::Unknown(self.start_lookup(entry, reference)),
        }
    }

    fn start_lookup(&self, entry: &mut ImageCacheEntry, reference: &ImageReference) -> ImageLookup {
        let cache = self.clone();
        let reference = reference.clone();
        let lookup = async move {
            let CacheState {
                registry, options, ..
            } = &*cache.state;
            let result = registry.image(&reference, &options.platform).await;
            cache.store(&reference, result)
        };
        let lookup = lookup.boxed().shared();
        entry.pending = lookup.downgrade();
        lookup
    }

    /// Spares other callers the wait for a registry that does not respond. The lookup continues.
    fn postpone_refresh(&self, reference: &ImageReference) {
        tracing::warn!(image = %reference, "the registry has not resolved the tag in time, using the cached image");
        let now = Instant::now();
        if let Some(cached) = self
            .lock()
            .get_mut(reference)
            .and_then(|entry| entry.cached.as_mut())
        {
            let looked_up = now.checked_sub(self.state.options.refresh_age);
            cached.looked_up = looked_up.unwrap_or(now).max(cached.looked_up);
        }
    }

    /// Stores the result of a lookup. If the registry is unreachable, the cached image stays and counts as fresh, so that not
    /// every caller waits.
    fn store(
        &self,
        reference: &ImageReference,
        result: Result<ResolvedImage, RegistryError>,
    ) -> ImageLookupResult {
        let now = Instant::now();
        let mut entries = self.lock();
        if !entries.contains_key(reference) {
            make_room(&mut entries, self.state.options.capacity);
        }
        let entry = entries.entry(reference.clone()).or_default();
        entry.pending = None;
        entry.last_used.get_or_insert(now);
        match result {
            Ok(image) => {
                let image = Arc::new(image);
                entry.cached = Some(CachedImage {
                    image: Arc::clone(&image),
                    looked_up: now,
                });
                Ok(image)
            }
            Err(error) => {
                if let Some(cached) = &mut entry.cached
                    && error.leaves_tag_unknown()
                {
                    tracing::warn!(image = %reference, %error, "cannot resolve the tag, using the cached image");
                    cached.looked_up = now;
                    return Ok(Arc::clone(&cached.image));
                }
                entries.remove(reference);
                Err(Arc::new(error))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ImageReference, ImageCacheEntry>> {
        let entries = self.state.entries.lock();
        entries.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the least recently used entries until there is room for one more.
fn make_room(entries: &mut HashMap<ImageReference, ImageCacheEntry>, capacity: usize) {
    while entries.len() >= capacity.max(1) {
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.last_used);
        let Some(oldest) = oldest.map(|(reference, _)| reference.clone()) else {
            return;
        };
        entries.remove(&oldest);
    }
}
