//! The lock of a package that was cloned from an image, and newer versions of that image.
//!
//! Kptfiles have no fields for images: the lock is a generic one whose store is `oci`.

use std::str::FromStr;

use kiln_krm::image::Version;
use kiln_krm::kptfile::{GenericLock, Locator, Upstream};
use kiln_oci::{Digest, ImageReference};

use super::{ImageError, PackageImages};

/// The prefix that distinguishes the address of an image from the name of a revision.
pub const SCHEME: &str = "oci://";

const STORE: &str = "oci";

/// The image that a package was cloned from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ImageLock {
    /// The reference as the user wrote it.
    pub image: String,
    pub digest: String,
}

/// Newer versions of an image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ImageUpdates {
    /// Tags with higher versions, the lowest first.
    pub newer: Vec<String>,
    /// The current digest of the tag, if it has moved.
    pub moved: Option<String>,
}

impl ImageLock {
    /// Reads a lock; `None` if it is not about an image.
    pub fn of(lock: &Locator) -> Option<ImageLock> {
        let lock = lock.generic.as_ref()?;
        (lock.store_id == STORE && !lock.resource_id.is_empty()).then(|| ImageLock {
            image: lock.resource_id.clone(),
            digest: lock.resource_version.clone(),
        })
    }

    /// The reference of the image by its digest.
    pub fn exact(&self) -> Result<String, ImageError> {
        let digest = Digest::from_str(&self.digest)?;
        Ok(self.reference()?.with_digest(digest).to_string())
    }

    /// The reference of another image: a tag or digest of the same repository, or a full address.
    pub fn other(&self, requested: &str) -> Result<String, ImageError> {
        if let Some(image) = requested.strip_prefix(SCHEME) {
            return Ok(ImageReference::from_str(image).map(|_| image.to_owned())?);
        }
        let reference = self.reference()?;
        if let Ok(digest) = Digest::from_str(requested) {
            return Ok(reference.with_digest(digest).to_string());
        }
        let other = format!("{}:{requested}", self.repository()?);
        Ok(ImageReference::from_str(&other).map(|_| other)?)
    }

    /// The repository, without tag and digest.
    pub fn repository(&self) -> Result<String, ImageError> {
        self.reference()?;
        let name = self.image.split('@').next().unwrap_or_default();
        let (path, last) = name
            .rsplit_once('/')
            .map_or(("", name), |(path, last)| (path, last));
        let last = last.split(':').next().unwrap_or_default();
        Ok(match path {
            "" => last.to_owned(),
            path => format!("{path}/{last}"),
        })
    }

    /// The tag, if the reference has one.
    pub fn tag(&self) -> Result<Option<String>, ImageError> {
        Ok(self.reference()?.tag().map(str::to_owned))
    }

    /// Looks up newer versions in the registry.
    pub fn updates(&self, images: &dyn PackageImages) -> Result<ImageUpdates, ImageError> {
        let Some(tag) = self.tag()? else {
            // A reference with a digest is never upgraded.
            return Ok(ImageUpdates::default());
        };
        let newer = match Version::parse(&tag) {
            Ok(current) => newer_tags(&current, &images.tags(&self.image)?),
            Err(_) => Vec::new(),
        };
        let now = images.digest(&self.other(&tag)?)?;
        Ok(ImageUpdates {
            newer,
            moved: (now != self.digest).then_some(now),
        })
    }

    fn reference(&self) -> Result<ImageReference, ImageError> {
        Ok(ImageReference::from_str(&self.image)?)
    }
}

/// The tags with higher versions. Pre-releases count only if the current version is one.
pub(crate) fn newer_tags(current: &Version, tags: &[String]) -> Vec<String> {
    let versions = tags.iter().filter_map(|tag| Version::parse(tag).ok());
    let mut newer: Vec<Version> = versions
        .filter(|version| version.precedence(current).is_gt())
        .filter(|version| version.pre.is_empty() || !current.pre.is_empty())
        .collect();
    newer.sort_by(Version::precedence);
    newer
        .iter()
        .map(|version| version.original().to_owned())
        .collect()
}

/// The upstream and the lock for the Kptfile of a package from an image.
pub(crate) fn image_locks(image: &str, digest: &str) -> (Upstream, Locator) {
    let upstream = Upstream {
        kind: "generic".to_owned(),
        ..Upstream::default()
    };
    let lock = Locator {
        kind: "generic".to_owned(),
        git: None,
        generic: Some(GenericLock {
            store_id: STORE.to_owned(),
            resource_id: image.strip_prefix(SCHEME).unwrap_or(image).to_owned(),
            resource_version: digest.to_owned(),
        }),
    };
    (upstream, lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(image: &str) -> ImageLock {
        ImageLock {
            image: image.to_owned(),
            digest: format!("sha256:{}", "a".repeat(64)),
        }
    }

    #[test]
    fn locks_name_other_images_of_the_same_repository() {
        for image in ["h:5000/a/b:v1", "h:5000/a/b", "h:5000/a/b:v1@sha256:bbbb"] {
            let lock = lock(&image.replace("bbbb", &"b".repeat(64)));
            assert_eq!(lock.repository().expect("it is one"), "h:5000/a/b");
            assert_eq!(lock.other("v2").expect("it is one"), "h:5000/a/b:v2");
            assert_eq!(
                lock.exact().expect("it is one"),
                format!("h:5000/a/b@{}", lock.digest)
            );
        }
        let lock = lock("h:5000/a:v1");
        let by_digest = lock.other(&lock.digest).expect("it is one");
        assert_eq!(by_digest, format!("h:5000/a@{}", lock.digest));
        assert_eq!(lock.other("oci://x/y:z").expect("it is one"), "x/y:z");
        for wrong in ["", "a b", "../x", "oci://A B", ":x", "x@y"] {
            assert!(lock.other(wrong).is_err(), "{wrong}");
        }
        let nonsense = ImageLock {
            image: "h/a:v1".to_owned(),
            digest: "v1".to_owned(),
        };
        assert!(nonsense.exact().is_err());
    }

    #[test]
    fn newer_tags_are_higher_versions() {
        let tags = ["latest", "v1", "v10", "v2", "v2.1.0-rc1", "1.5", "x"].map(str::to_owned);
        let newer = |current: &str| {
            let current = Version::parse(current).expect("a version");
            newer_tags(&current, &tags)
        };
        assert_eq!(newer("v1"), ["1.5", "v2", "v10"]);
        assert_eq!(newer("v2.1.0-rc0"), ["v2.1.0-rc1", "v10"]);
        assert!(newer("v10").is_empty());
    }
}
