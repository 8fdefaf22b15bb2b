//! Answers to questions about the engine and its images.

use std::process::ExitCode;
use std::time::Duration;

use kiln_functions::registry::Registry;
use kiln_krm::image::ImageRef;
use kiln_oci::{ImageReference, Platform, PullPolicy};
use kiln_runtime::{Deadline, RunContext};
use kiln_store::{PullRequest, Store, StoreOptions};
use serde_json::json;

use super::EngineLink;
use super::error::EngineLinkError;
use super::run::run_by_engine;
use crate::environment::KILN_DOCKER_VERSION;
use crate::image_store::{pull, store_directory};
use crate::interrupt::on_interrupt;

/// A version that kpt accepts, which asks for 20.10 or newer.
const VERSION: &str = "27.0.0";

/// How long the real engine may take to list its images. Its daemon may not answer at all.
const REAL_ENGINE_TIMEOUT: Duration = Duration::from_secs(5);

/// The version of kiln.
const KILN_VERSION: &str = env!("CARGO_PKG_VERSION");

impl EngineLink<'_> {
    pub(super) fn client_version(&self) -> Result<ExitCode, EngineLinkError> {
        self.print(&format!("{}\n", version_number()))
    }

    /// What this program is, and what it passes commands on to.
    pub(super) fn about(&self) -> Result<ExitCode, EngineLinkError> {
        let name = self.engine.program();
        let version = version_number();
        let real = match self.real_engine() {
            Some(path) => format!("passes other commands on to {}", path.display()),
            None => format!("finds no other {name} to pass other commands on to"),
        };
        self.print(&format!(
            "{name} version {version}, a link to kiln {KILN_VERSION}, which runs functions of kustomize and kpt and {real}\n"
        ))
    }

    pub(super) fn version(&self) -> Result<ExitCode, EngineLinkError> {
        let version = version_number();
        self.print(&format!(
            "Client: kiln {KILN_VERSION}\n Version: {version}\n"
        ))
    }

    pub(super) fn info(&self) -> Result<ExitCode, EngineLinkError> {
        let name = self.engine.program();
        self.print(&format!(
            "This {name} is a link to kiln {KILN_VERSION}: it runs functions of kustomize and kpt, and has no daemon.\n"
        ))
    }

    /// The tags of an image that are built in or in the store, or that the real engine has, one in a line. Of an image with a
    /// tag, only that one.
    pub(super) fn tags(&self, image: &str) -> Result<ExitCode, EngineLinkError> {
        let wanted: ImageReference = parse(image)?;
        let named = ImageRef::parse(image).ok();
        let only = named.as_ref().and_then(|named| named.tag.as_deref());
        let name = named
            .as_ref()
            .map_or_else(|| image.to_owned(), ImageRef::name);
        let mut tags = Registry::builtin().tags(&name);
        if Registry::builtin().find_image(image).is_some() {
            // A line of versions, such as v0.2, is a tag too.
            tags.extend(only.map(str::to_owned));
        }
        for stored in stored_references()? {
            let same = |stored: &ImageReference| {
                let parts = (stored.registry(), stored.repository());
                parts == (wanted.registry(), wanted.repository())
            };
            let stored = stored.parse::<ImageReference>().ok().filter(same);
            let tag = stored.as_ref().and_then(ImageReference::tag);
            tags.extend(tag.map(str::to_owned));
        }
        tags.retain(|tag| only.is_none_or(|only| tag == only));
        tags.extend(self.tags_of_real_engine());
        tags.sort();
        tags.dedup();
        let lines: String = tags.iter().flat_map(|tag| [tag.as_str(), "\n"]).collect();
        self.print(&lines)
    }

    /// The answer of the real engine to the same words; nothing if there is none, or it does not answer.
    fn tags_of_real_engine(&self) -> Vec<String> {
        let Some(engine) = self.real_engine() else {
            return Vec::new();
        };
        let words: Vec<String> = self
            .arguments
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let ctx = RunContext {
            deadline: Deadline::after(REAL_ENGINE_TIMEOUT),
            cancel: on_interrupt(),
            ..RunContext::default()
        };
        match run_by_engine(&engine, &words, "", &ctx) {
            Ok(finished) if finished.exit_code == 0 => {
                let printed = String::from_utf8_lossy(&finished.stdout);
                let lines = printed.lines().map(str::trim);
                lines
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Pulls an image into the store. A built-in function needs none.
    pub(super) fn pull(&self, image: &str) -> Result<ExitCode, EngineLinkError> {
        let reference = parse(image)?;
        if Registry::builtin().find_image(image).is_some() {
            return self.print(&format!("{image} is built into kiln\n"));
        }
        let store = Store::open(&store_directory(), StoreOptions::default());
        let store = store.map_err(anyhow::Error::from)?;
        let request = PullRequest {
            reference: reference.clone(),
            platform: Platform::this_machine(),
            policy: PullPolicy::Always,
        };
        let pulled = pull(&self.ui, &store, &request)?;
        self.print(&format!("{}\n", reference.with_digest(pulled.digest)))
    }

    /// An image of the store, or a built-in function. Anything else is an error, as for engines.
    pub(super) fn inspect(&self, image: &str) -> Result<ExitCode, EngineLinkError> {
        let reference = parse(image)?;
        let found = match store_directory().is_dir() {
            false => None,
            true => {
                let store = Store::open(&store_directory(), StoreOptions::default());
                let store = store.map_err(anyhow::Error::from)?;
                let found = store.find(&reference, &Platform::this_machine());
                found.map_err(anyhow::Error::from)?
            }
        };
        let Some(found) = found else {
            if let Some(identity) = Registry::builtin().identity(image) {
                let answer =
                    json!([{"Id": identity.to_string(), "RepoTags": [image], "RepoDigests": []}]);
                return self.print(&format!("{answer}\n"));
            }
            self.print("[]\n")?;
            self.ui
                .print_message(&format!("Error: No such image: {image}"));
            return Ok(ExitCode::FAILURE);
        };
        let meta = found.meta();
        let digest = &meta.manifest_digest;
        let name = format!("{}/{}", reference.registry(), reference.repository());
        let answer = json!([{
            "Id": meta.config_digest,
            "RepoDigests": [format!("{name}@{digest}")],
            "Os": meta.platform.os,
            "Architecture": meta.platform.architecture,
        }]);
        self.print(&format!("{answer}\n"))
    }

    fn print(&self, text: &str) -> Result<ExitCode, EngineLinkError> {
        self.ui.write_data(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The version of the engine that kiln stands for.
fn version_number() -> String {
    let given = std::env::var(KILN_DOCKER_VERSION).ok();
    let given = given.filter(|version| !version.is_empty());
    given.unwrap_or_else(|| VERSION.to_owned())
}

fn parse(image: &str) -> Result<ImageReference, EngineLinkError> {
    let parsed = image.parse::<ImageReference>();
    parsed.map_err(|error| {
        let error = kiln_go::error_chain(&error);
        EngineLinkError::new(format!("invalid reference {image:?}: {error}"))
    })
}

/// The references of images in the store. A question does not create a store.
fn stored_references() -> Result<Vec<String>, EngineLinkError> {
    let directory = store_directory();
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let store = Store::open(&directory, StoreOptions::default()).map_err(anyhow::Error::from)?;
    let images = store.list().map_err(anyhow::Error::from)?;
    let references = images.into_iter().flat_map(|image| image.references);
    Ok(references.collect())
}
