//! Newer images for packages that were cloned from an image.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use kiln_task::git::Revision;
use kiln_task::image::{ImageError, ImageLock, ImageUpdates, PackageImages, SCHEME};

use crate::ui::Ui;

/// Looks up newer images, once for each image.
pub(crate) struct ImageUpdateLookup<'a> {
    ui: &'a Ui,
    images: Arc<dyn PackageImages>,
    known: RefCell<BTreeMap<ImageLock, Option<ImageUpdates>>>,
}

/// The image that a revision was made from, if its Kptfile names one.
pub(crate) fn image_of(revision: &Revision) -> Option<ImageLock> {
    ImageLock::of(revision.kptfile().upstream_lock.as_ref()?)
}

impl<'a> ImageUpdateLookup<'a> {
    pub(crate) fn new(ui: &'a Ui, images: Arc<dyn PackageImages>) -> ImageUpdateLookup<'a> {
        ImageUpdateLookup {
            ui,
            images,
            known: RefCell::default(),
        }
    }

    /// The newer images of a lock. If the registry does not respond, prints a warning and returns `None`.
    pub(crate) fn updates(&self, lock: &ImageLock) -> Option<ImageUpdates> {
        let mut known = self.known.borrow_mut();
        if let Some(updates) = known.get(lock) {
            return updates.clone();
        }
        let updates = match lock.updates(&*self.images) {
            Ok(updates) => Some(updates),
            Err(error) => {
                let error = image_error(error);
                self.ui.warn(&format!("image {}: {error:#}", lock.image));
                None
            }
        };
        known.insert(lock.clone(), updates.clone());
        updates
    }

    /// The message for a lookup without newer images.
    pub(crate) fn no_updates_message(&self) -> &'static str {
        match self.known.borrow().values().any(Option::is_none) {
            true => {
                "No downstream package is known to be out of date; not all registries responded.\n"
            }
            false => "All downstream packages are up to date.\n",
        }
    }
}

/// The updates as text, such as `v2` and `v3`. A tag that has moved to another image is shown with its digest.
pub(crate) fn update_labels(lock: &ImageLock, updates: &ImageUpdates) -> Vec<String> {
    let moved = updates.moved.iter().map(|digest| {
        let short: String = digest.chars().take("sha256:".len() + 12).collect();
        format!("{}@{short}", tag_of(lock))
    });
    moved.chain(updates.newer.iter().cloned()).collect()
}

/// The tag of the image, or its digest.
pub(crate) fn tag_of(lock: &ImageLock) -> String {
    let tag = lock.tag().ok().flatten();
    tag.unwrap_or_else(|| lock.digest.clone())
}

/// The image to upgrade to: the requested one, else the highest version, else the current image of its own tag.
pub(crate) fn target_image(
    lock: &ImageLock,
    images: &dyn PackageImages,
    requested: Option<&str>,
    number: i64,
) -> Result<String> {
    let tag = match (requested, number) {
        (Some(_), 1..) => bail!("--ref and --revision are mutually exclusive"),
        (Some(requested), _) => requested.to_owned(),
        (None, 0) => {
            let updates = lock.updates(images).map_err(image_error);
            let updates =
                updates.with_context(|| format!("cannot list the tags of image {}", lock.image))?;
            let highest = updates.newer.last().cloned();
            highest.unwrap_or_else(|| tag_of(lock))
        }
        (None, number) => tag_of_number(lock, images, number)?,
    };
    let image = lock.other(&tag).map_err(image_error)?;
    Ok(format!("{SCHEME}{image}"))
}

/// The tag `vN`, or `N`.
fn tag_of_number(lock: &ImageLock, images: &dyn PackageImages, number: i64) -> Result<String> {
    let tags = images.tags(&lock.image).map_err(image_error)?;
    let mut names = [format!("v{number}"), number.to_string()].into_iter();
    let found = names.find(|name| tags.contains(name));
    found.ok_or_else(|| match lock.repository() {
        Ok(repository) => anyhow!("image {repository} has no tag v{number}"),
        Err(error) => image_error(error),
    })
}

pub(crate) fn image_error(error: ImageError) -> anyhow::Error {
    anyhow::Error::from_boxed(error)
}
