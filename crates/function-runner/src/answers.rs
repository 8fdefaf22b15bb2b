//! `--cache`: answers of functions that are kept, and calls that are joined.

use std::sync::Arc;

use kiln_evaluators::{AnswerCache, CacheEvent, CacheMode};
use kiln_go::error_chain;
use kiln_server::Observer;
use kiln_store::{ResultCache, ResultLimits};

use crate::config::RunnerConfig;

/// The answers that are kept; `None` if none are. A directory that cannot be used is a warning.
pub(crate) fn open(config: &RunnerConfig, observer: Arc<dyn Observer>) -> Option<Arc<AnswerCache>> {
    let mode = config.cache;
    if mode == CacheMode::Off {
        return None;
    }
    let Some(store) = &config.image.store else {
        tracing::warn!("answers of functions are not kept: neither --image-store nor HOME is set");
        return None;
    };
    let results = match ResultCache::open(store, ResultLimits::default()) {
        Ok(results) => Arc::new(results),
        Err(error) => {
            tracing::warn!("answers of functions are not kept: {}", error_chain(&error));
            return None;
        }
    };
    let answers = AnswerCache::new(results, mode, move |event| match event {
        CacheEvent::Hit => observer.looked_up("hit"),
        CacheEvent::Miss => observer.looked_up("miss"),
        CacheEvent::Joined => observer.looked_up("joined"),
        CacheEvent::Differs { identity } => {
            observer.looked_up("differs");
            tracing::warn!(
                "function {identity} returned another answer for the same input; its answers are not kept for 30 days"
            );
        }
        CacheEvent::NotKept(error) => tracing::warn!("answers of functions are not kept: {error}"),
    });
    Some(Arc::new(answers))
}
