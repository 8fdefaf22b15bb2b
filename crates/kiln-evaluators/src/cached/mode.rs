//! The values of `--cache`.

use std::str::FromStr;

/// Which answers are kept and used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CacheMode {
    /// None.
    Off,
    /// Those of functions that can reach nothing but their input.
    #[default]
    On,
    /// Those of images without network, too.
    Images,
    /// Those of [`CacheMode::Images`] are kept, but functions run anyway and their answers are compared.
    Verify,
}

/// Why a text is not a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of: off, on, images, verify")]
pub struct CacheModeError;

impl CacheMode {
    pub(crate) fn has_images(self) -> bool {
        matches!(self, CacheMode::Images | CacheMode::Verify)
    }
}

impl FromStr for CacheMode {
    type Err = CacheModeError;

    fn from_str(text: &str) -> Result<CacheMode, CacheModeError> {
        match text {
            "off" => Ok(CacheMode::Off),
            "on" => Ok(CacheMode::On),
            "images" => Ok(CacheMode::Images),
            "verify" => Ok(CacheMode::Verify),
            _ => Err(CacheModeError),
        }
    }
}
