//! What is asked of registries: what an image is, and what it runs.

use std::pin::Pin;

/// Knows images. Answers are expected to be cached, and tags to be looked up anew after a while.
pub trait Images: Send + Sync {
    /// What an image is. The reference is a whole one.
    fn resolve<'a>(&'a self, image: &'a str) -> Resolving<'a>;
}

/// The answer, as soon as it is there.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = Result<ImageInfo, ImageError>> + Send + 'a>>;

/// What an image is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageInfo {
    /// The digest of its manifest, with the algorithm in front.
    pub digest: String,
    /// What it runs: entrypoint and command.
    pub command: Vec<String>,
}

/// Why nobody knows what an image is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageError {
    /// The registry knows no such image, or the reference is none.
    #[error("{0}")]
    NotFound(String),
    /// The registry wants to know who is asking, and does not like the answer.
    #[error("{0}")]
    Denied(String),
    /// The registry could not be asked.
    #[error("{0}")]
    Unavailable(String),
}

/// An image by its digest, whatever else its reference says.
pub(crate) fn by_digest(image: &str, digest: &str) -> String {
    let name = image.split('@').next().unwrap_or_default();
    let slash = name.rfind('/').map_or(0, |slash| slash + 1);
    let colon = name.get(slash..).and_then(|last| last.find(':'));
    let end = colon.map_or(name.len(), |colon| slash + colon);
    format!("{}@{digest}", name.get(..end).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::by_digest;

    #[test]
    fn tags_and_digests_are_replaced() {
        for image in [
            "h:5000/a/b:v1",
            "h:5000/a/b",
            "h:5000/a/b@sha256:1",
            "h:5000/a/b:v1@sha256:1",
        ] {
            assert_eq!(by_digest(image, "sha256:0"), "h:5000/a/b@sha256:0");
        }
        assert_eq!(by_digest("b:v1", "sha256:0"), "b@sha256:0");
    }
}
