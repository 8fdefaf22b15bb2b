//! Registries as commands ask them: with Docker's credentials, and by way of the proxies that the environment names.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use kiln_oci::{Keychain, Proxies, ProxyError, RegistryOptions, RetryPolicy};
use kiln_runtime::CancelToken;
use kiln_task::image::{PackageImages as _, RegistryImages};

use crate::environment::{DOCKER_CONFIG, HOME};

/// How long a list of tags is good for, and how long a registry that gave none is left alone.
const AGE: Duration = Duration::from_secs(300);
/// How long a registry has for its list.
const PATIENCE: Duration = Duration::from_secs(10);

/// How registries are asked.
pub(crate) fn registry_options() -> Result<RegistryOptions, ProxyError> {
    Ok(RegistryOptions {
        keychain: Keychain::docker(std::env::var_os(DOCKER_CONFIG), std::env::var_os(HOME)),
        proxies: Proxies::from_variables(|name| std::env::var(name).ok())?,
        ..RegistryOptions::default()
    })
}

/// The tags of images in registries, for functions that ask for a range of versions. A repository is asked once, however
/// many functions name it.
pub(crate) struct RegistryTags {
    cancel: CancelToken,
    asked: Mutex<HashMap<String, Asked>>,
}

struct Asked {
    at: Instant,
    answer: Result<Vec<String>, String>,
}

impl RegistryTags {
    /// Nobody has been asked yet. Who cancels need not wait for registries.
    pub(crate) fn new(cancel: CancelToken) -> RegistryTags {
        RegistryTags {
            cancel,
            asked: Mutex::default(),
        }
    }

    /// The tags of an image that is named without one; none if the registry does not tell.
    pub(crate) fn of(&self, image: &str) -> Vec<String> {
        let mut asked = self.lock();
        let fresh = asked
            .get(image)
            .filter(|asked| asked.at.elapsed() < AGE)
            .map(|asked| asked.answer.clone());
        let answer = fresh.unwrap_or_else(|| {
            let answer = self.ask(image);
            let at = Instant::now();
            let kept = Asked {
                at,
                answer: answer.clone(),
            };
            asked.insert(image.to_owned(), kept);
            answer
        });
        answer.unwrap_or_default()
    }

    /// Why registries did not answer, those that did not.
    pub(crate) fn problems(&self) -> Vec<String> {
        let asked = self.lock();
        let problems = asked.values().map(|asked| asked.answer.clone());
        let mut problems: Vec<String> = problems.filter_map(Result::err).collect();
        problems.sort();
        problems
    }

    /// Waits for a registry, but no longer than the user does.
    fn ask(&self, image: &str) -> Result<Vec<String>, String> {
        let (sender, answer) = mpsc::channel();
        let given_up = sender.clone();
        let _guard = self.cancel.on_cancel(move || {
            // Who listens no more has an answer.
            let _ = given_up.send(Err(String::from("interrupted")));
        });
        let image = image.to_owned();
        let lookup = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(list(&image));
        });
        lookup.map_err(|error| format!("cannot start a thread: {error}"))?;
        let late = |_| format!("no answer within {} seconds", PATIENCE.as_secs());
        answer.recv_timeout(PATIENCE).map_err(late)?
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a registry.
fn list(image: &str) -> Result<Vec<String>, String> {
    let options = registry_options().map_err(|error| error.to_string())?;
    let options = RegistryOptions {
        // Somebody is waiting, and there may be another way.
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
