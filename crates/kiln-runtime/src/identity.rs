//! What exactly ran: the identity of a function.
//!
//! A reference such as `set-namespace:v0.4` means something else tomorrow. An identity does not: it names the content of
//! an image, module or program, or a native function with the number of its behaviour.

use std::fmt;
use std::sync::Arc;

/// Maximum length of the identity that a peer reports, in bytes.
const MAX_REPORTED: usize = 1024;

/// The end of the identity of a function that drew random values. No other identity ends like this.
pub const RANDOM: &str = "+random";

/// The identity of a function: `native:set-labels@v0.2.0#1`, `image:example.org/fn@sha256:…`, `wasm:sha256:…#wasi1` or
/// `exec:sha256:…`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionIdentity(Arc<str>);

impl FunctionIdentity {
    /// A built-in function. Its behaviour number is raised whenever its output for any input may change.
    pub fn native(name: &str, version: &str, behaviour: u32) -> FunctionIdentity {
        FunctionIdentity::new(&format!("native:{name}@{version}#{behaviour}"))
    }

    /// A function that drew random values: another run on the same input may have another result.
    #[must_use]
    pub fn random(&self) -> FunctionIdentity {
        FunctionIdentity::new(&format!("{self}{RANDOM}"))
    }

    /// An image by the digest of its index, or of its manifest if it has no index.
    pub fn image(repository: &str, digest: &str) -> FunctionIdentity {
        FunctionIdentity::new(&format!("image:{repository}@{digest}"))
    }

    /// An image for one platform: the digest of its index, and that of the manifest that the index has for the platform.
    pub fn image_of_index(repository: &str, index: &str, manifest: &str) -> FunctionIdentity {
        match index == manifest {
            true => FunctionIdentity::image(repository, manifest),
            false => FunctionIdentity::new(&format!("image:{repository}@{index}#{manifest}")),
        }
    }

    /// A WebAssembly module by its SHA-256 digest, in hexadecimal digits, and the interface by which it is called.
    pub fn wasm(hex: &str, interface: &str) -> FunctionIdentity {
        FunctionIdentity::new(&format!("wasm:sha256:{hex}#{interface}"))
    }

    /// A program by the SHA-256 digest of its file, in hexadecimal digits. What the program loads is not part of it.
    pub fn exec(hex: &str) -> FunctionIdentity {
        FunctionIdentity::new(&format!("exec:sha256:{hex}"))
    }

    /// The identity that a peer reports. `None` if the text cannot be one: it is printed, so it must be one line of
    /// printable characters.
    pub fn reported(text: &str) -> Option<FunctionIdentity> {
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_plausible = !text.is_empty() && text.len() <= MAX_REPORTED && is_printable;
        is_plausible.then(|| FunctionIdentity::new(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn new(text: &str) -> FunctionIdentity {
        FunctionIdentity(text.into())
    }
}

impl fmt::Display for FunctionIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::FunctionIdentity;

    #[test]
    fn identities_of_peers_are_one_printable_line() {
        let native = FunctionIdentity::native("set-labels", "v0.2.0", 3);
        assert_eq!(native.as_str(), "native:set-labels@v0.2.0#3");
        assert_eq!(FunctionIdentity::reported(native.as_str()), Some(native));
        let long = "a".repeat(1025);
        for text in ["", "two words", "two\nlines", "\u{1b}[31m", "ä", &long] {
            assert_eq!(FunctionIdentity::reported(text), None, "{text:?}");
        }
    }
}
