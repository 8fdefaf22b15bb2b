//! The images that are counted one by one.
//!
//! Callers choose the image, so there may be any number of images: those after the first [`MAX_IMAGES`], those without an
//! evaluator, and those that are not a valid label are counted together as `other`.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use kiln_server::Finished;

/// The largest number of images with their own label.
pub(crate) const MAX_IMAGES: usize = 200;

/// The longest image reference with its own label.
pub(crate) const MAX_IMAGE_LENGTH: usize = 256;

/// The label of all other images.
const OTHER: &str = "other";

/// The labels in use.
#[derive(Debug, Default)]
pub(crate) struct ImageLabels {
    images: RwLock<HashMap<String, Arc<str>>>,
}

impl ImageLabels {
    /// The image label of a call.
    pub(crate) fn label(&self, call: &Finished<'_>) -> Arc<str> {
        let is_valid_label = |image: &str| {
            let printable = image.bytes().all(|byte| byte.is_ascii_graphic());
            (1..=MAX_IMAGE_LENGTH).contains(&image.len()) && printable
        };
        if call.evaluator.is_none() || !is_valid_label(call.image) {
            return OTHER.into();
        }
        let images = self.images.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images.get(call.image) {
            return Arc::clone(image);
        }
        drop(images);
        let mut images = self.images.write().unwrap_or_else(PoisonError::into_inner);
        if images.len() >= MAX_IMAGES && !images.contains_key(call.image) {
            return OTHER.into();
        }
        let image = images.entry(call.image.to_owned());
        Arc::clone(image.or_insert_with(|| call.image.into()))
    }
}
