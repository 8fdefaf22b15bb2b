//! What the cluster says runs an image here, in objects that come, change and go.

use std::path::PathBuf;

/// Knows what runs an image on this machine although no file says so. Images are whole names.
pub trait Listed: Send + Sync {
    /// The program that an image stands for, if it is there.
    fn program(&self, image: &str) -> Option<PathBuf>;

    /// The built-in function that an image stands for, as `NAME:VERSION`.
    fn builtin(&self, image: &str) -> Option<String>;
}

/// Nobody says anything.
pub(crate) struct NothingListed;

impl Listed for NothingListed {
    fn program(&self, _image: &str) -> Option<PathBuf> {
        None
    }

    fn builtin(&self, _image: &str) -> Option<String> {
        None
    }
}
