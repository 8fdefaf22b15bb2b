//! `--cache`: which answers of functions are kept and used again.

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use kiln_evaluators::{AnswerCache, CacheEvent, CacheMode};
use kiln_store::{ResultCache, ResultLimits};

use crate::compat::Compat;
use crate::environment::KILN_CACHE;
use crate::image_store::store_directory;
use crate::ui::Ui;

#[derive(Args, Debug, Default)]
pub(crate) struct CacheFlags {
    /// Keep answers of functions and use them again: off, on, images (also those of images without network) or verify (run
    /// anyway, and compare) [env: KILN_CACHE] [default: on]
    #[arg(long, value_name = "MODE", value_parser = CacheMode::from_str)]
    cache: Option<CacheMode>,
}

/// Answers of earlier commands.
#[derive(Clone)]
pub(crate) struct KeptResults {
    pub(crate) results: Arc<ResultCache>,
    pub(crate) mode: CacheMode,
}

impl CacheFlags {
    /// Opens the directory of answers; `None` if none are used. A directory that cannot be used is a warning.
    pub(crate) fn open(&self, ui: &Ui) -> Result<Option<KeptResults>> {
        let mode = self.mode(ui.compat())?;
        if mode == CacheMode::Off {
            return Ok(None);
        }
        match ResultCache::open(&store_directory(), ResultLimits::default()) {
            Ok(results) => Ok(Some(KeptResults {
                results: Arc::new(results),
                mode,
            })),
            Err(error) => {
                let error = kiln_go::error_chain(&error);
                ui.warn(&format!(
                    "answers of functions are not kept: {error}; --cache=off turns them off"
                ));
                Ok(None)
            }
        }
    }

    fn mode(&self, compat: Compat) -> Result<CacheMode> {
        // kpt runs every function each time.
        if compat != Compat::Kiln {
            return Ok(CacheMode::Off);
        }
        match (self.cache, std::env::var(KILN_CACHE)) {
            (Some(mode), _) => Ok(mode),
            (None, Ok(text)) if !text.is_empty() => text
                .parse()
                .map_err(|reason| anyhow!("{KILN_CACHE} {text:?} {reason}")),
            (None, _) => Ok(CacheMode::default()),
        }
    }
}

impl KeptResults {
    /// The answers for a chain of evaluators.
    pub(crate) fn answers(&self, ui: &Ui) -> Arc<AnswerCache> {
        let ui = ui.clone();
        let results = Arc::clone(&self.results);
        Arc::new(AnswerCache::new(results, self.mode, move |event| {
            match event {
            CacheEvent::Hit | CacheEvent::Miss | CacheEvent::Joined => {}
            CacheEvent::Differs { identity } => ui.warn(&format!(
                "function {identity} returned another answer for the same input; its answers are not kept for 30 days"
            )),
            CacheEvent::NotKept(error) => {
                ui.warn(&format!("answers of functions are not kept: {error}"));
            }
        }
        }))
    }
}
