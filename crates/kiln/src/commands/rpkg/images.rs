//! Packages that came from images: which newer ones there are, and which is meant.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use kiln_task::git::Revision;
use kiln_task::image::{ImageError, ImageLock, ImageUpdates, PackageImages, SCHEME};

use crate::ui::Ui;

/// The images that Kptfiles speak of. Each registry is asked once for each image.
pub(super) struct Images<'a> {
    ui: &'a Ui,
    images: Arc<dyn PackageImages>,
    known: RefCell<BTreeMap<ImageLock, Option<ImageUpdates>>>,
}

/// The image that a revision was made from, if its Kptfile names one.
pub(super) fn image_of(revision: &Revision) -> Option<ImageLock> {
    ImageLock::of(revision.kptfile().upstream_lock.as_ref()?)
}

impl<'a> Images<'a> {
    pub(super) fn new(ui: &'a Ui, images: Arc<dyn PackageImages>) -> Images<'a> {
        Images {
            ui,
            images,
            known: RefCell::default(),
        }
    }

    /// What there is besides the image of a lock. A registry that cannot be asked is told of, and none comes back.
    pub(super) fn updates(&self, lock: &ImageLock) -> Option<ImageUpdates> {
        let mut known = self.known.borrow_mut();
        if let Some(updates) = known.get(lock) {
            return updates.clone();
        }
        let updates = match lock.updates(&*self.images) {
            Ok(updates) => Some(updates),
            Err(error) => {
                let error = failure(error);
                self.ui.warn(&format!("image {}: {error:#}", lock.image));
                None
            }
        };
        known.insert(lock.clone(), updates.clone());
        updates
    }

    /// What there is to say about packages that nothing newer was found for.
    pub(super) fn nothing_newer(&self) -> &'static str {
        match self.known.borrow().values().any(Option::is_none) {
            true => {
                "No downstream package is known to be out of date; not all registries could be asked.\n"
            }
            false => "All downstream packages are up to date.\n",
        }
    }
}

/// The updates in words, such as `v2, v3`; a tag that means another image now is told with its digest.
pub(super) fn words(lock: &ImageLock, updates: &ImageUpdates) -> Vec<String> {
    let moved = updates.moved.iter().map(|digest| {
        let short: String = digest.chars().take("sha256:".len() + 12).collect();
        format!("{}@{short}", tag_of(lock))
    });
    moved.chain(updates.newer.iter().cloned()).collect()
}

/// The image's tag in a word.
pub(super) fn tag_of(lock: &ImageLock) -> String {
    let tag = lock.tag().ok().flatten();
    tag.unwrap_or_else(|| lock.digest.clone())
}

/// The image that a package is brought to: what was asked for, or the highest version there is, or what its own tag means now.
pub(super) fn target(
    lock: &ImageLock,
    images: &dyn PackageImages,
    wanted: Option<&str>,
    number: i64,
) -> Result<String> {
    let wanted = match (wanted, number) {
        (Some(_), 1..) => bail!("--ref and --revision say the same thing; give one of them"),
        (Some(wanted), _) => wanted.to_owned(),
        (None, 0) => {
            let updates = lock.updates(images).map_err(failure);
            let updates = updates
                .with_context(|| format!("cannot tell which tags image {} has", lock.image))?;
            let highest = updates.newer.last().cloned();
            highest.unwrap_or_else(|| tag_of(lock))
        }
        (None, number) => numbered(lock, images, number)?,
    };
    let image = lock.other(&wanted).map_err(failure)?;
    Ok(format!("{SCHEME}{image}"))
}

/// The tag `vN`, or `N`.
fn numbered(lock: &ImageLock, images: &dyn PackageImages, number: i64) -> Result<String> {
    let tags = images.tags(&lock.image).map_err(failure)?;
    let mut names = [format!("v{number}"), number.to_string()].into_iter();
    let found = names.find(|name| tags.contains(name));
    found.ok_or_else(|| match lock.repository() {
        Ok(repository) => anyhow!("image {repository} has no tag v{number}"),
        Err(error) => failure(error),
    })
}

pub(super) fn failure(error: ImageError) -> anyhow::Error {
    anyhow::Error::from_boxed(error)
}
