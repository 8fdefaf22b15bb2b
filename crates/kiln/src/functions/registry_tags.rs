//! Access to registries, with Docker's credentials and the proxies of the environment.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use kiln_oci::{Keychain, Proxies, ProxyError, RegistryOptions, RetryPolicy};
use kiln_runtime::CancelToken;
use kiln_task::image::{PackageImages as _, RegistryImages};

use crate::environment::{DOCKER_CONFIG, HOME};

/// How long a list of tags, or the failure to get one, is cached.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Time limit for a registry.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn registry_options() -> Result<RegistryOptions, ProxyError> {
    Ok(RegistryOptions {
        keychain: Keychain::docker(std::env::var_os(DOCKER_CONFIG), std::env::var_os(HOME)),
        proxies: Proxies::from_variables(|name| std::env::var(name).ok())?,
        ..RegistryOptions::default()
    })
}

/// The tags of images in registries, for functions with a range of versions. Each repository is asked once.
pub(crate) struct RegistryTags {
    cancel: CancelToken,
    cache: Mutex<HashMap<String, CachedTags>>,
}

struct CachedTags {
    at: Instant,
    tags: Result<Vec<String>, String>,
}

impl RegistryTags {
    /// Cancelling the token ends waiting for registries.
    pub(crate) fn new(cancel: CancelToken) -> RegistryTags {
        RegistryTags {
            cancel,
            cache: Mutex::default(),
        }
    }

    /// The tags of an image repository; empty if the registry does not respond.
    pub(crate) fn of(&self, image: &str) -> Vec<String> {
        let mut cache = self.lock();
        let fresh = cache
            .get(image)
            .filter(|cached| cached.at.elapsed() < MAX_AGE)
            .map(|cached| cached.tags.clone());
        let tags = fresh.unwrap_or_else(|| {
            let tags = self.ask(image);
            let at = Instant::now();
            let kept = CachedTags {
                at,
                tags: tags.clone(),
            };
            cache.insert(image.to_owned(), kept);
            tags
        });
        tags.unwrap_or_default()
    }

    /// The errors of registries.
    pub(crate) fn problems(&self) -> Vec<String> {
        let cache = self.lock();
        let problems = cache.values().map(|cached| cached.tags.clone());
        let mut problems: Vec<String> = problems.filter_map(Result::err).collect();
        problems.sort();
        problems
    }

    /// Asks a registry. Ends early when the token is cancelled.
    fn ask(&self, image: &str) -> Result<Vec<String>, String> {
        let (sender, tags) = mpsc::channel();
        let cancelled = sender.clone();
        let _guard = self.cancel.on_cancel(move || {
            // A closed channel means that the registry responded.
            let _ = cancelled.send(Err(String::from("interrupted")));
        });
        let image = image.to_owned();
        let lookup = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(list(&image));
        });
        lookup.map_err(|error| format!("cannot start a thread: {error}"))?;
        let late = |_| format!("no response within {} seconds", TIMEOUT.as_secs());
        tags.recv_timeout(TIMEOUT).map_err(late)?
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedTags>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn list(image: &str) -> Result<Vec<String>, String> {
    let options = registry_options().map_err(|error| error.to_string())?;
    let options = RegistryOptions {
        // The user is waiting, and an exact version may be found without the registry.
        retry: RetryPolicy {
            attempts: 3,
            max_delay: Duration::from_secs(5),
            ..RetryPolicy::default()
        },
        ..options
    };
    let images = RegistryImages::new(options, 0).map_err(|error| error.to_string())?;
    images
        .tags(image)
        .map_err(|error| format!("{:#}", anyhow::Error::from_boxed(error)))
}
