//! What images are, kept: one question however many ask.
//!
//! A digest never means anything else, so what it means is kept for as long as there is room. A tag is asked for again: past its
//! refresh age the kept answer is still given, and asked for anew beside it; past twice that age callers wait for the new
//! one, for a few seconds. If the registry is away or makes no sense, what is kept goes on being the answer.
//!
//! A question ends when nobody waits for its answer any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use crate::error::{ErrorClass, RegistryError};
use crate::platform::Platform;
use crate::reference::Reference;
use crate::registry::{Image, Registry};

/// How long callers wait for what they have, but old.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long and how much is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// For which platform images are wanted.
    pub platform: Platform,
    /// After how long a tag is asked for again.
    pub refresh_age: Duration,
    /// How many images are kept; those that were not asked for the longest go first.
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

/// Images by reference. Clones share what is kept.
#[derive(Clone, Debug)]
pub struct ImageCache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    options: CacheOptions,
    entries: Mutex<HashMap<Reference, Entry>>,
}

type Answer = Result<Arc<Image>, Arc<RegistryError>>;
type Question = Shared<BoxFuture<'static, Answer>>;

#[derive(Default, Debug)]
struct Entry {
    kept: Option<Kept>,
    asking: Option<WeakShared<BoxFuture<'static, Answer>>>,
    used: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Kept {
    image: Arc<Image>,
    since: Instant,
}

/// What there is to do about a reference.
enum Found {
    Fresh(Arc<Image>),
    Stale(Arc<Image>, Question),
    Old(Arc<Image>, Question),
    Unknown(Question),
}

impl ImageCache {
    /// A cache that knows nothing yet.
    pub fn new(registry: Registry, options: CacheOptions) -> ImageCache {
        ImageCache {
            inner: Arc::new(Inner {
                registry,
                options,
                entries: Mutex::default(),
            }),
        }
    }

    /// The image that a reference names.
    pub async fn get(&self, reference: &Reference) -> Result<Arc<Image>, Arc<RegistryError>> {
        match self.look(reference) {
            Found::Fresh(image) => Ok(image),
            Found::Stale(image, question) => {
                tokio::spawn(question);
                Ok(image)
            }
            Found::Old(image, question) => {
                // Whoever waits may give up; the question is not theirs alone.
                tokio::spawn(question.clone());
                match tokio::time::timeout(PATIENCE, question).await {
                    Ok(answer) => answer,
                    Err(_) => {
                        self.let_wait(reference);
                        Ok(image)
                    }
                }
            }
            Found::Unknown(question) => question.await,
        }
    }

    /// Forgets a reference, so that it is asked for anew.
    pub fn forget(&self, reference: &Reference) {
        self.lock().remove(reference);
    }

    /// How many images are known or being asked for.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn look(&self, reference: &Reference) -> Found {
        let now = Instant::now();
        let mut entries = self.lock();
        if !entries.contains_key(reference) {
            make_room(&mut entries, self.inner.options.capacity);
        }
        let entry = entries.entry(reference.clone()).or_default();
        entry.used = Some(now);
        let refresh_age = self.inner.options.refresh_age;
        let mut kept = None;
        let mut is_old = false;
        if let Some(Kept { image, since }) = &entry.kept {
            let age = now.saturating_duration_since(*since);
            if reference.digest().is_some() || age < refresh_age {
                return Found::Fresh(Arc::clone(image));
            }
            is_old = age >= refresh_age * 2;
            kept = Some(Arc::clone(image));
        }
        let asked = entry.asking.as_ref().and_then(WeakShared::upgrade);
        // Its answer has been taken in already if it is one that failed.
        let asked = asked.filter(|question| question.peek().is_none());
        match (kept, asked) {
            (Some(image), asked) if is_old => {
                let question = asked.unwrap_or_else(|| self.ask(entry, reference));
                Found::Old(image, question)
            }
            // Somebody is asking already, and holds on to it.
            (Some(image), Some(_)) => Found::Fresh(image),
            (Some(image), None) => Found::Stale(image, self.ask(entry, reference)),
            (None, Some(question)) => Found::Unknown(question),
            (None, None) => Found::Unknown(self.ask(entry, reference)),
        }
    }

    fn ask(&self, entry: &mut Entry, reference: &Reference) -> Question {
        let cache = self.clone();
        let reference = reference.clone();
        let question = async move {
            let Inner {
                registry, options, ..
            } = &*cache.inner;
            let answer = registry.image(&reference, &options.platform).await;
            cache.take_in(&reference, answer)
        };
        let question = question.boxed().shared();
        entry.asking = question.downgrade();
        question
    }

    /// Spares others the wait for a registry that does not answer. It is still being asked.
    fn let_wait(&self, reference: &Reference) {
        tracing::warn!(image = %reference, "the registry does not tell what the tag means now, using what it meant");
        let now = Instant::now();
        if let Some(kept) = self
            .lock()
            .get_mut(reference)
            .and_then(|entry| entry.kept.as_mut())
        {
            let since = now.checked_sub(self.inner.options.refresh_age);
            kept.since = since.unwrap_or(now).max(kept.since);
        }
    }

    /// Keeps an answer. If there is none, the old one stays and counts as new, so that not every caller waits for it.
    fn take_in(&self, reference: &Reference, answer: Result<Image, RegistryError>) -> Answer {
        let now = Instant::now();
        let mut entries = self.lock();
        if !entries.contains_key(reference) {
            make_room(&mut entries, self.inner.options.capacity);
        }
        let entry = entries.entry(reference.clone()).or_default();
        entry.asking = None;
        entry.used.get_or_insert(now);
        match answer {
            Ok(image) => {
                let image = Arc::new(image);
                entry.kept = Some(Kept {
                    image: Arc::clone(&image),
                    since: now,
                });
                Ok(image)
            }
            Err(error) => {
                if let Some(kept) = &mut entry.kept
                    && says_nothing(&error)
                {
                    tracing::warn!(image = %reference, %error, "cannot ask what the tag means now, using what it meant");
                    kept.since = now;
                    return Ok(Arc::clone(&kept.image));
                }
                entries.remove(reference);
                Err(Arc::new(error))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Reference, Entry>> {
        let entries = self.inner.entries.lock();
        entries.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error leaves open what a tag means now. That it is gone, or that we may not know, is an answer; that somebody
/// else answers in the registry's place is none.
fn says_nothing(error: &RegistryError) -> bool {
    match error.class() {
        ErrorClass::Unavailable | ErrorClass::Internal => true,
        ErrorClass::Config => matches!(error, RegistryError::Tls { .. }),
        ErrorClass::NotFound => false,
    }
}

/// Lets go of what was not asked for the longest, until there is room for one more.
fn make_room(entries: &mut HashMap<Reference, Entry>, capacity: usize) {
    while entries.len() >= capacity.max(1) {
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.used);
        let Some(oldest) = oldest.map(|(reference, _)| reference.clone()) else {
            return;
        };
        entries.remove(&oldest);
    }
}
